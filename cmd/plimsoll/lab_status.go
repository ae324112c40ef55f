package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/lab/mount"
	"plimsoll/units"
)

func newLabStatusCommand(a *app) *cobra.Command {
	var output choice
	var watch bool
	cmd := &cobra.Command{
		Use:     "status [DIR]",
		Short:   "Tell how mounted volumes stand, and how well they are emulated",
		Example: `  sudo plimsoll lab status /mnt/gp3 --watch`,
		Args:    needArgs(0, 1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sweep(a); err != nil {
				return err
			}
			dir := ""
			if len(args) > 0 {
				dir = args[0]
			}
			m, _, err := mounted(dir)
			if err != nil {
				return err
			}
			return labStatus(cmd.Context(), a, m, watch, output.value == "json")
		},
	}
	addOutput(cmd, &output)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "again each second, what happened in it, until interrupted")
	return cmd
}

func labStatus(ctx context.Context, a *app, m *mount.Machine, watch, asJSON bool) error {
	s, err := m.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON && !watch {
		return json.NewEncoder(a.stdout).Encode(s)
	}
	if !watch {
		return writeLab(a.stdout, s)
	}
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		now, err := m.Status(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if asJSON {
			err = json.NewEncoder(a.stdout).Encode(now)
		} else {
			err = writeDelta(a.stdout, s, now)
		}
		if err != nil {
			return err
		}
		s = now
	}
}

// writeDelta tells what happened between two looks, a line a volume.
func writeDelta(w io.Writer, before, now *mount.Status) error {
	for i, v := range now.Volumes {
		b := before.Volumes[i]
		line := fmt.Sprintf("%s  %-10s", time.Now().Format("15:04:05"), v.Name)
		for _, op := range []string{"read", "write", "flush"} {
			line += fmt.Sprintf("  %s %6d/s", op, v.Requests[op]-b.Requests[op])
			if n := v.Bytes[op] - b.Bytes[op]; n > 0 {
				line += fmt.Sprintf(" %-9s", units.Throughput(n).String())
			}
		}
		if v.Credits != nil {
			line += fmt.Sprintf("  credits %.0f %%", 100**v.Credits)
		}
		if v.Degraded {
			line += "  in a bad episode"
		}
		if _, err := fmt.Fprintf(w, "%s  late p99 %v\n", line, short(v.LateP99)); err != nil {
			return err
		}
	}
	return nil
}

func short(s float64) string { return units.Duration(s * 1e9).String() }

func lateness(v *mount.VolumeStatus) string {
	return fmt.Sprintf("answers late by %s at p99, %s at most; %.1f %% later than 100 us and 5 %%, %.0f %% in the worst ten seconds",
		short(v.LateP99), short(v.LateMax), 100*v.Late, 100*v.LateWorst)
}

// writeLab tells what is mounted.
func writeLab(w io.Writer, s *mount.Status) error {
	backing := "in memory"
	if s.Backing != "memory" {
		backing = "in " + s.Backing
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range s.Volumes {
		fmt.Fprintf(t, "%s\t%s\t%s, %s on %s, image %s\n", v.Name, v.Dir, units.Size(v.Size).String(), v.FileSystem, v.Device, backing)
		fmt.Fprintf(t, "\tgives\t%s\n", strings.Join(v.Gives, "; "))
		did := fmt.Sprintf("%d reads, %d writes, %d flushes; the image takes %s", v.Requests["read"], v.Requests["write"], v.Requests["flush"], units.Size(v.Resident).String())
		if v.Credits != nil {
			did += fmt.Sprintf("; credits %.0f %%", 100**v.Credits)
		}
		fmt.Fprintf(t, "\tdid\t%s\n", did)
		if v.Refused > 0 {
			fmt.Fprintf(t, "\tfull\t%d writes were refused: the image's backing has no room\n", v.Refused)
		}
		state := "emulated"
		if v.Saturated {
			state = "SATURATED"
		}
		if v.Requests["read"]+v.Requests["write"] > 0 {
			fmt.Fprintf(t, "\t%s\t%s\n", state, lateness(&v))
		}
	}
	return t.Flush()
}

// What this kind of machine can emulate, measured on two virtual cores: see docs/lab.md.
const (
	emulatedIOPS = 30_000
	emulatedMBs  = 350
)

// tooFast says why a volume will not be as fast as it should; "" if it can be.
func tooFast(v *mount.VolumeStatus) string {
	if v.IOPS > emulatedIOPS {
		return fmt.Sprintf("%.0f IOPS are more than the emulator does on a few cores (about %d): lab status tells whether it keeps up", v.IOPS, emulatedIOPS)
	}
	if v.Throughput > emulatedMBs*1e6 {
		return fmt.Sprintf("%s are more than the emulator does on a few cores (about %d MB/s): lab status tells whether it keeps up", units.Throughput(v.Throughput).String(), emulatedMBs)
	}
	if v.Latency > 0 && v.Latency < 300e-6 {
		return fmt.Sprintf("a latency of %s is shorter than what the emulator can keep (about 0.3 ms)", short(v.Latency))
	}
	return ""
}
