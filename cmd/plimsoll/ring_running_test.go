package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A running watch that samples the same servers into a ring is found by its command line, and only that.
func TestRunningRing(t *testing.T) {
	proc, ring := t.TempDir(), t.TempDir()
	process := func(pid string, words ...string) {
		dir := filepath.Join(proc, pid)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.Join(words, "\x00")+"\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	process("1", "/sbin/init")
	process("20", "/usr/bin/plimsoll", "watch", "postgres://monitor@db-1:5432/postgres", "host") // keeps no ring
	process("21", "vi", "watch", "--out", ring, "postgres://db-1:5432")
	process("22", "/usr/bin/plimsoll", "watch", "postgres://monitor@db-1:5432/postgres", "host", "--out", ring)
	process("23", "plimsoll", "watch", "--out=/nonexistent", "mongodb://db-2:27017")

	for _, c := range []struct {
		live []string
		want string
	}{
		{[]string{"postgres://root@db-1:5432/other", "host"}, "plimsoll watch (process 22) has been sampling this; without waiting:\nhint: plimsoll diagnose " + ring + " --from -15m\n"},
		{[]string{"postgres://db-1:5433"}, ""}, // another server on that host
		{[]string{"host", "mongodb://db-1:27017"}, ""},
		{[]string{"mongodb://db-2:27017"}, ""}, // its ring cannot be read
		{nil, ""},
	} {
		a, _, stderr := testApp()
		a.suggestRing(proc, c.live)
		if got := stderr.String(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.live, got)
		}
	}
}

// A diagnosis without a stall names the running watch of its sources, whether it keeps a ring or not.
func TestWatching(t *testing.T) {
	proc, ring := t.TempDir(), t.TempDir()
	for pid, words := range map[string][]string{
		"20": {"/usr/bin/plimsoll", "watch", "host", "postgres://u:s3cret@db-1:5432"},
		"22": {"/usr/bin/plimsoll", "watch", "mongodb://db-2:27017", "--out", ring},
	} {
		if err := os.MkdirAll(filepath.Join(proc, pid), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "cmdline"), []byte(strings.Join(words, "\x00")+"\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	a, _, _ := testApp()
	for _, c := range []struct{ args, want string }{
		{"postgres://db-1:5432 host", "plimsoll top host postgres://db-1:5432"},
		{"mongodb://db-2:27017", "plimsoll diagnose " + ring + " --from -15m"},
		{ring, "plimsoll diagnose " + ring + " --from -15m"},
		{"postgres://db-1:5433", ""},
	} {
		got := ""
		if w := a.watching(proc, strings.Fields(c.args)); w != nil {
			_, got, _ = w.Next()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
}
