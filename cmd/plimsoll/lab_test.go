//go:build linux

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
)

// labAvailable reports whether volumes can be mounted here.
func labAvailable() bool { return blockdev.Available() == nil }

// unmountBelow unmounts what a failed script left mounted.
func unmountBelow(t *testing.T, dir string) {
	if !labAvailable() {
		return
	}

	states, err := mount.States()
	if err != nil {
		t.Log(err) // another's, perhaps
	}

	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}

	for _, s := range states {
		if len(s.Volumes) == 0 || !strings.HasPrefix(s.Volumes[0].Dir, dir+"/") {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		m, err := mount.Attach(s)
		if err == nil {
			err = m.Close(ctx, true)
		}
		t.Errorf("the script left %s mounted; unmounting it: %v", s.Volumes[0].Dir, err)
	}
}

func TestLabSet(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"data", "iops=1", "volumes.data.iops=1"},
		{"wal", "latency.scale=2", "volumes.wal.latency.scale=2"},
		{"data", "volumes.wal.iops=1", "volumes.wal.iops=1"},
		{"", "volumes.wal.iops=1", "volumes.wal.iops=1"},
		{"data", "instance=m5.large", "host.instance=m5.large"},
		{"", "host.instance=m5.large", "host.instance=m5.large"},
		{"", "iops=1", ""},
		{"data", "iops", ""},
		{"data", "=1", ""},
	} {
		got, err := labSet(c.name, c.set)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("labSet(%q, %q) = %q, %v; want %q", c.name, c.set, got, err, c.want)
		}
	}
}

func TestTooFast(t *testing.T) {
	for name, c := range map[string]struct {
		v    mount.VolumeStatus
		want string
	}{
		"gp3":     {mount.VolumeStatus{IOPS: 16_000, Throughput: 250e6, Latency: 600e-6}, ""},
		"io2":     {mount.VolumeStatus{IOPS: 64_000, Latency: 600e-6}, "IOPS"},
		"nvme":    {mount.VolumeStatus{Latency: 80e-6}, "latency"},
		"striped": {mount.VolumeStatus{IOPS: 12_000, Throughput: 4e9, Latency: 600e-6}, "MB/s"},
	} {
		if got := tooFast(&c.v); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
