//go:build linux

package results

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/present/markdown"
	"plimsoll/internal/present/text"
)

func TestLabStatusText(t *testing.T) {
	s := &mount.Status{Backing: "memory", Volumes: []mount.VolumeStatus{
		{Name: "data", Dir: "/mnt/gp3", Device: "/dev/loop2", FileSystem: "xfs", Size: 100 << 30, Gives: []string{"3,000 IOPS, 125 MiB/s"},
			Requests: map[string]int64{"read": 3, "write": 34397}, Bytes: map[string]int64{"write": 9e6}, Credits: at(0.5), Resident: 212e6, Refused: 2, Saturated: true,
			LateP99: 0.0056, LateMax: 0.0579, Late: 0.129, LateWorst: 0.13, Kernel: at(0.002), Asked: at(0.001), Added: 0.004, Slow: true},
		{Name: "journal", Dir: "/mnt/journal\x1b", Device: "/dev/loop3", FileSystem: "ext4", Size: 10 << 30, Gives: []string{"300 IOPS"}, Problem: "it is no longer mounted at /mnt"},
	}}

	var b strings.Builder
	if err := text.Write(&b, LabStatus(s), text.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}

	before := &mount.Status{Volumes: []mount.VolumeStatus{{Requests: map[string]int64{"write": 34000}}, {}}}
	b.WriteString("\n" + strings.Join(LabSecond(time.Date(2026, 1, 2, 10, 42, 40, 0, time.UTC), before, s), "\n") + "\n\n")
	if err := markdown.Write(&b, LabStatus(s)); err != nil {
		t.Fatal(err)
	}

	golden.Compare(t, "lab_status.golden", b.String())
}
