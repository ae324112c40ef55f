//go:build linux

package process

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
)

// A member is a descendant of a process, identified by a descriptor, because PIDs are reused.
type member struct {
	pid int
	fd  int
}

// Family returns the PIDs of a process and its current descendants.
func (p *Process) Family() ([]int, error) {
	children, err := parents("/proc")
	if err != nil {
		return nil, err
	}
	family := []int{p.PID()}
	for i := 0; i < len(family); i++ {
		family = append(family, children[family[i]]...)
	}
	return family, nil
}

// descendants finds all descendants of a process, which must be stopped.
func descendants(of int) ([]member, error) {
	children, err := parents("/proc")
	if err != nil {
		return nil, err
	}

	var out []member
	for next := []int{of}; len(next) > 0; next = next[1:] {
		for _, pid := range children[next[0]] {
			next = append(next, pid)
			// The parent is stopped, so it cannot reap this child and free its PID before the
			// descriptor is open.
			fd, err := unix.PidfdOpen(pid, 0)
			if errors.Is(err, unix.ESRCH) {
				continue
			}
			if err != nil {
				return out, fmt.Errorf("process %d: %w", pid, err)
			}
			out = append(out, member{pid, fd})
		}
	}

	return out, nil
}

// parents maps each process to its children.
func parents(proc string) (map[int][]int, error) {
	pids, err := procfs.PIDs(proc)
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, pid := range pids {
		if p, err := procfs.ProcessOf(proc, pid); err == nil { // otherwise it has exited
			children[p.Parent] = append(children[p.Parent], pid)
		}
	}
	return children, nil
}

func (m member) kill() error {
	err := unix.PidfdSendSignal(m.fd, unix.SIGKILL, nil, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", m.pid, err)
	}
	return nil
}

// wait waits until the process has exited, and closes the descriptor.
func (m member) wait(most time.Duration) error {
	defer unix.Close(m.fd)
	end := time.Now().Add(most)
	for {
		fds := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(max(time.Until(end), 0).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("process %d: %w", m.pid, err)
		case n == 0:
			return fmt.Errorf("process %d still exists %v after it was killed", m.pid, most)
		}
		return nil
	}
}
