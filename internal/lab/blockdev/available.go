//go:build linux

package blockdev

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Available returns an error with advice if block devices cannot be created here.
func Available() error {
	if os.Geteuid() != 0 {
		return errors.New("emulated volumes need root, for loop devices and mounts: run it with sudo")
	}

	if err := privileged(); err != nil {
		return err
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

// privileged reports whether the kernel treats this process as the machine's root: in a container
// or a user namespace, uid 0 is not enough.
func privileged() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err == nil && caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return errors.New("emulated volumes need permission to mount (CAP_SYS_ADMIN): in a container, run it with --privileged")
	}
	// In the machine's own namespace every uid maps to itself.
	text, err := os.ReadFile("/proc/self/uid_map")
	if f := strings.Fields(string(text)); err == nil &&
		(len(f) != 3 || f[0] != "0" || f[1] != "0" || f[2] != "4294967295") {
		return errors.New("emulated volumes need root on the host, but this is root in a user namespace: run it outside of it, with sudo")
	}
	return nil
}
