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

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"plimsoll/lab/disk"
	"plimsoll/units"
)

// Options say how the device looks.
type Options struct {
	// Slots is how many requests the block layer keeps in flight (nr_requests); 0: as many as the loop driver
	// does, 128.
	Slots int
	// MaxRequest is the largest request (max_sectors_kb); 0: the kernel's choice.
	MaxRequest units.Size
	// Log takes what could not be set, a line each; nil: nobody does.
	Log func(line string)
}

// A Device is a disk as the kernel has it.
type Device struct {
	loop   *loop
	server *fuse.Server
	dir    string
	undo   []setting
}

// Path is the device's node: "/dev/loop3".
func (v *Device) Path() string { return "/dev/" + v.loop.name }

// Name is the device's name in /proc/diskstats: "loop3".
func (v *Device) Name() string { return v.loop.name }

// Available tells what is missing for block devices to be made, in a sentence that says what to do; nil if nothing is.
func Available() error {
	if os.Geteuid() != 0 {
		return errors.New("emulated volumes need root, for loop devices and mounts: run it with sudo")
	}
	for path, what := range map[string]string{
		"/dev/fuse":         "the kernel's FUSE (modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN)",
		"/dev/loop-control": "the kernel's loop devices (modprobe loop; in a container: --privileged)",
	} {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("emulated volumes need %s: %w", what, err)
		}
		_ = f.Close()
	}
	return nil
}

// Attach makes a device of a disk, and measures the path to it, which takes some tenths of a second. dir is an empty
// folder of the caller's, on which the file system in user space is mounted.
func Attach(ctx context.Context, d *disk.Disk, dir string, opt Options) (*Device, error) {
	fail := func(err error) (*Device, error) { return nil, fmt.Errorf("attaching disk %s: %w", d.Name(), err) }
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	srv, err := serve(d, dir)
	if err != nil {
		return fail(err)
	}
	l, err := attachLoop(filepath.Join(dir, imageName))
	if err != nil {
		return fail(errors.Join(err, srv.Unmount()))
	}
	v := &Device{loop: l, server: srv, dir: dir}
	for _, s := range queueSettings(d, opt) {
		old, err := set(l.name, s)
		if err == nil {
			v.undo = append(v.undo, setting{s.name, old})
		} else if opt.Log != nil {
			opt.Log(fmt.Sprintf("%s: %s stays as it is: %v", l.name, s.name, err))
		}
	}
	if err := v.measurePath(d); err != nil {
		return fail(errors.Join(err, v.Detach(ctx)))
	}
	return v, nil
}

// A setting of a device's queue, /sys/block/NAME/queue/.
type setting struct{ name, value string }

func queueSettings(d *disk.Disk, opt Options) []setting {
	cache := "write through"
	if d.VolatileCache() {
		cache = "write back"
	}
	out := []setting{{"scheduler", "none"}, {"rotational", "0"}, {"write_cache", cache}}
	if opt.MaxRequest > 0 {
		out = append(out, setting{"max_sectors_kb", strconv.FormatInt(int64(opt.MaxRequest/units.KiB), 10)})
	}
	if opt.Slots > 0 {
		out = append(out, setting{"nr_requests", strconv.Itoa(opt.Slots)})
	}
	return out
}

// set writes a queue setting and gives what it was.
func set(device string, s setting) (old string, err error) {
	path := filepath.Join("/sys/block", device, "queue", s.name)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	old = strings.TrimSpace(string(text))
	if _, chosen, ok := strings.Cut(old, "["); ok { // "[none] mq-deadline"
		old, _, _ = strings.Cut(chosen, "]")
	}
	if old == s.value {
		return old, nil
	}
	return old, os.WriteFile(path, []byte(s.value), 0o644)
}

// Detach takes the device away: nobody may have it open or mounted. It may be called again after an error, and
// after a success does nothing.
func (v *Device) Detach(ctx context.Context) error {
	if v.loop != nil {
		// Settings outlive the backing file, and the number is another program's next.
		for i := len(v.undo) - 1; i >= 0; i-- {
			_, _ = set(v.loop.name, v.undo[i])
		}
		name := v.loop.name
		if err := v.loop.detach(); err != nil {
			return fmt.Errorf("detaching %s: %w", name, err)
		}
		within := 5 * time.Second
		if end, ok := ctx.Deadline(); ok {
			within = min(within, time.Until(end))
		}
		if !cleared(name, within) {
			return fmt.Errorf("detaching %s: somebody still has it open or mounted; it goes when they close it", name)
		}
		v.loop = nil
	}
	if v.server != nil {
		if err := v.server.Unmount(); err != nil {
			return fmt.Errorf("unmounting %s: %w", v.dir, err)
		}
		v.server = nil
	}
	return nil
}

// Reap undoes what a process that died has left: the loop device by that name, if its backing file is
// below dir, and the mount on dir. What is not there is fine.
func Reap(dir, device string) error {
	var errs []error
	if device != "" && strings.HasPrefix(backing(device), dir+"/") {
		dev, err := os.OpenFile("/dev/"+device, os.O_RDWR|unix.O_CLOEXEC, 0)
		if err == nil {
			err = (&loop{dev: dev, name: device}).detach()
		}
		errs = append(errs, err)
		cleared(device, time.Second)
	}
	err := unix.Unmount(dir, unix.MNT_DETACH)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // not mounted
		err = nil
	}
	return errors.Join(append(errs, err)...)
}
