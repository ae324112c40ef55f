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

// A stamp is when each file below a folder changed last, and its size. Nobody can write to one and leave its
// time of change as it was, except within a tick of the kernel's clock (4 ms).
type stamp map[string]changed

type changed struct {
	at   syscall.Timespec
	size int64
}

func stampOf(dir string) (stamp, error) {
	out := stamp{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && path != dir { // its own name may change
			out[strings.TrimPrefix(path, dir)] = changed{st.Ctim, st.Size}
		}
		return nil
	})

	return out, err
}

// unchanged fails if anything in a folder changed since it was stamped.
func unchanged(dir string, was stamp) error {
	is, err := stampOf(dir)
	if err != nil {
		return err
	}
	for path, now := range is {
		if before, ok := was[path]; !ok || before != now {
			return fmt.Errorf("%s was written meanwhile (%s)", dir+path,
				time.Unix(now.at.Unix()).UTC().Format(time.RFC3339))
		}
	}
	if len(is) != len(was) {
		return fmt.Errorf("a file was removed from %s meanwhile", dir)
	}
	return nil
}

// startedHint is what to do when something else starts the engine.
const startedHint = "something else starts the engine, such as a supervisor or a cluster manager (Patroni, Pacemaker): pause it"

// exchange gives the engine's path what is at another, in one step, unless the engine was started while
// its log was compared: what it writes then would be in the log that it loses. was is the stamp of the log
// that was compared, in its folder now; then is where that log is after the exchange. If the engine opened
// it in the very moment, the exchange is taken back.
func (v *move) exchange(with, now, then string, was stamp) error {
	if err := errors.Join(v.free(), unchanged(now, was)); err != nil {
		return steps.Inputf(startedHint,
			"%s stays as it is, because the engine was started while its log was compared: %v", v.log, err)
	}
	v.at("before exchanging")
	if err := exchange(v.log, with); err != nil {
		return err
	}
	if err := errors.Join(v.held(then), unchanged(then, was)); err != nil {
		return errors.Join(steps.Inputf(
			startedHint, "%s is as it was, because the engine was started while it changed: %v",
			v.log, err), exchange(v.log, with))
	}
	return syncFolder(filepath.Dir(v.log))
}

// exchange swaps two names of a folder in one step.
func exchange(a, b string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// roomBack fails if the newer log does not fit beside the data, once the old one is removed.
func (v *move) roomBack() error {
	need, err := bytesOf(v.to)
	if err != nil {
		return err
	}

	free, err := freeAt(filepath.Dir(v.log))
	if err != nil {
		return err
	}

	for _, old := range []string{v.kept(), v.link(), v.back(), v.back() + partSuffix} {
		bytes, err := bytesOf(old)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		free += bytes
	}

	if free < need {
		return steps.Inputf(
			"make room there", "the log on the new volume has %s, and there is room for %s only in %s, even without the old log: it does not go back, and nothing is removed",
			units.Bytes(float64(need)), units.Bytes(float64(free)), filepath.Dir(v.log))
	}

	return nil
}

// bytesOf is the size of all files below a folder; 0 for a link.
func bytesOf(dir string) (int64, error) {
	var bytes int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir && errors.Is(err, fs.ErrNotExist) {
			return nil // the engine removed it meanwhile
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

// freeAt is how many bytes an unprivileged user may still write to a file system.
func freeAt(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}
