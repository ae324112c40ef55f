//go:build linux

package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"plimsoll/internal/base/procfs"
)

// A file is one on this machine, whatever path it is seen under.
type file struct{ dev, ino uint64 }

// A process is one on this machine.
type process struct {
	pid  int
	name string
}

func (p process) String() string { return fmt.Sprintf("%s (process %d)", p.name, p.pid) }

// holders are the processes that have a file of some folders open, or work in one.
func holders(dirs ...string) ([]string, error) {
	found, err := processes(dirs...)
	var out []string
	for _, p := range found {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return out, err
}

// processes are those that have a file of some folders open, or work in one. Processes of other users
// are seen only by root.
func processes(dirs ...string) ([]process, error) {
	files := map[file]bool{}
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real // the data folder may be a link
		}

		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil // a file that the engine removed meanwhile
				}
				return err
			}

			if info, err := d.Info(); err == nil && len(files) < entriesMax {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					files[file{st.Dev, st.Ino}] = true
				}
			}

			return nil
		})
		if err != nil {
			return nil, err
		}
	}

	pids, err := procfs.PIDs("/proc")
	if err != nil {
		return nil, fmt.Errorf("the processes of this machine: %w", err)
	}

	var out []process
	for _, pid := range pids {
		if pid != os.Getpid() && holds(pid, files) {
			out = append(out, process{pid, procfs.Comm(pid)})
		}
	}

	return out, nil
}

func holds(pid int, files map[file]bool) bool {
	open := fmt.Sprintf("/proc/%d/fd", pid)
	paths := []string{fmt.Sprintf("/proc/%d/cwd", pid)}
	if entries, err := os.ReadDir(open); err == nil { // it may have ended
		for _, e := range entries {
			paths = append(paths, filepath.Join(open, e.Name()))
		}
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		var st syscall.Stat_t
		return syscall.Stat(path, &st) == nil && files[file{st.Dev, st.Ino}]
	})
}

// Holders are the processes that have a file of some folders open, or work in one, each with its
// name and id.
func Holders(dirs ...string) ([]string, error) { return holders(dirs...) }
