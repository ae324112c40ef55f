//go:build linux

package blockdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
)

// Options configure the device.
type Options struct {
	// Slots is the number of requests that the block layer keeps in flight (nr_requests); 0: 128,
	// the loop driver's default.
	Slots int
	// MaxRequest is the largest request (max_sectors_kb); 0: the kernel's choice.
	MaxRequest units.Size
	// Scheduler is the queue's I/O scheduler; "": none, the default of NVMe devices.
	Scheduler string
	// WbtLatUsec is the latency target of writeback throttling in microseconds; 0: off. It is
	// always set, because a loop device keeps its last user's setting.
	WbtLatUsec int
	// Log receives one line for each setting that the kernel rejected; may be nil.
	Log func(line string)
}

// A Device is a disk exposed as a kernel block device.
type Device struct {
	loop   *loop
	server *fuse.Server
	dir    string
	under  *os.Root // the folder dir itself, hidden by the mount
	undo   []setting
}

// Path returns the device node: "/dev/loop3".
func (v *Device) Path() string { return "/dev/" + v.loop.name }

// Name returns the device's name in /proc/diskstats: "loop3".
func (v *Device) Name() string { return v.loop.name }

// Attach makes a device of a disk and measures the path to it, which takes a few tenths of a
// second. dir is an empty folder owned by the caller, on which the FUSE file system is mounted.
func Attach(ctx context.Context, d *disk.Disk, dir string, opt Options) (*Device, error) {
	fail := func(err error) (*Device, error) {
		return nil, fmt.Errorf("cannot attach disk %s: %w", d.Name(), err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}

	// Open the folder now: the mount is going to hide it, and the undo file belongs below the mount.
	under, err := os.OpenRoot(dir)
	if err != nil {
		return fail(err)
	}

	srv, err := serve(d, dir)
	if err != nil {
		return fail(errors.Join(err, under.Close()))
	}

	l, err := attachLoop(filepath.Join(dir, imageName))
	if err != nil {
		return fail(errors.Join(err, srv.Unmount(), under.Close()))
	}

	// From here on, Detach undoes everything.
	v := &Device{loop: l, server: srv, dir: dir, under: under}
	if err := errors.Join(v.setQueue(queueSettings(d, opt), opt.Log),
		unbound(filepath.Join("/sys/block", l.name))); err != nil {
		return fail(errors.Join(err, v.Detach(ctx)))
	}

	if err := v.measurePath(d); err != nil {
		return fail(errors.Join(err, v.Detach(ctx)))
	}

	return v, nil
}

// Detach removes the device, which must not be open or mounted. It may be called again after an
// error; after a success it does nothing.
func (v *Device) Detach(ctx context.Context) error {
	if v.loop != nil {
		// Settings outlive the backing file, and another program may get the same number next.
		restore(v.loop.name, v.undo)
		name := v.loop.name
		if err := v.loop.detach(); err != nil {
			return fmt.Errorf("cannot detach %s: %w", name, err)
		}
		if !cleared(ctx, name, 5*time.Second) {
			return fmt.Errorf("cannot detach %s: it is still open or mounted; it disappears once it is closed", name)
		}
		v.loop = nil
	}

	if v.server != nil {
		if err := v.server.Unmount(); err != nil {
			return fmt.Errorf("cannot unmount %s: %w", v.dir, err)
		}
		v.server = nil
		if err := v.under.Remove(undoName); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return v.under.Close()
	}

	return nil
}

// Reap cleans up after a dead process: it removes the loop device with that name if it was created
// for dir ([Owns]) and the mount on dir, and restores the device's settings unless another program
// has the device by now. Anything that is already gone is skipped. It fails if the device is still
// open or mounted.
func Reap(dir, device string) error {
	errs := []error{Abort(dir)} // first, because everything below may wait for it
	held := false
	if Owns(device, dir) {
		dev, err := os.OpenFile("/dev/"+device, os.O_RDWR|unix.O_CLOEXEC, 0)
		if err == nil {
			err = (&loop{dev: dev, name: device}).detach()
		}
		errs = append(errs, err)
		if held = !cleared(context.Background(), device, time.Second) && Owns(device, dir); held {
			errs = append(errs, fmt.Errorf("/dev/%s is still open: stop the processes that use it (fuser -v /dev/%s)",
				device, device))
		}
	}

	// Lazy, because the loop device may still hold the image open.
	err := unix.Unmount(dir, unix.MNT_DETACH)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // not mounted
		err = nil
	}

	errs = append(errs, err)
	if err == nil && !held {
		errs = append(errs, restoreLeft(dir, device))
	}

	return errors.Join(errs...)
}
