//go:build linux

package results

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/present/document"
)

// LabStatus shows the mounted volumes: limits, I/O so far, and how accurately each is emulated.
func LabStatus(all ...*mount.Status) *document.Document {
	tab := document.NewTable("Volumes", "", "", "")
	row := func(name, about, text string) {
		tab.Line(name, about, text)
	}
	for _, s := range all {
		backing := "in memory"
		if s.Backing != "memory" {
			backing = "in " + s.Backing
		}

		for i := range s.Volumes {
			volumeStatus := &s.Volumes[i]
			row(volumeStatus.Name, volumeStatus.Dir, fmt.Sprintf("%s, %s on %s, image %s", units.Size(volumeStatus.Size).Exact(), volumeStatus.FileSystem,
				volumeStatus.Device, backing))
			if volumeStatus.Problem != "" {
				row("", "PROBLEM", volumeStatus.Problem)
			}

			row("", "limits", strings.Join(volumeStatus.Gives, "; "))
			row("", "I/O", volumeDid(volumeStatus))
			if volumeStatus.Refused > 0 {
				row("", "full", fmt.Sprintf("%d writes were refused: no space left for the image", volumeStatus.Refused))
			}

			// Without requests there is no lateness to report.
			if volumeStatus.Requests["read"]+volumeStatus.Requests["write"] == 0 {
				continue
			}

			state := "emulated"
			if volumeStatus.Saturated {
				state = "SATURATED"
			}

			row("", state, Lateness(volumeStatus))
			if volumeStatus.Kernel != nil {
				row("", "kernel", pathText(volumeStatus))
			}
		}
	}

	return list("Volumes of the lab", tab)
}

func volumeDid(v *mount.VolumeStatus) string {
	out := fmt.Sprintf("%d reads, %d writes, %d flushes; the image takes %s", v.Requests["read"],
		v.Requests["write"], v.Requests["flush"], units.Size(v.Resident).String())
	if v.Credits != nil {
		out += "; credits " + units.Percent(*v.Credits)
	}
	return out
}

// Lateness says how late the emulator's replies were.
func Lateness(v *mount.VolumeStatus) string {
	return fmt.Sprintf("replies late by %s at p99, %s at most; %.1f %% later than 100 us and 5 %%, %.0f %% in the worst ten seconds",
		units.Seconds(v.LateP99), units.Seconds(v.LateMax), 100*v.Late, 100*v.LateWorst)
}

// pathText compares the latency that the kernel saw with what was requested.
func pathText(v *mount.VolumeStatus) string {
	text := fmt.Sprintf("saw reads and writes take %s on average, %s was requested; at most %s longer over ten seconds",
		units.Seconds(*v.Kernel), units.Seconds(*v.Asked), units.Seconds(v.Added))
	if v.Slow {
		text += ": the path to the emulator is SLOW (more than 100 us and 20 %)"
	}
	return text
}

// LabSecond describes what happened between two samples, one line for each volume.
func LabSecond(at time.Time, before, now *mount.Status) []string {
	var out []string
	for i := range now.Volumes {
		v, b := &now.Volumes[i], &before.Volumes[i]
		line := fmt.Sprintf("%s  %-10s", at.Format("15:04:05"), v.Name)
		for _, op := range []string{"read", "write", "flush"} {
			line += fmt.Sprintf("  %s %6d/s", op, v.Requests[op]-b.Requests[op])
			if n := v.Bytes[op] - b.Bytes[op]; n > 0 {
				line += fmt.Sprintf(" %-9s", units.Throughput(n).String())
			}
		}

		if v.Credits != nil {
			line += "  credits " + units.Percent(*v.Credits)
		}

		if v.Degraded {
			line += "  in a bad episode"
		}

		out = append(out, line+"  late p99 "+units.Seconds(v.LateP99))
	}

	return out
}
