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

// machines are those of a scenario, one or one for each of etcd's members, with their mounted
// volumes: nil where a server runs already, which has its own.
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
	// Whatever the umask is: the database is not root.
	if err := errors.Join(os.Mkdir(m.lab.Scratch, 0o777), os.Chmod(m.lab.Scratch, 0o777)); err != nil {
		return m, errors.Join(err, m.close(ctx))
	}
	return m, nil
}

// sync has the page cache written out.
func (m *machines) sync() error {
	for name, dir := range m.lab.Dirs {
		f, err := os.Open(dir)
		if err == nil {
			err = errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
		}
		if err != nil {
			return fmt.Errorf("syncing volume %s: %w", name, err)
		}
	}
	return nil
}

// status tells how all volumes stand, in the scenario's order; none where the server runs already.
func (m *machines) status(ctx context.Context) (*mount.Status, error) {
	if m.Machine == nil {
		return &mount.Status{}, nil
	}
	return m.Status(ctx)
}

// pace lets requests through at once, or makes them wait for volumes that begin anew.
func (m *machines) pace(ctx context.Context, paced bool) error {
	if m.Machine == nil {
		return nil
	}
	return m.Pace(ctx, paced)
}

// resetStats begins counting anew.
func (m *machines) resetStats(ctx context.Context) error {
	if m.Machine == nil {
		return nil
	}
	return m.ResetStats(ctx)
}

// close unmounts everything, whoever uses it, and takes away what a process that served volumes and
// died has left.
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
