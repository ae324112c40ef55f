//go:build linux

package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/base/units"
)

// A stamp holds the last change time and size of each file below a folder. A process cannot write to a
// file without updating its ctime, except within one tick of the kernel's clock (4 ms).
type stamp map[string]changed

type changed struct {
	at   syscall.Timespec
	size int64
}

func stampOf(dir string) (stamp, error) {
	out := stamp{}
	err := walk(dir, func(path string, info fs.FileInfo) error {
		// the rollout renames the folder itself, which changes its ctime
		if st, ok := info.Sys().(*syscall.Stat_t); ok && path != dir {
			out[strings.TrimPrefix(path, dir)] = changed{st.Ctim, st.Size}
		}

		return nil
	})

	return out, err
}

// unchanged fails if anything in a folder changed since its stamp.
func unchanged(dir string, was stamp) error {
	is, err := stampOf(dir)
	if err != nil {
		return err
	}
	for path, now := range is {
		if before, ok := was[path]; !ok || before != now {
			return fmt.Errorf("%s was written in the meantime (%s)", dir+path,
				time.Unix(now.at.Unix()).UTC().Format(time.RFC3339))
		}
	}
	if len(is) != len(was) {
		return fmt.Errorf("a file was removed from %s in the meantime", dir)
	}
	return nil
}

// startedHint is the hint for when something else starts the engine.
const startedHint = "something else starts the engine, for example a supervisor or a cluster manager (Patroni, Pacemaker): pause it"

// exchange atomically swaps the engine's path with another one, unless the engine was started while its log
// was being compared, because writes since then would be in the log that is replaced. The compared log is at
// now, with the stamp was; after the exchange it is at then. Nothing can lock out an engine that starts right
// before the system call, so exchange checks again afterwards and swaps back if needed.
func (v *move) exchange(with, now, then string, was stamp) error {
	if err := errors.Join(v.free(), unchanged(now, was)); err != nil {
		return steps.Inputf(startedHint,
			"%s was not changed, because the engine was started while its log was being compared: %v", v.log, err)
	}
	v.at("before exchanging")
	if err := exchange(v.log, with); err != nil {
		return err
	}
	if err := errors.Join(v.held(then), unchanged(then, was)); err != nil {
		return errors.Join(steps.Inputf(
			startedHint, "%s was changed back, because the engine was started during the change: %v",
			v.log, err), exchange(v.log, with))
	}
	return syncFolder(filepath.Dir(v.log))
}

// exchange swaps two names atomically.
func exchange(a, b string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// roomBack fails if the newer log does not fit into the data folder's file system after the old log is
// removed.
func (v *move) roomBack() error {
	need, err := bytesOf(v.to)
	if err != nil {
		return err
	}

	free, err := freeAt(filepath.Dir(v.log))
	if err != nil {
		return err
	}

	// swapBack removes these before it copies the log back.
	for _, old := range []string{v.kept(), v.link(), v.back(), v.back() + partSuffix} {
		bytes, err := bytesOf(old)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		free += bytes
	}

	if free < need {
		return steps.Inputf(
			"make room there", "the log on the new volume has %s, but only %s are available in %s even without the old log: the log was not moved back, and nothing was removed",
			units.Bytes(float64(need)), units.Bytes(float64(free)), filepath.Dir(v.log))
	}

	return nil
}

// bytesOf returns the total size of the files below a folder; 0 for a link.
func bytesOf(dir string) (int64, error) {
	var bytes int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir && errors.Is(err, fs.ErrNotExist) {
			return nil // the engine removed it in the meantime
		}
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, err
}

// freeAt returns the bytes available to unprivileged users on a file system.
func freeAt(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}
