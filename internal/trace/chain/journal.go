package chain

import (
	"cmp"
	"slices"
	"time"

	"plimsoll/internal/trace/events"
)

// commitsIn returns a file system's commits that overlap an interval, by their start.
func (w *Window) commitsIn(fs uint32, from, to int64) []events.Commit {
	var out []events.Commit
	for _, c := range w.commit[fs] {
		if c.End > from && c.Start < to {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b events.Commit) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// commits explains a wait for ext4's journal by what the journal's thread did.
func (e *explainer) commits(from, to int64, depth int) {
	all := e.w.commitsIn(e.call.File.Dev, from, to)
	at := from
	for i := range all {
		c := &all[i]
		before := JournalWait
		if c.Start > at {
			e.put(at, min(c.Start, to), before, Submission)
			at = min(c.Start, to)
		}
		// A commit that ended before the wait did was not the one the call needed.
		earlier := i < len(all)-1 && c.End < to-slackNs && all[i+1].Start < to
		at = e.commitPhases(c, at, min(c.End, to), earlier, depth)
	}

	if len(all) == 0 {
		e.unexplained(at, to, JournalWait, nil)
		return
	}

	if to > at {
		e.put(at, to, JournalEnd, Completion)
	}
}

// commitPhases explains the part of an interval that a commit covers and returns where it ended.
// Until the commit starts flushing, it waits for open handles; after that, for its own writes.
func (e *explainer) commitPhases(c *events.Commit, from, to int64, earlier bool, depth int) int64 {
	place := func(p Place) Place {
		if earlier {
			return JournalPrev
		}
		return p
	}

	at := from
	if locked := min(c.Flushing, to); c.Flushing > 0 && locked > at {
		// The journal thread's own waits are more precise than the list of handles.
		if !e.through(c.TID, 0, at, locked, place(JournalLock), depth) {
			e.handles(at, locked, place(JournalLock))
		}
		at = locked
	}

	if to > at {
		e.thread(c.TID, at, to, place(JournalLog), depth+1)
		at = to
	}

	return at
}

// handles explains a wait for open handles by the one that was open longest.
func (e *explainer) handles(from, to int64, p Place) {
	var worst *events.Handle
	for i := range e.w.handle {
		h := &e.w.handle[i]
		// Only handles that closed during the wait, or shortly after it, can have delayed the
		// commit.
		if h.Dev != e.call.File.Dev || h.End <= from || h.End > to+int64(10*time.Millisecond) {
			continue
		}
		if worst == nil || h.Jiffies > worst.Jiffies {
			worst = h
		}
	}

	if worst == nil {
		e.put(from, to, p, HandleWait)
		return
	}

	e.put(from, to, p, HandleWait,
		Share{Culprit: Culprit{Comm: worst.Comm, PID: worst.PID, TID: worst.TID, Why: WhyHandle,
			Cgroup: e.w.groups[worst.PID]}})
}

// change explains why ext4's journal did not accept the call's change: a commit holds the
// transaction or the block, or there is no space.
func (e *explainer) change(c class, x *events.Wait, from, to int64, depth int) {
	place := JournalBegin
	if c == journalFull {
		place = JournalFull
	}

	if len(e.w.commitsIn(e.call.File.Dev, from, to)) == 0 {
		// A commit is recorded only when it ends, which may be long after the block was written.
		if slices.Contains(x.Stack, "do_get_write_access") {
			e.request(x, from, to, place, func(r *events.Request) bool { return isJournal(r) && !r.Flush() }, depth)
			return
		}
		e.worker(x, from, to, place, depth)
		return
	}

	// The commit's phases explain the time, but the call's place is its own handle, not the commit.
	n := len(e.out)
	e.commits(from, to, depth)

	for i := range e.out[n:] {
		e.out[n+i].Place = place
	}
}
