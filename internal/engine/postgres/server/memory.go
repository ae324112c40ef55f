//go:build linux

package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/lab/process"
)

// mapsBytesMax bounds the size of /proc/PID/maps: the server maps a few hundred libraries and
// segments.
const mapsBytesMax = 1 << 20

// memory is the shared memory of a server. A power loss clears it; a kill does not.
type memory struct {
	segments []int    // of System V
	files    []string // in /dev/shm
}

// memoryOf finds the named shared memory of a server's processes (proc_pid_maps(5): the inode of a
// System V segment is its id). The postmaster does not map all of it: statistics are in a segment
// that only its children map.
func memoryOf(p *process.Process) (memory, error) {
	var m memory
	family, err := p.Family()
	if err != nil {
		return m, err
	}

	for _, pid := range family {
		f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/maps")
		if err != nil {
			continue // the process has ended
		}
		one, err := parseMaps(io.LimitReader(f, mapsBytesMax))
		_ = f.Close()
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it ended while its maps were read
			return m, err
		}
		m.segments, m.files = append(m.segments, one.segments...), append(m.files, one.files...)
	}

	slices.Sort(m.segments)
	slices.Sort(m.files)
	m.segments, m.files = slices.Compact(m.segments), slices.Compact(m.files)

	return m, nil
}

func parseMaps(r io.Reader) (memory, error) {
	var m memory
	seen := map[string]bool{}

	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text()) // address, permissions, offset, device, inode, path
		// A process maps one segment several times, and all of the server's processes map it.
		if len(f) < 6 || seen[f[5]+f[4]] {
			continue
		}

		switch {
		case strings.HasPrefix(f[5], "/SYSV"):
			id, err := strconv.Atoi(f[4])
			if err != nil {
				return m, fmt.Errorf("shared memory %s: %w", f[5], err)
			}
			m.segments = append(m.segments, id)
		case strings.HasPrefix(f[5], "/dev/shm/PostgreSQL."):
			m.files = append(m.files, f[5])
		default:
			continue
		}

		seen[f[5]+f[4]] = true
	}

	return m, lines.Err()
}

// remove deletes the shared memory.
func (m *memory) remove() error {
	var errs []error
	for _, id := range m.segments {
		if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil && !errors.Is(err, unix.EINVAL) &&
			!errors.Is(err, unix.EIDRM) {
			errs = append(errs, fmt.Errorf("shared memory %d: %w", id, err))
		}
	}
	for _, path := range m.files {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	*m = memory{}
	return errors.Join(errs...)
}
