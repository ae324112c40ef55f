package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"plimsoll/lab"
	"plimsoll/lab/disk"
	"plimsoll/lab/mount"
	"plimsoll/random"
	"plimsoll/scenario"
)

// machines are those of a scenario: one, or one for each of etcd's members.
type machines struct {
	all  []*mount.Machine
	lab  lab.Machine
	unit []string // the prefix of each one's volumes: "m2/", "" of a lone machine
}

// mountAll mounts the volumes of all machines.
func mountAll(ctx context.Context, sc *scenario.Scenario, opt *Options) (m *machines, err error) {
	m = &machines{lab: lab.Machine{Dirs: map[string]string{}, Devices: map[string]string{}, Scenario: sc, Log: opt.log}}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close(ctx))
		}
	}()
	for k := 1; k <= sc.MemberCount(); k++ {
		one, err := mount.Start(ctx, mount.Options{
			File: opt.File, Sets: opt.Sets, Member: k, FileSystem: opt.FileSystem, Images: opt.Images,
			PowerLoss: opt.PowerLoss > 0, Command: opt.Daemon, Log: opt.log,
		})
		if err != nil {
			return m, err
		}
		unit := ""
		if sc.MemberCount() > 1 {
			unit = "m" + strconv.Itoa(k) + "/"
		}
		m.all, m.unit = append(m.all, one), append(m.unit, unit)
		for name, dir := range one.Dirs {
			m.lab.Dirs[unit+name], m.lab.Devices[unit+name] = dir, one.Devices[name]
		}
	}
	m.lab.Scratch = filepath.Join(m.all[0].Scratch, "scratch")
	if err := os.Mkdir(m.lab.Scratch, 0o777); err != nil {
		return m, err
	}
	// Whatever the umask is: the database is not root.
	return m, os.Chmod(m.lab.Scratch, 0o777)
}

// each does something with all machines at once.
func (m *machines) each(f func(k int, one *mount.Machine) error) error {
	errs := make([]error, len(m.all))
	var all sync.WaitGroup
	for k, one := range m.all {
		all.Go(func() { errs[k] = f(k, one) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// pace lets requests through at once, or makes them wait for volumes that begin anew.
func (m *machines) pace(ctx context.Context, paced bool) error {
	return m.each(func(_ int, one *mount.Machine) error { return one.Pace(ctx, paced) })
}

// sync has the page cache written out.
func (m *machines) sync() error {
	for name, dir := range m.lab.Dirs {
		f, err := os.Open(dir)
		if err == nil {
			err = errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
		}
		if err != nil {
			return fmt.Errorf("writing volume %s out: %w", name, err)
		}
	}
	return nil
}

// A standing is how a volume stands.
type standing struct {
	name string
	mount.VolumeStatus
}

// status tells how all volumes stand, in the scenario's order.
func (m *machines) status(ctx context.Context) ([]standing, string, error) {
	var out []standing
	backing := ""
	for k, one := range m.all {
		s, err := one.Status(ctx)
		if err != nil {
			return nil, "", err
		}
		backing = s.Backing
		for _, v := range s.Volumes {
			out = append(out, standing{m.unit[k] + v.Name, v})
		}
	}
	return out, backing, nil
}

// cut takes the power from all machines.
func (m *machines) cut(ctx context.Context, c disk.Cut) ([]mount.CutReport, error) {
	out := make([]mount.CutReport, len(m.all))
	err := m.each(func(k int, one *mount.Machine) (err error) {
		own := c
		own.Seed += random.Seed(k) // each machine has its own chance
		out[k], err = one.Cut(ctx, own)
		return err
	})
	return out, err
}

// recover gives the power back.
func (m *machines) recover(ctx context.Context) error {
	return m.each(func(_ int, one *mount.Machine) error { return one.Recover(ctx) })
}

// close unmounts everything, whoever uses it, and takes away what a process that served volumes and died has left.
func (m *machines) close(ctx context.Context) error {
	err := m.each(func(_ int, one *mount.Machine) error { return one.Close(context.WithoutCancel(ctx), true) })
	if err != nil {
		_, swept := mount.Sweep()
		err = errors.Join(err, swept)
	}
	return err
}
