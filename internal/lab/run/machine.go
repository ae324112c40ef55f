//go:build linux

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/lab"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/scenario"
)

// machines are the machines of a scenario with their mounted volumes: one, or one for each etcd
// member. Machine is nil for an existing server.
type machines struct {
	*mount.Machine
	lab lab.Machine
}

// mountAll mounts the volumes of all machines.
func mountAll(ctx context.Context, sc *scenario.Scenario, opt *Options) (m *machines, err error) {
	m = noMachines(sc, opt)
	m.Machine, err = mount.Start(ctx, mount.Options{
		File: opt.File, Sets: opt.Sets, FileSystem: opt.FileSystem, Images: opt.Images,
		PowerLoss: opt.PowerLoss > 0, Command: opt.Daemon, Log: opt.log,
	})
	if err != nil {
		return m, err
	}

	m.lab.Dirs, m.lab.Devices = m.Dirs, m.Devices
	m.lab.Scratch = filepath.Join(m.Machine.Scratch, "scratch")

	// Set the mode explicitly, regardless of the umask: the database does not run as root.
	if err := errors.Join(os.Mkdir(m.lab.Scratch, 0o777), os.Chmod(m.lab.Scratch, 0o777)); err != nil {
		return m, errors.Join(err, m.close(ctx))
	}

	return m, nil
}

// sync writes back the page cache.
func (m *machines) sync() error {
	for name, dir := range m.lab.Dirs {
		f, err := os.Open(dir)
		if err == nil {
			err = errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
		}
		if err != nil {
			return fmt.Errorf("cannot sync volume %s: %w", name, err)
		}
	}
	return nil
}

// status returns the state of all volumes, in the scenario's order; empty for an existing server.
func (m *machines) status(ctx context.Context) (*mount.Status, error) {
	if m.Machine == nil {
		return &mount.Status{}, nil
	}
	return m.Status(ctx)
}

// pace sets whether requests wait for their volumes. Volumes that are paced again start with full
// burst buckets.
func (m *machines) pace(ctx context.Context, paced bool) error {
	if m.Machine == nil {
		return nil
	}
	return m.Pace(ctx, paced)
}

// resetStats restarts the counters.
func (m *machines) resetStats(ctx context.Context) error {
	if m.Machine == nil {
		return nil
	}
	return m.ResetStats(ctx)
}

// close unmounts everything, even if it is in use, and removes what a crashed daemon left behind.
func (m *machines) close(ctx context.Context) error {
	if m.Machine == nil {
		return nil
	}
	err := m.Close(context.WithoutCancel(ctx), true)
	if err != nil {
		_, swept := mount.Sweep()
		err = errors.Join(err, swept)
	}
	return err
}
