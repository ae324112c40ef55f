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

// A file identifies a file on this machine independently of its path.
type file struct{ dev, ino uint64 }

// A process is a process on this machine.
type process struct {
	pid  int
	name string
}

func (p process) String() string { return fmt.Sprintf("%s (process %d)", p.name, p.pid) }

// holders returns the processes that have a file in one of the folders open, or have their working
// directory there.
func holders(dirs ...string) ([]string, error) {
	found, err := processes(dirs...)
	var out []string
	for _, p := range found {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return out, err
}

// processes returns the processes that have a file in one of the folders open, or have their working
// directory there. Only root sees the files of other users' processes.
func processes(dirs ...string) ([]process, error) {
	files := map[file]bool{}
	for _, dir := range dirs {
		// WalkDir does not follow a link at its root.
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real // the data folder may be a link
		}

		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil // a file that the engine removed in the meantime
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
		return nil, fmt.Errorf("cannot list processes: %w", err)
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
	if entries, err := os.ReadDir(open); err == nil { // the process may have ended
		for _, e := range entries {
			paths = append(paths, filepath.Join(open, e.Name()))
		}
	}
	// Compare device and inode, not paths: processes may see the file under another path, in a
	// container for example.
	return slices.ContainsFunc(paths, func(path string) bool {
		var st syscall.Stat_t
		return syscall.Stat(path, &st) == nil && files[file{st.Dev, st.Ino}]
	})
}

// Holders returns the processes, by name and id, that have a file in one of the folders open, or have
// their working directory there.
func Holders(dirs ...string) ([]string, error) { return holders(dirs...) }
