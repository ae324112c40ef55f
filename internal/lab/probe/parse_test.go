//go:build linux

package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
)

const small = `measured: wal
stage: 200ms
criterion: {of: fdatasync, quantile: p99, under: 1h, source: a test}
streams:
  wal: {kind: append, size: 2300B, rate: 200/s, fdatasync: 1, file: 1MiB}
  checkpoint: {kind: random-write, size: 32KiB, file: 1MiB, on: 40ms, off: 40ms, burst: 256KiB, sync_at_end: true}
  reads: {kind: random-read, size: 8KiB, depth: 1, file: 1MiB}
`

func TestParse(t *testing.T) {
	p, err := Parse("small.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}

	wal, burst := p.stream("wal"), p.stream("checkpoint")
	if wal.Size != 2300 || wal.Rate != 200 || wal.Sync != 1 || wal.Depth != 1 || !wal.Prewritten || wal.Poisson {
		t.Errorf("wal is %+v", wal)
	}

	if burst.Burst != 256*units.KiB || !burst.SyncAtEnd || burst.On != units.Duration(40e6) || p.Need() != 3*units.MiB {
		t.Errorf("checkpoint is %+v, all need %v", burst, p.Need())
	}

	var names []string
	for _, s := range p.stages() {
		names = append(names, s.name)
	}

	if got := strings.Join(names, ", "); got != "alone, with checkpoint, with reads, with all" {
		t.Errorf("stages are %s", got)
	}
}

// TestBadProfiles: each mistake is reported with its line and column.
func TestBadProfiles(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown key", "fdatasync: 1", "fsync: 1", `p.yaml:5:49: streams.wal.fsync: unknown key; known keys: kind, size, rate,`},
		{"unit", "size: 2300B", "size: many", "p.yaml:5:29: streams.wal.size: "},
		{"kind", "kind: append", "kind: log", `p.yaml:5:15: streams.wal.kind: "log": want append`},
		{"number", "depth: 1", "depth: one", `p.yaml:7:49: streams.reads.depth: "one" is not a whole number`},
		{"cache", "depth: 1", "depth: 8", "p.yaml:7:49: streams.reads.depth: the page cache accepts one operation at a time"},
		{"twice", "rate: 200/s", "size: 1KiB", `p.yaml:5:36: duplicate key size: first in line 5`},
		{"alone on", "off: 40ms, ", "", "streams.checkpoint.on: on and off must both be set"},
		{"measured", "measured: wal", "measured: log", `p.yaml:1:11: measured: no stream is called "log"`},
		{"quantile", "quantile: p99", "quantile: p98", `p.yaml:3:38: criterion.quantile: "p98": want one of`},
		{"anchor", "measured: wal", "measured: &x wal", `p.yaml:1:11: anchors are not supported`},
		{"bool", "sync_at_end: true", "sync_at_end: perhaps", `"perhaps" is neither true nor false`},
		{"direct", "size: 8KiB", "size: 1000B, direct: true", "must be a multiple of 4096 bytes"},
		{"syntax", "stage: 200ms", "stage: [200ms", "p.yaml:3:1:"},
		{"mapping", "streams:", "streams: 4\nother:", "p.yaml:4:10: streams: want a mapping of names"},
		{"arrivals", "rate: 200/s", "arrivals: poisson", "streams.wal.arrivals: needs a rate"},
	} {
		text := strings.Replace(small, c.from, c.to, 1)
		if text == small {
			t.Fatalf("%s: nothing was replaced", c.name)
		}
		_, err := Parse("p.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}

	if _, err := Parse("p.yaml", []byte("x: "+strings.Repeat("y", yamltree.BytesMax))); err == nil || !strings.Contains(err.Error(), "64 KiB") {
		t.Errorf("a long file: %v", err)
	}

	if _, err := Parse("p.yaml", nil); err == nil {
		t.Error("an empty file is accepted")
	}

	if _, err := library(t).Load("no-such-profile"); err == nil || !strings.Contains(err.Error(), "etcd-wal") {
		t.Errorf("a missing profile: %v", err)
	}
}

// library returns the profiles of all engines. A test in this package may not import them.
func library(t testing.TB) Profiles {
	t.Helper()
	l := Profiles{}
	for _, pattern := range []string{"profiles/*.yaml", "../../engine/*/profiles/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if l[strings.TrimSuffix(filepath.Base(f), ".yaml")], err = os.ReadFile(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// TestBuiltin: each built-in profile is valid and has a description.
func TestBuiltin(t *testing.T) {
	if len(library(t).Names()) < 5 {
		t.Fatalf("only %v", library(t).Names())
	}
	for _, name := range library(t).Names() {
		p, err := library(t).Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.About == "" || p.Criterion != nil && p.Criterion.Source == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	for _, text := range library(f) {
		f.Add(text)
	}

	f.Add([]byte("streams: {a: {kind: [1, {}], size: null}}"))
	f.Add([]byte("- - -\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("p", text)
		if (p == nil) == (err == nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if p != nil && (len(p.Streams) > streamsMax || p.Check() != nil) {
			t.Fatalf("accepted: %+v", p)
		}
	})
}
