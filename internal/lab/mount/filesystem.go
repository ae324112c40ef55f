//go:build linux

package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/model/kernel"
)

// fileSystems holds each file system's tool and options. Initialization that mkfs would leave to
// the kernel to do later in the background (ext4's inode tables) is skipped altogether, because it
// would compete with the measured load.
var fileSystems = map[string]struct {
	program, debian string
	args            []string
	options         string
}{
	"ext4": {"mkfs.ext4", "e2fsprogs",
		[]string{"-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"}, "noinit_itable"},
	"xfs": {"mkfs.xfs", "xfsprogs", []string{"-q", "-f", "-K"}, ""},
}

func makeFileSystem(ctx context.Context, fs, device string) error {
	f, ok := fileSystems[fs]
	if !ok {
		return fmt.Errorf("file system %q: want ext4 or xfs", fs)
	}
	program, err := exec.LookPath(f.program)
	if err != nil {
		return fmt.Errorf("%s is not installed: apt-get install %s, or use the other of ext4 and xfs",
			f.program, f.debian)
	}
	out, err := exec.CommandContext(ctx, program, append(f.args, device)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", f.program, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// flags are the mount options that mount(2) takes as flags instead of as file system options.
var flags = map[string]uintptr{
	"noatime": unix.MS_NOATIME, "relatime": unix.MS_RELATIME, "strictatime": unix.MS_STRICTATIME,
	"nodiratime": unix.MS_NODIRATIME,
	"lazytime":   unix.MS_LAZYTIME, "sync": unix.MS_SYNCHRONOUS, "dirsync": unix.MS_DIRSYNC,
}

func mountFileSystem(fs, device, dir string, options kernel.MountOptions) error {
	var set uintptr
	var own []string
	if usual := fileSystems[fs].options; usual != "" {
		own = append(own, usual)
	}

	for _, option := range options.List() {
		if flag, ok := flags[option]; ok {
			set |= flag
		} else {
			own = append(own, option)
		}
	}

	if err := unix.Mount(device, dir, fs, set, strings.Join(own, ",")); err != nil {
		if options != "" && errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("cannot mount %s (%s) on %s: the kernel rejects the mount options %s", device, fs,
				dir, options)
		}
		return fmt.Errorf("cannot mount %s (%s) on %s: %w", device, fs, dir, err)
	}

	return os.Chmod(dir, 0o777) // the database does not run as root
}
