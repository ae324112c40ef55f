//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/present/results"
)

func newLabStatusCommand(env *app) *cobra.Command {
	var output choice
	var watch bool
	cmd := &cobra.Command{
		Use:  "status [DIR]",
		Args: needArgs(0, 1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := blockdev.Available(); err != nil {
				return err
			}

			// Leftovers of crashed runs are reported in any case, together with any other error.
			left := leftBehind(env)
			var machines []*mount.Machine
			var err error

			if len(args) > 0 {
				machines = make([]*mount.Machine, 1)
				machines[0], _, err = mounted(args[0])
			} else {
				machines, err = allMounted()
			}

			if err != nil {
				return errors.Join(err, left)
			}

			if len(machines) == 0 {
				fmt.Fprintln(env.stderr, "plimsoll: no volume is mounted")
				return left
			}

			w := &labWatch{app: env, machines: machines, output: output}
			if watch {
				return errors.Join(w.run(cmd.Context()), left)
			}

			_, err = w.once(cmd.Context())
			return errors.Join(err, left)
		},
	}

	addFormat(cmd, &output)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "report what happened in each second, until interrupted")
	return cmd
}

// leftBehind removes the leftovers of killed commands, and explains what it cannot remove.
func leftBehind(a *app) error {
	err := sweep(a)
	left, lookErr := mount.Leftovers()
	for _, l := range left {
		err = errors.Join(err, fmt.Errorf("left behind: %s: %s", l.What, l.Remedy))
	}
	return errors.Join(err, lookErr)
}

func allMounted() ([]*mount.Machine, error) {
	states, err := mount.States()
	if err != nil {
		return nil, err
	}

	var out []*mount.Machine
	for _, s := range states {
		if s.Socket == "" || !s.Alive() {
			continue // its volumes are being created or removed
		}
		m, err := mount.Attach(s)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}

	return out, nil
}

// A labWatch observes machines.
type labWatch struct {
	*app
	machines []*mount.Machine
	output   choice
}

// once writes their status; as JSON, one line each.
func (w *labWatch) once(ctx context.Context) ([]*mount.Status, error) {
	out := make([]*mount.Status, len(w.machines))
	for i, m := range w.machines {
		var err error
		if out[i], err = m.Status(ctx); err != nil {
			return nil, err
		}
	}

	if w.output.value != "json" {
		return out, w.showList(w.output, nil, results.LabStatus(out...))
	}

	for _, s := range out {
		if err := json.NewEncoder(w.stdout).Encode(s); err != nil {
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

			// An interrupt makes Status fail, which is how this command ends.
			if ctx.Err() != nil {
				return nil
			}

			if err == nil && w.output.value == "json" {
				err = json.NewEncoder(w.stdout).Encode(now)
			} else if err == nil {
				_, err = fmt.Fprintln(w.stdout, strings.Join(results.LabSecond(time.Now(), before[i], now), "\n"))
			}

			if err != nil {
				return err
			}

			before[i] = now
		}
	}
}

// What this kind of machine can emulate, measured on two virtual cores: see docs/lab.md.
const (
	emulatedIOPS = 20_000
	emulatedMBs  = 350
)

// tooFast explains why a volume cannot be as fast as specified; "" if it can.
func tooFast(v *mount.VolumeStatus) string {
	if v.IOPS > emulatedIOPS {
		return fmt.Sprintf("%.0f IOPS are more than the emulator can do on a few cores (about %d): lab status shows whether it keeps up",
			v.IOPS, emulatedIOPS)
	}
	if v.Throughput > emulatedMBs*1e6 {
		return fmt.Sprintf("%s is more than the emulator can do on a few cores (about %d MB/s): lab status shows whether it keeps up",
			units.Throughput(v.Throughput).String(), emulatedMBs)
	}
	if v.Latency > 0 && v.Latency < 300e-6 {
		return fmt.Sprintf("a latency of %s is shorter than the emulator can deliver (about 0.3 ms)",
			units.Seconds(v.Latency))
	}
	return ""
}
