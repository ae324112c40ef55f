package recognise_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/record/recognise"
)

const iostatLog = `Linux 6.1.0 (db) 	2026-11-21 	_x86_64_	(2 CPU)

2026-11-21T02:15:01+0000
Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
sda              0.00      0.00     0.00   0.00    0.00     0.00   10.00      0.04     0.00   0.00    1.00     4.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.01   1.00

`

// A folder made by hand stands for the sources in it; notes and scripts next to them are skipped.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	write("README.md", "# What happened\n")
	write("make.sh", "#!/bin/sh\n")
	write("empty", "")
	write("node.prom", "# scraped 1763692501000\nnode_memory_Dirty_bytes 4096\n")
	write("iostat.log", iostatLog)
	got, err := opener.Expand(dir)

	want := []string{filepath.Join(dir, "iostat.log"), filepath.Join(dir, "node.prom")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Expand gives %v, %v; want %v", got, err, want)
	}

	one := filepath.Join(dir, "README.md")
	if got, err := opener.Expand(one); err != nil || !slices.Equal(got, []string{one}) {
		t.Errorf("a file stands for itself, not for %v, %v", got, err)
	}

	if got, err := opener.Expand(t.TempDir()); err != nil || len(got) != 1 {
		t.Errorf("Open must report an empty folder; got %v, %v", got, err)
	}
}

// A dbPath is a source because it contains diagnostic.data. With an iostat log next to diagnostic.data, the
// dbPath means both sources.
func TestExpandCapture(t *testing.T) {
	dir := t.TempDir()
	capture := filepath.Join(dir, "diagnostic.data")
	if err := os.CopyFS(capture, os.DirFS("../../../examples/mongodb-checkpoint/diagnostic.data")); err != nil {
		t.Fatal(err)
	}

	for _, one := range []string{dir, capture} {
		if got, err := opener.Expand(one); err != nil || !slices.Equal(got, []string{one}) {
			t.Errorf("%s stands for %v, %v; want itself", one, got, err)
		}
	}

	log := filepath.Join(dir, "iostat.log")
	if err := os.WriteFile(log, []byte(iostatLog), 0o644); err != nil {
		t.Fatal(err)
	}

	if got, err := opener.Expand(dir); err != nil || !slices.Equal(got, []string{capture, log}) {
		t.Errorf("a dbPath with a log in it stands for %v, %v; want both", got, err)
	}
}

func TestExpandBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range recognise.FolderSourcesMax + 1 {
		name := filepath.Join(dir, string(rune('a'+i/26))+string(rune('a'+i%26))+".log")
		if err := os.WriteFile(name, []byte(iostatLog), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := opener.Expand(dir); err == nil {
		t.Errorf("%d logs were accepted as one incident", len(got))
	}
}
