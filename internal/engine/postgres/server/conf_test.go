//go:build linux

package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/check/golden"
	postgres "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/lab"
)

func TestConf(t *testing.T) {
	c := postgres.Defaults()
	golden.Compare(t, "defaults.conf", conf(&c, "/scratch/pg"))
	c.SharedBuffers, c.MaxConnections = 4*units.GiB, 500
	c.CheckpointTimeout, c.CheckpointCompletionTarget = units.Duration(90500*time.Millisecond), 0
	c.CheckpointFlushAfter, c.BgwriterFlushAfter, c.BackendFlushAfter = 0, 1, 100_000
	c.MaxWALSize, c.MinWALSize = 5*units.GB, 80*units.MB
	c.FullPageWrites, c.SynchronousCommit = false, false
	c.WALBuffers = 16 * units.MiB
	c.CommitDelay, c.WALWriterDelay = units.Duration(1500*time.Microsecond), units.Duration(1500*time.Microsecond)
	c.BgwriterLRUMultiplier = 2.5
	golden.Compare(t, "otherwise.conf", conf(&c, `/it's\here`))
}

func TestFiller(t *testing.T) {
	for row, want := range map[units.Size]int{24: 0, 40: 0, 41: 0, 42: 1, 121: 80, 167: 126, 168: 126, 171: 127, 500: 456} {
		if got := filler(row, 2); got != want {
			t.Errorf("rows of %d B have %d B of filler, not %d", row, got, want)
		}
	}
}

func TestProse(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 2000} {
		text := prose(n)
		if len(text) != n || strings.ContainsAny(string(text), "\t\n\\\x00") {
			t.Errorf("%d characters: %q", n, text)
		}
	}
	text := prose(2000)
	slices.Sort(text)
	if n := len(slices.Compact(text)); n != 64 {
		t.Errorf("2,000 characters are %d different ones", n)
	}
}

func TestRowsAreWhole(t *testing.T) {
	reported := int64(0)
	r := &rowsReader{end: 2500, text: []byte("abc"), progress: func(_ string, done, total int64) {
		if done < reported || total != 2500 {
			t.Errorf("progress %d of %d after %d", done, total, reported)
		}
		reported = done
	}}

	all, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")
	if len(lines) != 2500 || reported != 2500 {
		t.Fatalf("%d rows, reported %d", len(lines), reported)
	}

	for i, line := range lines {
		if want := fmt.Sprintf("%d\t0\tabc", i); line != want {
			t.Fatalf("row %d is %q, not %q", i, line, want)
		}
	}

	if n, err := (&rowsReader{}).Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("no rows: %d, %v", n, err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	program := func(path ...string) string {
		at := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return filepath.Dir(at)
	}

	pattern := filepath.Join(dir, "lib", "*", "bin")
	t.Setenv(EnvBin, "")
	t.Setenv("PATH", filepath.Join(dir, "path"))

	if _, err := find(pattern); !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "apt-get install postgresql") {
		t.Errorf("without an installation: %v", err)
	}

	program("path", "initdb")
	if got, err := find(pattern); got != program("path", "postgres") || err != nil {
		// The last program was made for the comparison; it is used once more below.
		if got, err = find(pattern); got != filepath.Join(dir, "path") || err != nil {
			t.Errorf("on PATH: %s, %v", got, err)
		}
	}

	for _, v := range []string{"9.6", "9", "15"} {
		program("lib", v, "bin", "initdb")
		program("lib", v, "bin", "postgres")
	}

	program("lib", "16", "bin", "postgres") // without initdb: a client may leave this behind
	if got, err := find(pattern); got != filepath.Join(dir, "lib", "15", "bin") || err != nil {
		t.Errorf("Debian's newest: %s, %v", got, err)
	}

	t.Setenv(EnvBin, filepath.Join(dir, "lib", "9", "bin"))
	if got, err := find(pattern); got != filepath.Join(dir, "lib", "9", "bin") || err != nil {
		t.Errorf("by name: %s, %v", got, err)
	}

	t.Setenv(EnvBin, dir)
	if _, err := find(pattern); err == nil || !strings.Contains(err.Error(), EnvBin) {
		t.Errorf("a name that matches nothing: %v", err)
	}
}

func TestParseVersion(t *testing.T) {
	got, err := parseVersion("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n")
	if got != "15.18" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "postgres (PostgreSQL) ", "bash 5.2"} {
		if v, err := parseVersion(text); err == nil {
			t.Errorf("%q is version %q", text, v)
		}
	}
}

const sampleLog = `2026-11-21 03:10:34.589 UTC LOG:  checkpoint starting: immediate force wait
2026-11-21 03:10:36.678 UTC LOG:  checkpoint complete: wrote 2125 buffers (0.8%); 0 WAL file(s) added, 0 removed, 77 recycled
2026-11-21 03:11:00.000 UTC FATAL:  the database system is starting up
2026-11-21 03:11:34.734 UTC LOG:  checkpoint starting: time
`

func TestCheckpointsOfALog(t *testing.T) {
	var c checkpoints
	for line := range strings.Lines(sampleLog) {
		c.addLine(strings.TrimSuffix(line, "\n"))
	}

	at := func(text string) time.Time {
		v, err := time.Parse("15:04:05.000", text)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 10, 20)
	}

	want := []lab.Cycle{{From: at("03:10:34.589"), To: at("03:10:36.678")}, {From: at("03:11:34.734")}}
	same := func(a, b lab.Cycle) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) }
	if got := c.list(); !slices.EqualFunc(got, want, same) {
		t.Errorf("%v, not %v", got, want)
	}

	want[1].To = at("03:12:00.000")
	c.end(want[1].To)
	c.end(at("03:13:00.000"))
	c.addLine("2026-11-21 03:14:36.678 UTC LOG:  checkpoint complete: of which nobody saw the beginning")

	if got := c.list(); !slices.EqualFunc(got, want, same) {
		t.Errorf("after a crash: %v, not %v", got, want)
	}

	c.all = make([]lab.Cycle, cyclesMax)
	c.addLine("2026-11-21 03:15:00.000 UTC LOG:  checkpoint starting: time")
	if n := len(c.list()); n != cyclesMax {
		t.Errorf("%d checkpoints are remembered, not %d", n, cyclesMax)
	}
}

func FuzzParseLine(f *testing.F) {
	for line := range strings.Lines(sampleLog) {
		f.Add(strings.TrimSuffix(line, "\n"))
	}

	f.Add("2026-13-21 03:10:34.589 UTC LOG:  checkpoint starting: time")
	f.Add("2026-11-21 03:10:34.589 UTC [27700] LOG:  checkpoint starting: time")
	f.Add("0000-01-01  0:00:00,000 UTCLOG:  checkpoint starting:")
	f.Add("")
	f.Fuzz(func(t *testing.T, line string) {
		at, what := parseLine(line)
		if what == none {
			if !at.IsZero() {
				t.Errorf("%q is not an event, but has the time %v", line, at)
			}
			return
		}

		if !strings.Contains(line, "checkpoint ") || at.Location() != time.UTC {
			t.Errorf("%q was parsed as a checkpoint at %v", line, at)
		}

		if written := at.Format(stampLayout); !strings.HasPrefix(line, written) {
			t.Errorf("%q is at %s", line, written)
		}
	})
}

func FuzzParseMaps(f *testing.F) {
	f.Add("7f00-7f01 rw-s 00000000 00:01 98305                      /SYSV0052e2c1 (deleted)\n" +
		"7f01-7f02 rw-s 00000000 00:1a 12                         /dev/shm/PostgreSQL.123\n" +
		"7f03-7f04 rw-s 00000000 00:1a 12                         /dev/shm/PostgreSQL.123\n" +
		"7f05-7f06 r-xp 00000000 fe:00 77                         /usr/lib/libc.so.6\n7f07-7f08 rw-p 0 00:00 0\n")
	f.Add("a b c d x /SYSV1\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, _ := parseMaps(strings.NewReader(text))
		for _, path := range m.files {
			if !strings.HasPrefix(path, "/dev/shm/PostgreSQL.") {
				t.Errorf("%q would be removed", path)
			}
		}
	})
}

func TestParseMaps(t *testing.T) {
	m, err := parseMaps(strings.NewReader("7f00-7f01 rw-s 00000000 00:01 98305   /SYSV0052e2c1 (deleted)\n" +
		"7f01-7f02 rw-s 00000000 00:1a 12 /dev/shm/PostgreSQL.123\n7f03-7f04 rw-s 1000 00:1a 12 /dev/shm/PostgreSQL.123\n" +
		"7f05-7f06 r-xp 00000000 fe:00 77 /usr/lib/libc.so.6\n7f07-7f08 rw-p 0 00:00 0\n"))
	if err != nil || !slices.Equal(m.segments, []int{98305}) || !slices.Equal(m.files, []string{"/dev/shm/PostgreSQL.123"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := parseMaps(strings.NewReader("a b c d x /SYSV1\n")); err == nil {
		t.Error("a segment without a number")
	}
}
