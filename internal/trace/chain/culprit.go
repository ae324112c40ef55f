package chain

import (
	"strings"

	"plimsoll/internal/trace/events"
)

// owner returns who is responsible for a request, as seen from a call.
func (w *Window) owner(r *events.Request, call *events.Call) Culprit {
	same := r.PID == call.PID
	switch {
	// The thread that submits a write of cached pages is often not the one that dirtied them.
	case r.File.Inode != 0 && r.Op() == events.OpWrite:
		return w.writer(r, call)
	case r.Op() == events.OpRead:
		if same && (r.File == call.File || r.TID == call.TID) {
			return Culprit{Self: true, Why: WhyRead}
		}
		return Culprit{Comm: r.Comm, PID: r.PID, File: w.names[r.File], Why: WhyRead, Cgroup: w.groups[r.PID]}
	case r.Op() == events.OpDiscard:
		return Culprit{Comm: r.Comm, PID: r.PID, Why: WhyDiscard}
	// Journal and log blocks collect the changes of all processes, so no single one is responsible.
	case isJournal(r):
		return Culprit{Comm: r.Comm, Why: WhyJournal}
	case isLog(r):
		return Culprit{Comm: "xfs", Why: WhyLog}
	case r.Flush():
		if same && r.TID == call.TID {
			return Culprit{Self: true, Why: WhyFlush}
		}
		return Culprit{Why: WhyFlush}
	case r.Metadata || r.Kernel || r.Flags&events.FlagMeta != 0:
		return Culprit{Comm: kernelName(r.Comm), Why: WhyMetadata}
	case same && r.TID == call.TID:
		return Culprit{Self: true, Why: WhyDirect}
	}

	return Culprit{Comm: r.Comm, PID: r.PID, Why: WhyDirect, Cgroup: w.groups[r.PID]}
}

// kernelName strips the worker's CPU and number from a kernel thread's name, so that the many
// kworkers count as one.
func kernelName(comm string) string {
	if strings.HasPrefix(comm, "kworker/") {
		return "kernel"
	}
	return comm
}

// writer returns who dirtied the pages of a request.
func (w *Window) writer(r *events.Request, call *events.Call) Culprit {
	c := Culprit{File: w.names[r.File], Why: whyOf(r)}
	if c.File == "" {
		c.Inode = r.File.Inode
	}

	if r.File == call.File {
		c.Self = true
	}

	// The submitting process is the best guess until a process that dirtied the file is known.
	if !r.Kernel {
		c.Comm, c.PID = r.Comm, r.PID
	}

	if u := w.user(r.File, r.First); u != nil {
		c.Comm, c.PID = u.Comm, u.PID
	}

	if c.PID == 0 && c.Comm == "" {
		c.Comm = kernelName(r.Comm)
	}

	c.Cgroup = w.groups[c.PID]
	return c
}

// user returns the process that last wrote a file before a time, or the first one after it if there
// is none; nil if no writer was seen.
func (w *Window) user(id events.FileID, before int64) *events.File {
	var best *events.File
	users := w.users[id]
	for i := range users {
		u := &users[i]
		if best == nil || (u.At <= before) && (best.At > before || u.At > best.At) {
			best = u
		}
	}
	return best
}

func whyOf(r *events.Request) Why {
	switch r.Reason {
	case events.Background:
		return WhyBackground
	case events.Periodic:
		return WhyPeriodic
	case events.SyncAll:
		return WhySyncAll
	case events.VMScan, events.Foreign:
		return WhyReclaim
	case events.NoReason:
	default:
		return WhyOtherFlush
	}

	// Without a flusher reason, either the journal wrote the data before its commit, or a process
	// synced it.
	switch {
	case isJournal(r):
		return WhyJournal
	case r.Kernel:
		return WhyOtherFlush
	}

	return WhyFsync
}
