//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
)

func newLabStatusCommand(a *app) *cobra.Command {
	var output choice
	var watch bool
	cmd := &cobra.Command{
		Use:  "status [DIR]",
		Args: needArgs(0, 1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := blockdev.Available(); err != nil {
				return err
			}
			left := leftBehind(a)
			var machines []*mount.Machine
			var err error
			if len(args) > 0 {
				machines = make([]*mount.Machine, 1)
				machines[0], _, err = mounted(args[0])
			} else {
				machines, err = allMounted()
			}
			if err != nil {
				return err
			}
			if len(machines) == 0 {
				fmt.Fprintln(a.stderr, "plimsoll: no volume is mounted")
				return left
			}
			w := &labWatch{app: a, machines: machines, json: output.value == "json"}
			if watch {
				return w.run(cmd.Context())
			}
			_, err = w.once(cmd.Context())
			return errors.Join(err, left)
		},
	}
	addOutput(cmd, &output)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "report what happened in each second, until interrupted")
	return cmd
}

// leftBehind removes what killed commands left behind, and explains what it cannot remove.
func leftBehind(a *app) error {
	err := sweep(a)
	left, lookErr := mount.Leftovers()
	for _, l := range left {
		err = errors.Join(err, fmt.Errorf("left behind: %s: %s", l.What, l.Remedy))
	}
	return errors.Join(err, lookErr)
}

// allMounted are all mounted machines.
func allMounted() ([]*mount.Machine, error) {
	states, err := mount.States()
	if err != nil {
		return nil, err
	}
	var out []*mount.Machine
	for _, s := range states {
		if s.Socket == "" || !s.Alive() {
			continue // its volumes are being created or removed; or the error is about settings
		}
		m, err := mount.Attach(s)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// tellLabStatus writes one machine's status.
func tellLabStatus(a *app, s *mount.Status, output *choice) error {
	if output.value == "json" {
		return writeJSON(a, s)
	}
	return writeLab(a.stdout, s)
}

// A labWatch observes machines.
type labWatch struct {
	*app
	machines []*mount.Machine
	json     bool
}

// once writes their status; as JSON, one line each.
func (w *labWatch) once(ctx context.Context) ([]*mount.Status, error) {
	out := make([]*mount.Status, len(w.machines))
	for i, m := range w.machines {
		s, err := m.Status(ctx)
		if err != nil {
			return nil, err
		}
		if out[i] = s; w.json {
			err = json.NewEncoder(w.stdout).Encode(s)
		} else {
			err = writeLab(w.stdout, s)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// run reports each second what happened in it, until the context ends, which is not an error.
func (w *labWatch) run(ctx context.Context) error {
	before, err := w.once(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for i, m := range w.machines {
			now, err := m.Status(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil && w.json {
				err = json.NewEncoder(w.stdout).Encode(now)
			} else if err == nil {
				err = writeDelta(w.stdout, before[i], now)
			}
			if err != nil {
				return err
			}
			before[i] = now
		}
	}
}

// writeDelta reports what happened between two looks, one line per volume.
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
	return fmt.Sprintf("replies late by %s at p99, %s at most; %.1f %% later than 100 us and 5 %%, %.0f %% in the worst ten seconds",
		short(v.LateP99), short(v.LateMax), 100*v.Late, 100*v.LateWorst)
}

// pathWords compares the latency that the kernel saw with what was requested.
func pathWords(v *mount.VolumeStatus) string {
	text := fmt.Sprintf("saw reads and writes take %s on average, %s was requested; at most %s longer within ten seconds", short(*v.Kernel), short(*v.Asked), short(v.Added))
	if v.Slow {
		text += ": the path to the emulator is SLOW (more than 100 us and 20 %)"
	}
	return text
}

// writeLab lists what is mounted.
func writeLab(w io.Writer, s *mount.Status) error {
	backing := "in memory"
	if s.Backing != "memory" {
		backing = "in " + s.Backing
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range s.Volumes {
		fmt.Fprintf(t, "%s\t%s\t%s, %s on %s, image %s\n", v.Name, v.Dir, units.Size(v.Size).Exact(), v.FileSystem, v.Device, backing)
		if v.Problem != "" {
			fmt.Fprintf(t, "\tPROBLEM\t%s\n", v.Problem)
		}
		fmt.Fprintf(t, "\tgives\t%s\n", strings.Join(v.Gives, "; "))
		did := fmt.Sprintf("%d reads, %d writes, %d flushes; the image takes %s", v.Requests["read"], v.Requests["write"], v.Requests["flush"], units.Size(v.Resident).String())
		if v.Credits != nil {
			did += fmt.Sprintf("; credits %.0f %%", 100**v.Credits)
		}
		fmt.Fprintf(t, "\tdid\t%s\n", did)
		if v.Refused > 0 {
			fmt.Fprintf(t, "\tfull\t%d writes were refused: no space is left for the image\n", v.Refused)
		}
		state := "emulated"
		if v.Saturated {
			state = "SATURATED"
		}
		if v.Requests["read"]+v.Requests["write"] > 0 {
			fmt.Fprintf(t, "\t%s\t%s\n", state, lateness(&v))
			if v.Kernel != nil {
				fmt.Fprintf(t, "\t%s\t%s\n", "kernel", pathWords(&v))
			}
		}
	}
	return t.Flush()
}

// What this kind of machine can emulate, measured on two virtual cores: see docs/lab.md.
const (
	emulatedIOPS = 20_000
	emulatedMBs  = 350
)

// tooFast explains why a volume cannot be as fast as specified; "" if it can.
func tooFast(v *mount.VolumeStatus) string {
	if v.IOPS > emulatedIOPS {
		return fmt.Sprintf("%.0f IOPS are more than the emulator can do on a few cores (about %d): lab status shows whether it keeps up", v.IOPS, emulatedIOPS)
	}
	if v.Throughput > emulatedMBs*1e6 {
		return fmt.Sprintf("%s is more than the emulator can do on a few cores (about %d MB/s): lab status shows whether it keeps up", units.Throughput(v.Throughput).String(), emulatedMBs)
	}
	if v.Latency > 0 && v.Latency < 300e-6 {
		return fmt.Sprintf("a latency of %s is shorter than the emulator can deliver (about 0.3 ms)", short(v.Latency))
	}
	return ""
}
