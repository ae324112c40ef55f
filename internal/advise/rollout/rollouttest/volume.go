//go:build linux

package rollouttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/advise/rollout"
)

// volumeBytes is the size of a volume. A mongod's journal needs 300 MB, and twice that while it moves. The
// image is sparse.
const volumeBytes = 2 << 30

// Volume creates a file system on a new loop device and mounts it. Without root or loop devices, it
// creates a plain folder and returns false for real. All users may enter the folder.
func Volume(t *testing.T, dir, name, fs string) (path string, real bool) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}

	if os.Geteuid() != 0 {
		return path, false
	}

	image := path + ".image"
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}

	if err := errors.Join(f.Truncate(volumeBytes), f.Close()); err != nil {
		t.Fatal(err)
	}

	device, err := output("losetup", "--show", "-f", image)
	if err != nil {
		t.Logf("plain folders: %v", err)
		return path, false
	}

	t.Cleanup(func() {
		if out, err := output("losetup", "-d", device); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	for _, command := range [][]string{{"mkfs." + fs, "-q", device}, {"mount", device, path}} {
		if out, err := output(command[0], command[1:]...); err != nil {
			t.Skipf("%s: %v: %s", command[0], err, out)
		}
	}

	t.Cleanup(func() {
		if out, err := output("umount", path); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}

	return path, true
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Unused waits until no process uses a folder, so that it can be unmounted.
func Unused(dir string) error {
	const within = 30 * time.Second
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()

	end := time.After(within)
	for {
		who, err := rollout.Holders(dir)
		if err != nil || len(who) == 0 {
			return err
		}
		select {
		case <-poll.C:
		case <-end:
			return fmt.Errorf("%s is still used by %q", dir, who)
		}
	}
}
