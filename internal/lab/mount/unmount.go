//go:build linux

package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/shellword"
)

// A BusyError means that a volume is in use, which force overrides.
type BusyError struct{ Text string }

func (e *BusyError) Error() string { return e.Text }

// unmountDevice unmounts a device's file system from a folder, waiting a little for processes that
// are about to exit. With force it is unmounted everywhere in this namespace, even if it is in use.
// Mounts are recognized by their device, so another program's mount on the same folder is not
// affected.
func unmountDevice(ctx context.Context, device, dir string, force bool) error {
	const tries = 20
	for try := 1; ; try++ {
		mounts, err := mounted()
		if err != nil {
			return err
		}

		var at *mountPoint

		// With force, all mounts of the device count, wherever they are.
		for _, m := range mountsFrom(mounts, device) {
			if m.dir == dir || force {
				at = &m // the topmost, if there are several
			}
		}

		if at == nil {
			return nil
		}

		err = at.unmountNow(mounts, force)
		var covered *coverError
		switch {
		case err == nil, errors.Is(err, unix.EINVAL): // EINVAL: no longer mounted
			// There may be another mount of the device below this one, so look again.
			try = 0
			continue
		case errors.As(err, &covered):
			return err
		case !errors.Is(err, unix.EBUSY):
			return fmt.Errorf("cannot unmount %s: %w", at.dir, err)
		case try == tries || ctx.Err() != nil:
			return &BusyError{fmt.Sprintf("%s is in use: stop the processes that use it (fuser -vm %s)", dir,
				shellword.Quote(dir))}
		}

		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond): // the kernel sends no event for this
		}
	}
}

// number returns the volume's device number in mountinfo's format.
func (v *served) number() (string, error) { return deviceNumber(v.device.Name()) }

// place finds the volume among all mounts; nil if it is not mounted on its folder.
func (v *served) place() (own *mountPoint, all []mountPoint, err error) {
	device, err := v.number()
	if err != nil {
		return nil, nil, err
	}
	if all, err = mounted(); err != nil {
		return nil, nil, err
	}
	for _, m := range mountsFrom(all, device) {
		if m.dir == v.dir {
			return &m, all, nil
		}
	}
	return nil, all, nil
}

// hidden explains why the volume cannot be used at its mount point; nil if it can.
func (v *served) hidden() error {
	own, all, err := v.place()
	switch {
	case err != nil:
		return err
	case own == nil:
		return fmt.Errorf("it is no longer mounted at %s", v.dir)
	}
	return own.cover(all)
}

// release unmounts either all volumes or none: if one is in use, covered by another mount, or also
// mounted elsewhere, those already unmounted are mounted again.
func (d *daemon) release(ctx context.Context, force bool) error {
	for _, v := range d.volumes {
		v.disk.Pace(false, nil) // write back dirty pages without delay
	}

	for i := len(d.volumes) - 1; i >= 0; i-- {
		v := d.volumes[i]
		device, err := v.number()
		if err == nil {
			err = unmountDevice(ctx, device, v.dir, force)
		}

		if err == nil {
			err = gone(ctx, device, passing)
		}

		if err != nil {
			for _, again := range d.volumes[i:] {
				err = errors.Join(err, d.remount(again))
			}
			return errors.Join(err, d.pace(d.paced))
		}
	}

	return nil
}

// How long to ignore a foreign mount of a volume. A new mount namespace (of a service or container
// that is starting) briefly has copies of all mounts. After a power loss it is worth waiting
// longer: while a copy exists, the file system that saw the power loss is still alive, read-only,
// and mounting the device again would only return that one.
const (
	passing  = 2 * time.Second
	aftercut = time.Minute
)

// gone waits until a device is not mounted anywhere. Its error explains where it still is.
func gone(ctx context.Context, device string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := stillMounted(device)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond): // the kernel sends no event for this
		}
	}
}

// remount mounts a volume again if it is not mounted.
func (d *daemon) remount(v *served) error {
	if own, _, err := v.place(); err != nil || own != nil {
		return err
	}
	return mountFileSystem(v.fs, v.device.Path(), v.dir, d.sc.Host.MountOptions)
}

// unmountAll undoes everything, even if it is in use. What cannot be undone, because others have
// mounted something on it or have it mounted elsewhere, stays recorded.
func (d *daemon) unmountAll(ctx context.Context) error {
	var errs []error
	for _, v := range d.volumes {
		v.disk.Pace(false, nil) // write back dirty pages without delay
	}

	for i := len(d.volumes) - 1; i >= 0; i-- {
		v := d.volumes[i]
		device, err := v.number()
		if err == nil && v.dir != "" {
			// An orderly unmount writes back dirty pages first; force is the fallback.
			if unmountDevice(ctx, device, v.dir, false) != nil {
				err = unmountDevice(ctx, device, v.dir, true)
			}
		}
		errs = append(errs, err, v.device.Detach(ctx))
	}

	d.volumes = nil

	// undo also removes what the steps above could not, from the record.
	undone := d.state.undo()
	if undone == nil {
		errs = nil // earlier errors do not matter: nothing is left
	}

	errs = append(errs, undone)
	if d.host != nil {
		errs = append(errs, d.host.Close())
	}

	return errors.Join(errs...)
}

// claimWithin is how long another process may keep a mount point locked: mounting takes a second or
// two.
const claimWithin = time.Minute

// claim locks a folder while something is being mounted on it, and fails if anything is already
// there. Without it, two processes that mount on the same folder would stack their mounts.
func claim(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the mount point: %w", err)
	}

	unlock = func() { _ = f.Close() }
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()

	for {
		locked := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		err := Free(dir) // after locking: the previous holder of the lock has mounted by now
		switch {
		case err != nil:
		case locked == nil:
			return unlock, nil
		case !errors.Is(locked, unix.EWOULDBLOCK) && !errors.Is(locked, unix.EINTR):
			err = fmt.Errorf("cannot lock %s: %w", dir, locked)
		}

		if err == nil {
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-ctx.Done():
				err = fmt.Errorf("the mount point %s is locked by another process (fuser -v %s): %w", dir,
					shellword.Quote(dir), ctx.Err())
			}
		}

		unlock()
		return nil, err
	}
}
