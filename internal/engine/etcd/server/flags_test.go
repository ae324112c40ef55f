//go:build linux

package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/check/golden"
	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

func TestFlags(t *testing.T) {
	cfg := etcd.Defaults()
	golden.Compare(t, "one-member.flags", strings.Join(flags(&cfg, "3.4.23", []place{{name: "m1", data: "/data/etcd-m1", client: 20001, peer: 20002}}, 0), "\n")+"\n")
	cfg.Members = 3
	cfg.Heartbeat, cfg.Election = units.Duration(2600*time.Microsecond), units.Duration(5*time.Second)
	cfg.BatchInterval, cfg.BatchLimit = units.Duration(1500*time.Microsecond), 7
	cfg.SnapshotCount, cfg.Quota = 100_000, 8*units.GiB
	all := []place{
		{name: "m1", data: "/a", client: 20001, peer: 20002},
		{name: "m2", data: "/b", wal: "/w/etcd-m2/wal", client: 20003, peer: 20004},
		{name: "m3", data: "/c", client: 20005, peer: 20006},
	}
	golden.Compare(t, "second-of-three.flags", strings.Join(flags(&cfg, "3.7.3", all, 1), "\n")+"\n")
}

func TestCompiledIn(t *testing.T) {
	cfg := etcd.Defaults()
	for _, version := range []string{"3.4.23", "3.7.3"} {
		if got := compiledIn(&cfg, version); len(got) > 0 {
			t.Errorf("%s, defaults: %q", version, got)
		}
	}
	cfg.Segment, cfg.MaxMessage, cfg.MaxInflight, cfg.CatchUp = units.MB, 2*units.MiB, 1, 2
	if got := compiledIn(&cfg, "3.4.23"); len(got) != 4 || !strings.Contains(got[3], "engine.etcd.catchup_entries is 2 in the scenario, but etcd has it compiled in: it is 5000 here") {
		t.Errorf("all four: %q", got)
	}
	if got := compiledIn(&cfg, "3.7.3"); len(got) != 3 {
		t.Errorf("3.7 has a flag for one of them: %q", got)
	}
}

// The flag's name depends on the version, and it is set only if the value is not the default.
func TestCatchUpFlag(t *testing.T) {
	cfg := etcd.Defaults()
	member := []place{{name: "m1", data: "/data/etcd-m1", client: 20001, peer: 20002}}

	last := func(version string) string { all := flags(&cfg, version, member, 0); return all[len(all)-1] }
	for _, version := range []string{"3.4.23", "3.5.21", "3.7.3"} {
		if got := last(version); got != "--logger=zap" {
			t.Errorf("%s with the default: %s", version, got)
		}
	}

	cfg.CatchUp = 70
	for version, want := range map[string]string{
		"3.4.23": "--logger=zap", "3.5.21": "--experimental-snapshot-catchup-entries=70", "3.6.16": "--snapshot-catchup-entries=70",
		"3.7.0-rc.1": "--snapshot-catchup-entries=70", "4.0.0": "--snapshot-catchup-entries=70", "none": "--logger=zap",
	} {
		if got := last(version); got != want {
			t.Errorf("%s: %s, not %s", version, got, want)
		}
	}
}

// A relative path to a binary works from the members' folders.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "my-etcd")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}

	t.Chdir(dir)
	t.Setenv("PATH", dir)
	t.Setenv(EnvBinary, "")

	for _, asked := range []string{"./my-etcd", "my-etcd", path} {
		if got, err := find(asked); got != path || err != nil {
			t.Errorf("asked for %s: %s, %v", asked, got, err)
		}
		t.Setenv(EnvBinary, asked)
		if got, err := find(""); got != path || err != nil {
			t.Errorf("%s=%s: %s, %v", EnvBinary, asked, got, err)
		}
		t.Setenv(EnvBinary, "")
	}
}

func TestParseVersion(t *testing.T) {
	got, err := parseVersion("etcd Version: 3.4.23\nGit SHA: Not provided\n")
	if got != "3.4.23" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "etcd Version: \n", "bash 5.2"} {
		if v, err := parseVersion(text); err == nil {
			t.Errorf("%q is version %q", text, v)
		}
	}
}

func TestKeysAndValues(t *testing.T) {
	if got := string(keys{}.of(0xfedcba9876543210)); got != "fedcba9876543210" {
		t.Errorf("key %s", got)
	}

	if a, b := string(keys{}.of(9)), string(keys{}.of(10)); a >= b || len(a) != 16 {
		t.Errorf("%s does not sort before %s", a, b)
	}

	var w writer
	for _, size := range []units.Size{0, 3, 8, 9, 300, 20} {
		v := w.value(size, 77)
		seq, err := seqOf(v)
		if len(v) != int(max(size, SeqBytes)) || seq != 77 || err != nil {
			t.Errorf("a value of %d bytes has %d, is of write %d, %v", size, len(v), seq, err)
		}
	}

	if _, err := seqOf([]byte("short")); err == nil {
		t.Error("a value of 5 bytes has a number")
	}

	v := slices.Clone(w.value(4096, 1)[SeqBytes:])
	slices.Sort(v)
	if n := len(slices.Compact(v)); n != 256 {
		t.Errorf("4 KiB have %d different bytes", n)
	}
}

func TestSizes(t *testing.T) {
	for want, op := range map[units.Size]workload.Op{
		300: {Kind: workload.Update, Size: 300, Document: 300},
		900: {Kind: workload.Push, Size: 40, Document: 900}, // etcd writes documents whole
	} {
		if got := sizeOf(&lab.Op{Op: op}); got != want {
			t.Errorf("%v: %d bytes, not %d", op, got, want)
		}
	}
	for size, want := range map[units.Size]uint64{0: 128, 256: 128, 64 * units.KiB: 7, units.MiB: 1, 100 * units.MiB: 1} {
		if got := batch(size); got != want {
			t.Errorf("documents of %v: %d a transaction, not %d", size, got, want)
		}
	}
}

func TestPortsDiffer(t *testing.T) {
	ports, err := freePorts(10)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 10 || ports[0] < portFirst || ports[9] >= portLast {
		t.Errorf("ports %v", ports)
	}
}
