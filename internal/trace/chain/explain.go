package chain

import (
	"cmp"
	"strings"

	"plimsoll/internal/trace/events"
)

// Explain splits a call into segments. All events up to its end must have been added.
func (w *Window) Explain(c *events.Call) Chain {
	e := &explainer{w: w, call: c}
	e.thread(c.TID, c.Enter, c.Exit, InCall, 0)
	segments := merge(e.out)
	// The kernel reports thread names; users know programs.
	for i := range segments {
		for k := range segments[i].Shares {
			who := &segments[i].Shares[k].Culprit
			who.Comm = w.program(who.PID, who.Comm)
		}
	}
	return Chain{Call: *c, Process: w.program(c.PID, c.Comm), File: w.names[c.File], Segments: segments}
}

// program returns the name of a thread's process. It returns the thread's own name if the process
// is unknown, and for kernel workers, whose names say what they currently work on.
func (w *Window) program(pid uint32, thread string) string {
	if strings.HasPrefix(thread, "kworker") {
		return thread
	}
	return cmp.Or(w.programs[pid], thread)
}

// deepest bounds how many threads a wait is followed through: it prevents loops between threads
// that wait for each other.
const deepest = 4

// slackNs is how much later than the end of a wait the completion that ended it may be recorded.
const slackNs = 50_000

// An explainer collects the segments of one call, in time order.
type explainer struct {
	w    *Window
	call *events.Call
	out  []Segment
}

// put appends a segment unless it is empty. A single share without a time gets the whole segment.
func (e *explainer) put(from, to int64, p Place, s Stage, shares ...Share) {
	if to <= from {
		return
	}
	if len(shares) == 1 && shares[0].Time == 0 {
		shares[0].Time = timeOf(from, to)
	}
	e.out = append(e.out, Segment{From: from, To: to, Place: p, Stage: s, Shares: shares})
}

func (e *explainer) unexplained(from, to int64, p Place, stack []string) {
	if to > from {
		e.out = append(e.out, Segment{From: from, To: to, Place: p, Stage: Unexplained,
			Stack: strings.Join(stack[:min(len(stack), 6)], " < ")})
	}
}

// thread explains a thread's activity during an interval.
func (e *explainer) thread(tid uint32, from, to int64, p Place, depth int) {
	at := from
	for _, x := range e.w.waitsOf(tid, from, to) {
		if x.Out > at {
			e.put(at, x.Out, p, Running)
			at = x.Out
		}

		end := x.Wake

		// A preempted thread never slept, so its whole time off the CPU counts as runnable.
		if x.Preempted {
			end = at
		} else if end == 0 {
			end = x.In // a timeout woke it up
		}

		if end = min(end, to); end > at {
			e.wait(&x, at, end, p, depth)
			at = end
		}

		// From the wakeup until it runs again, the thread waits for a CPU.
		if end = min(x.In, to); end > at {
			e.put(at, end, p, Runnable)
			at = end
		}
	}

	e.put(at, to, p, Running)
}

// wait explains part of a thread's wait by the class of its stack.
func (e *explainer) wait(wait *events.Wait, from, to int64, found Place, depth int) {
	kind := classify(wait.Stack)
	fs := e.call.File.Dev

	switch kind {
	case tagWait, wbtWait, cgroupWait:
		e.blockLayer(kind, from, to, orPlace(found, wait.Stack))
	// balance_dirty_pages makes writers sleep until the flusher has caught up, so the pages written
	// back in that time are what blocked the call.
	case dirtyWait:
		e.put(from, to, found.or(Throttled), Throttle, e.served(fs, from, to, isWriteback)...)
	case pageWait, orderedWait:
		place := Pages
		if kind == orderedWait {
			place = JournalData
		}
		e.request(wait, from, to, found.within(place), isWriteback, depth)
	case commitWait:
		e.commits(from, to, depth)
	case blockWait:
		e.request(wait, from, to, found.within(JournalLog),
			func(r *events.Request) bool { return isJournal(r) || r.Metadata || r.Flush() }, depth)
	case updatesWait:
		e.handles(from, to, JournalLock)
	case handleWait, journalFull:
		e.change(kind, wait, from, to, depth)
	case logWait, logSpace:
		e.request(wait, from, to, found.or(XFSLog),
			func(r *events.Request) bool { return isLog(r) || r.Flush() }, depth)
	case flushWait:
		e.request(wait, from, to, found.or(Flushing), isFlush, depth)
	case metadataWait:
		e.request(wait, from, to, found.or(Metadata),
			func(r *events.Request) bool { return r.File.Inode == 0 }, depth)
	case requestWait:
		e.request(wait, from, to, found.or(Direct), func(r *events.Request) bool {
			// A cgroup limit moves the submission to a kernel worker, so the thread's ID does not
			// identify the request.
			return r.TID == wait.TID || r.First == wait.Request && heldBack(r)
		}, depth)
	case readWait:
		e.request(wait, from, to, found.or(Reading),
			func(r *events.Request) bool { return r.Op() == events.OpRead }, depth)
	case lockWait:
		e.lock(wait, from, to, found, depth)
	default:
		e.other(wait, from, to, found, depth)
	}
}

// or returns the place, or another one if the place is the call's own work.
func (p Place) or(other Place) Place {
	if p == InCall {
		return other
	}
	return p
}

// within returns the place for a step that may run in the journal's thread: the phases of a commit
// remain distinct.
func (p Place) within(step Place) Place {
	if p == InCall || p == JournalLog && step == JournalData {
		return step
	}
	return p
}

// orPlace derives the place of a thread that slept in the block layer from the functions that
// called it.
func orPlace(p Place, stack []string) Place {
	if p != InCall {
		return p
	}

	for _, f := range stack {
		switch {
		case f == "jbd2_journal_commit_transaction":
			return JournalLog
		case strings.HasSuffix(f, "_direct_IO") || f == "__iomap_dio_rw":
			return Direct
		case strings.HasSuffix(f, "writepages") || strings.HasSuffix(f, "write_cache_pages") ||
			f == "__filemap_fdatawrite_range" || f == "filemap_fdatawrite_wbc":
			return Pages
		}
	}

	return p
}

// request follows a wait to the request that ended it.
func (e *explainer) request(x *events.Wait, from, to int64, p Place,
	wanted func(*events.Request) bool, depth int) {
	may := func(r *events.Request) bool {
		if !wanted(r) {
			return false
		}
		// When the call's own thread waits for pages, they belong to the call's file.
		return p != Pages || x.TID != e.call.TID || e.call.File.Inode == 0 || r.File == e.call.File
	}

	// The completion that woke the thread is the best evidence. If that was not the kind of request
	// the stack waits for, the last one that completed in the interval is used.
	r := e.w.known(x.Request)
	if r == nil || !wanted(r) || r.Done > x.Wake+slackNs {
		r = e.w.last(e.call.File.Dev, from, to+slackNs, may)
	}

	switch {
	case r != nil:
		e.follow(x, r, from, to, p, depth)
	case to-from < endsNs && e.w.last(e.call.File.Dev, from-endsNs, from, may) != nil:
		// The request completed shortly before, but not all of its pages were marked as written yet.
		e.completion(x, from, to, p, depth)
	default:
		e.worker(x, from, to, p, depth)
	}
}

// endsNs is how long it may take, after a request completed, until the last of its pages is marked
// as written: a request may have a thousand.
const endsNs = 1_000_000

// other explains a wait in an unknown function by the request that ended it, provided that the
// thread itself made the request or that it reads the file system's own blocks.
func (e *explainer) other(x *events.Wait, from, to int64, p Place, depth int) {
	r := e.w.known(x.Request)
	// Any other request may have completed at that moment by chance.
	if r == nil || r.Done <= from || r.Done > x.Wake+slackNs ||
		r.TID != x.TID && !(r.Metadata && r.Op() == events.OpRead) {
		r = e.w.last(e.call.File.Dev, from, to+slackNs,
			func(r *events.Request) bool { return r.TID == x.TID && r.Op() == events.OpRead })
	}
	if r == nil {
		e.worker(x, from, to, p, depth)
		return
	}
	e.follow(x, r, from, to, p.or(placeOf(r)), depth)
}

// placeOf returns what a call waits for if it waits for a request.
func placeOf(r *events.Request) Place {
	switch {
	case r.Metadata:
		return Metadata
	case r.File.Inode == 0:
		return Direct
	case r.Op() == events.OpRead:
		return Reading
	}
	return Pages
}

// follow splits a wait along the life of the request that ended it: before it existed, queued, at
// the device, and after its completion.
func (e *explainer) follow(x *events.Wait, r *events.Request, from, to int64, p Place, depth int) {
	// Only the commit block, which ends a commit, is written with a flush or FUA.
	if p == JournalLog && r.Flags&(events.FlagPreflush|events.FlagFUA) != 0 {
		p = JournalEnd
	}

	at := from
	if begin := min(r.Begin(), to); begin > at {
		e.before(x, r, at, begin, p, depth)
		at = begin
	}
	if at = e.life(r, at, to, p); to > at {
		e.completion(x, at, to, p, depth)
	}
}

// life explains a request's time in the queue and at the device, and returns when that ended.
func (e *explainer) life(r *events.Request, at, to int64, p Place) int64 {
	if start := min(r.Started(), to); start > at {
		e.queued(r, at, start, p)
		at = start
	}
	if done := min(r.Done, to); done > at {
		e.device(r, at, done, p)
		at = done
	}
	return at
}

// through explains a wait by what another thread did meanwhile; false if that was not traced.
func (e *explainer) through(other, waiter uint32, from, to int64, p Place, depth int) bool {
	if depth >= deepest || other == 0 || other == waiter || len(e.w.waitsOf(other, from, to)) == 0 {
		return false
	}
	e.thread(other, from, to, p, depth+1)
	return true
}

// before explains a wait for a request that did not exist yet, by what the thread that made it did
// in the meantime.
func (e *explainer) before(x *events.Wait, request *events.Request, from, to int64, found Place, depth int) {
	if heldBack(request) {
		e.put(from, to, found, CgroupWait, Share{Culprit: Culprit{Self: true, Cgroup: e.w.groups[e.call.PID]}})
		return
	}

	// From the caller's view, the other thread's running time is a delay of the submission.
	if e.through(request.TID, x.TID, from, to, found, depth) {
		e.rename(from, Running, Submission, e.w.owner(request, e.call))
		return
	}

	// Log writes and flushes are serialized, so this one may have been blocked by the previous one.
	if isLog(request) || isJournal(request) || request.Flush() {
		if prev := e.w.last(e.call.File.Dev, from, to+slackNs,
			func(q *events.Request) bool { return isLog(q) || isJournal(q) || q.Flush() }); prev != nil &&
			prev.First != request.First && depth < deepest {
			at := from
			if start := min(prev.Begin(), to); start > at {
				e.put(at, start, found, Submission, Share{Culprit: e.w.owner(prev, e.call)})
				at = start
			}

			at = e.life(prev, at, to, found)
			e.put(at, to, found, Submission, Share{Culprit: e.w.owner(request, e.call)})
			return
		}
	}

	e.put(from, to, found, Submission, Share{Culprit: e.w.owner(request, e.call)})
}

// rename changes the stage of the segments just appended that begin at or after a time.
func (e *explainer) rename(from int64, old, stage Stage, c Culprit) {
	for i := len(e.out) - 1; i >= 0 && e.out[i].From >= from; i-- {
		if s := &e.out[i]; s.Stage == old {
			s.Stage = stage
			s.Shares = []Share{{Culprit: c, Time: s.Took()}}
		}
	}
}

// completion explains the time between a request's completion and the end of the wait. Some
// completions are handled by a kernel worker, which may itself have waited.
func (e *explainer) completion(x *events.Wait, from, to int64, p Place, depth int) {
	if strings.HasPrefix(x.Waker.Comm, "kworker") && e.through(x.Waker.TID, x.TID, from, to, p, depth) {
		e.rename(from, Running, Completion, Culprit{})
		return
	}
	e.put(from, to, p, Completion)
}

// worker explains a wait that no request ended, by what the thread that ended it was doing.
func (e *explainer) worker(x *events.Wait, from, to int64, p Place, depth int) {
	if !e.through(x.Waker.TID, x.TID, from, to, p, depth) {
		e.unexplained(from, to, p, x.Stack)
	}
}

// lock explains a wait for a lock by what its holder waited for, if that was traced. The thread
// that wakes the waiter is the one that released the lock.
func (e *explainer) lock(x *events.Wait, from, to int64, p Place, depth int) {
	p = p.or(Locked)
	holder := Share{Culprit: Culprit{Comm: x.Waker.Comm, PID: x.Waker.PID, TID: x.Waker.TID, Why: WhyLock,
		Cgroup: e.w.groups[x.Waker.PID]}}
	if e.through(x.Waker.TID, x.TID, from, to, p, depth) {
		e.rename(from, Running, LockWait, holder.Culprit)
		return
	}

	// If a completed request released the lock, the thread that happened to be running is not its
	// holder.
	if x.Waker.TID == 0 || x.Request != 0 {
		e.put(from, to, p, LockWait)
		return
	}

	e.put(from, to, p, LockWait, holder)
}

// merge joins adjacent segments with the same place, stage and stack.
func merge(all []Segment) []Segment {
	var out []Segment
	for _, s := range all {
		if n := len(out); n > 0 {
			last := &out[n-1]
			if last.To == s.From && last.Place == s.Place && last.Stage == s.Stage && last.Stack == s.Stack {
				last.To = s.To
				last.Shares = add(last.Shares, s.Shares)
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// add merges the shares of two segments by culprit.
func add(a, b []Share) []Share {
	for _, x := range b {
		found := false
		for i := range a {
			if a[i].Culprit == x.Culprit {
				a[i].Time += x.Time
				a[i].Requests += x.Requests
				a[i].Bytes += x.Bytes
				found = true
				break
			}
		}

		if !found {
			a = append(a, x)
		}
	}
	return a
}
