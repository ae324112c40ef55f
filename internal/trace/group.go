//go:build linux

package trace

import (
	"fmt"
	"os"

	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/target"
)

// add adds events to the window, and looks up the names and cgroups of the processes in them.
func (s *session) add(batch *events.Batch) {
	for i := range batch.Requests {
		s.group(batch.Requests[i].Task, batch)
	}

	for i := range batch.Calls {
		s.group(batch.Calls[i].Task, batch)
	}

	for i := range batch.Handles {
		s.group(batch.Handles[i].Task, batch)
	}

	for i := range batch.Waits {
		s.group(batch.Waits[i].Waker, batch) // it may have held a lock
	}

	// The loop appends to b.Files, so it iterates over a copy of the slice header.
	for _, f := range batch.Files[:len(batch.Files):len(batch.Files)] {
		if f.Dirtied && f.Group == "" {
			s.group(f.Task, batch)
		}
	}

	s.below(batch)
	s.window.Add(batch)

	for i := range batch.Calls {
		s.noticeForeign(batch.Calls[i].File.Dev)
	}

	s.pending = append(s.pending, batch.Calls...)
	if !s.opt.Keep || s.header.Cut {
		return
	}

	if s.keep.Len()+batch.Len() > events.EventsMax {
		s.header.Cut = true
		return
	}

	kept := *batch
	kept.Calls = nil // explain keeps the calls that it reports
	s.keep.Append(&kept)
}

// below replaces files on an overlay by the same files on the underlying file system, where the
// requests and commits are. They keep their names on the overlay.
func (s *session) below(b *events.Batch) {
	for i := range b.Files {
		f := &b.Files[i]
		if m := s.header.Mount(f.ID.Dev); m != nil && m.Below != 0 {
			f.Path, f.ID.Dev = m.Name(f.Names), m.Below
		}
	}
	for i := range b.Calls {
		if m := s.header.Mount(b.Calls[i].File.Dev); m != nil && m.Below != 0 {
			b.Calls[i].File.Dev = m.Below
		}
	}
}

// noticeForeign requests a scan of the target if a call was on an unknown file system.
func (s *session) noticeForeign(dev uint32) {
	if dev == 0 || s.foreign[dev] || s.header.Mount(dev) != nil || len(s.foreign) >= groupsMax {
		return
	}
	s.foreign[dev], s.since[dev] = true, unwatched
	request(s.rescanAll)
}

// group adds the name and cgroup of a process that was not seen before.
func (s *session) group(t events.Task, b *events.Batch) {
	if t.PID == 0 || s.groups[t.PID] || len(s.groups) >= groupsMax {
		return
	}
	s.groups[t.PID] = true
	first := events.Task{PID: t.PID, TID: t.PID, Comm: target.Name(t.PID)}
	if g := target.Group(t.PID); g != "" || first.Comm != "" {
		b.Files = append(b.Files, events.File{Task: first, Group: g})
	}
}

// groupsMax bounds the processes whose cgroups are looked up.
const groupsMax = 10_000

// backgroundMax bounds the processes whose command lines are remembered.
const backgroundMax = 10_000

// isBackground reports whether no client waits for a process.
func (s *session) isBackground(pid uint32) bool {
	if s.opt.Background == nil {
		return false
	}

	is, known := s.background[pid]
	if !known {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		is = err == nil && s.opt.Background(string(line))
		if len(s.background) < backgroundMax {
			s.background[pid] = is
			// A saved trace is read when the process may no longer exist.
			if is {
				s.header.Background = append(s.header.Background, pid)
			}
		}
	}

	return is
}
