//go:build linux

package blockdev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A loop is a loop device, with the descriptor that keeps it alive: it clears itself once it is
// neither open nor mounted.
type loop struct {
	dev  *os.File
	name string // "loop3"
}

// attachTries bounds the retries if other programs take the free loop device first.
const attachTries = 64

// attachLoop sets up a loop device with direct I/O over a file.
func attachLoop(file string) (*loop, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}

	defer control.Close()
	backing, err := os.OpenFile(file, os.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}

	defer backing.Close()
	for range attachTries {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("no free loop device: %w", err)
		}

		l := &loop{name: "loop" + strconv.Itoa(n)}
		if l.dev, err = openDevice("/dev/"+l.name, n); err != nil {
			return nil, err
		}

		// AUTOCLEAR removes the device even if this process is killed. LOOP_CONFIGURE sets up
		// everything in a single step, so no other program sees a half-configured device.
		cfg := unix.LoopConfig{Fd: uint32(backing.Fd()), Size: 512}
		cfg.Info.Flags = unix.LO_FLAGS_DIRECT_IO | unix.LO_FLAGS_AUTOCLEAR
		copy(cfg.Info.File_name[:], label(file))

		err = unix.IoctlLoopConfigure(int(l.dev.Fd()), &cfg)
		if err == nil {
			return l, nil
		}

		_ = l.dev.Close()
		if !errors.Is(err, unix.EBUSY) { // EBUSY: another program took it first
			return nil, fmt.Errorf("cannot set up %s: %w", l.name, err)
		}
	}

	return nil, errors.New("no free loop device: other processes took each one first")
}

// openDevice opens a loop device, creating its node if udev has not.
func openDevice(path string, number int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	const major = 7 // LOOP_MAJOR
	if err := unix.Mknod(path, unix.S_IFBLK|0o660, int(unix.Mkdev(major, uint32(number)))); err != nil &&
		!errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("cannot create %s: %w", path, err)
	}
	return os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC, 0)
}

// detach clears the device: immediately if it is not open elsewhere, otherwise when its last user
// closes it. A second call does nothing.
func (l *loop) detach() error {
	if l.dev == nil {
		return nil
	}
	err := unix.IoctlSetInt(int(l.dev.Fd()), unix.LOOP_CLR_FD, 0)
	if errors.Is(err, unix.ENXIO) { // it is already cleared
		err = nil
	}
	err = errors.Join(err, l.dev.Close())
	l.dev = nil
	return err
}

// backing returns the file below a loop device; "" if there is none.
func backing(name string) string {
	text, err := os.ReadFile(filepath.Join("/sys/block", name, "loop/backing_file"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// label returns the name stored in the device: the file's path, or its end if it is too long.
func label(file string) string {
	const most = unix.LO_NAME_SIZE - 1 // it is NUL-terminated
	return file[max(0, len(file)-most):]
}

// Owns reports whether a loop device was created for dir, by this or another process. Sysfs no
// longer shows the path once the file system on dir has been unmounted, or if it is in another
// mount namespace, but the device's label still does.
func Owns(device, dir string) bool {
	file := backing(device)
	if device == "" || file == "" {
		return false
	}
	if strings.HasPrefix(file, dir+"/") {
		return true
	}
	name, err := labelOf(device)
	return err == nil && name == label(filepath.Join(dir, imageName))
}

// labelOf reads a device's label.
func labelOf(device string) (string, error) {
	dev, err := os.OpenFile("/dev/"+device, os.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer dev.Close()
	info, err := unix.IoctlLoopGetStatus64(int(dev.Fd()))
	if err != nil {
		return "", err
	}
	return unix.ByteSliceToString(info.File_name[:]), nil
}

// Made returns the loop devices that were created for folders two levels below root, with their
// folders.
func Made(root string) map[string]string {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file") // its only error is a bad pattern
	out := map[string]string{}
	for _, f := range files {
		device := strings.Split(f, "/")[3]
		name, err := labelOf(device)
		if err != nil {
			continue
		}

		parts := strings.Split(name, "/")
		if len(parts) < 3 {
			continue
		}

		// A long label has lost its beginning, so the path is rebuilt from its last three elements
		// and compared again.
		file := filepath.Join(append([]string{root}, parts[len(parts)-3:]...)...)
		if filepath.Base(file) == imageName && label(file) == name {
			out[device] = filepath.Dir(file)
		}
	}

	return out
}

// cleared waits until a device has no backing file; it returns false if that takes too long.
func cleared(ctx context.Context, name string, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for backing(name) != "" {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond): // the kernel sends no event for this
		}
	}
	return true
}

// Open reports whether any process has a loop device open, as the process that serves it does.
func Open(device string) bool {
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*") // its only error is a bad pattern
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && to == "/dev/"+device {
			return true
		}
	}
	return false
}
