package kernel

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A job writes a file's pages for a sync or sync_file_range. It submits requests until the block
// layer has no free slot, and continues when it gets one, so jobs on one device take turns.
type job struct {
	file     *File
	from, to int64 // pages still to examine
	phase    phase
	journal  bool          // the file system's journal has to be written
	done     vtime.Handler // nil: no one waits for it
	arg      uint64
	stats    SyncStats
	taken    vtime.Instant // when the volume finishes the I/O submitted earlier by others
	issued   vtime.Instant // when the job's last I/O of this phase is issued
	began    vtime.Instant // start of this phase
	room     bool          // the throttle admitted its next write
	handle   handle        // of ext4's journal
	tagged   *dirtyMap     // the pages to write; nil means all dirty pages
	// lockedSince is when its commit started to wait for the handles of other jobs; 0 if it does not.
	lockedSince vtime.Instant
	behind      bool // it has let the jobs queued at the throttle go first
	yielded     bool // an event continues it: the call that created it has returned
}

type phase uint8

// The phases of a sync, each beginning when the I/O of the one before it is done. If there is a
// volatile cache, a commit of the journal is a write that waits behind a flush and is followed by
// one (REQ_PREFLUSH and REQ_FUA, Linux, Documentation/block/writeback_cache_control.rst): the
// second flush is the sync's own.
const (
	data    phase = iota
	journal       // ext4's description; XFS writes its log immediately, in the commit
	barrier
	commit
	flush
	finish
)

// A jobTurn is the host as the event handler for its jobs' events; the argument is the job's number.
type jobTurn Host

// newJob returns the number of a job, reusing that of a finished one if possible.
func (h *Host) newJob(f *File, from, to int64) int {
	if len(h.idle) == 0 {
		h.jobs = append(h.jobs, job{})
		h.idle = append(h.idle, len(h.jobs)-1)
	}
	n := len(h.idle) - 1
	i := h.idle[n]
	h.idle = h.idle[:n]
	now := h.clock.Now()
	j := &h.jobs[i]
	*j = job{} // then set the fields one by one: a job is too large to copy cheaply
	j.file, j.from, j.to = f, from, to
	j.began, j.taken, j.issued = now, f.device.issued, now
	return i
}

// A jobRoom is the host as the event handler for its jobs' turns at a throttle.
type jobRoom Host

// Fire continues a job with room for a write.
func (t *jobRoom) Fire(_ vtime.Instant, arg uint64) {
	h := (*Host)(t)
	h.jobs[arg].room = true
	h.jobs[arg].file.device.throttle.woken--
	h.advance(int(arg))
}

// A jobAgain is the host as the event handler for the next request of a job that was woken together with
// others; see throttle.yields.
type jobAgain Host

// Fire continues a job after the others' turn.
func (t *jobAgain) Fire(_ vtime.Instant, arg uint64) {
	h := (*Host)(t)
	h.jobs[arg].file.device.throttle.woken--
	h.advance(int(arg))
}

// Fire continues a job.
func (t *jobTurn) Fire(_ vtime.Instant, arg uint64) { (*Host)(t).advance(int(arg)) }

// advance runs a job until it has to wait.
func (h *Host) advance(index int) {
	job := &h.jobs[index]
	now := h.clock.Now()
	if job.phase == data {
		if !h.submitData(index) {
			return
		}

		if job.done == nil {
			h.idle = append(h.idle, index)
			return
		}

		job.tagged = nil
		h.close(job, max(now, job.file.writeback))
		job.phase = journal

		if !job.journal {
			job.phase = flush
		}

		if job.file.writeback > now {
			h.later(index, job.file.writeback)
			return
		}
	}

	// The completion of a write wakes the next job in the queue directly, while this sync continues
	// through a work queue. So the queued jobs go first.
	if len(job.file.device.throttle.line) > 0 && !job.behind {
		job.behind = true
		h.later(index, now)
		return
	}

	if h.lockedOut(index) {
		return
	}

	for job.phase != finish {
		if until := h.step(job); until > now {
			h.later(index, until)
			return
		}
	}

	// The caller of Sync must not be called back before Sync has returned.
	if !job.yielded {
		h.later(index, now)
		return
	}

	job.stats.Done = now
	job.file.last = job.stats
	done, arg := job.done, job.arg
	h.waiting.end(now)
	h.idle = append(h.idle, index)
	done.Fire(now, arg)
}

// later continues a job at an instant.
func (h *Host) later(i int, at vtime.Instant) {
	h.jobs[i].yielded = true
	h.clock.At(at, (*jobTurn)(h), uint64(i))
}

// submitData submits a job's pages. It returns false if the job has to wait, for an ext4 handle, at
// the throttle or for a slot; an event then continues the job.
func (h *Host) submitData(index int) bool {
	job := &h.jobs[index]
	now := h.clock.Now()
	for {
		dev := job.file.device
		if !dev.handles.begin(&job.handle, job.file, job.from, extentPages, (*jobTurn)(h), uint64(index)) {
			job.yielded = true
			return false
		}

		if !job.room && job.file.dirty.pages > 0 {
			why := urgent
			if job.done == nil {
				why = normal
			}
			if job.room = dev.throttle.take(why, (*jobRoom)(h), uint64(index)); !job.room {
				job.yielded = true
				return false
			}
		}

		// Requests that others submitted while this job waited for its turn are ahead of it as well.
		if job.stats.IOs == 0 {
			job.taken = max(job.taken, dev.issued)
		}

		next, c, n, ok := job.submit()

		// Nothing is left to write: return the reserved pages.
		if !ok {
			dev.handles.end(&job.handle)
			if job.room {
				job.room = false
				dev.throttle.forget()
			}
			return true
		}

		job.room = false
		dev.handles.submitted(&job.handle, n)
		job.from = next
		job.stats.Bytes += n
		job.stats.IOs++
		job.issued = c.Issued

		if c.Admitted > now {
			h.later(index, c.Admitted)
			return false
		}

		if dev.throttle.yields((*jobAgain)(h), uint64(index)) {
			job.yielded = true
			return false
		}
	}
}

// submit submits the next of the job's pages, as File.submit does.
func (j *job) submit() (next int64, c volume.Completion, n units.Size, ok bool) {
	if j.tagged == nil {
		return j.file.submit(j.from, j.to)
	}
	for from := j.from; ; {
		first, ok := j.tagged.next(from)
		if !ok {
			return j.to, c, 0, false
		}
		from = first + j.tagged.run(first, j.file.host.requestPages)
		if next, c, n, ok = j.file.submit(first, from); ok {
			return next, c, n, true
		}
	}
}

// step executes the phase that is due, and returns the instant at which its I/O is done.
func (h *Host) step(j *job) (until vtime.Instant) {
	now := h.clock.Now()
	d := j.file.device
	j.began, j.taken, j.issued = now, d.issued, now

	switch j.phase {
	case journal:
		// ext4 writes two blocks: the descriptor with the inode, then the commit. XFS writes one
		// record. Measurements confirm both: an append takes 2.1 ms on ext4 and 1.5 ms on XFS if a
		// write takes 0.6 ms, and a server's log on XFS has 2.9 writes per sync, two of them data.
		j.phase = barrier
		if h.cfg.FileSystem == XFS {
			return now
		}
		until = h.meta(j, d.journalBlock())
	case barrier:
		j.phase = commit
		if !d.cache {
			return now
		}
		until = h.meta(j, volume.Request{Op: volume.Flush})
	case commit:
		j.phase = flush
		until = h.meta(j, d.journalBlock())
	default:
		j.phase = finish
		if !d.cache {
			return now
		}
		until = h.meta(j, volume.Request{Op: volume.Flush})
	}

	h.close(j, until)
	return until
}

// meta submits the file system's own I/O, such as its journal.
func (h *Host) meta(j *job, r volume.Request) vtime.Instant {
	c := j.file.device.do(r, false)
	j.issued = max(j.issued, c.Issued)
	j.stats.Bytes += r.Length
	j.stats.IOs++
	return c.Done
}

// close splits a phase's time into three parts: queued behind the I/O of others, held back by limits
// because of its own I/O, and device latency.
func (h *Host) close(j *job, until vtime.Instant) {
	if until <= j.began {
		return
	}
	whole := until - j.began
	queue := min(max(j.taken-j.began, 0), whole)
	limit := min(max(j.issued-j.began-queue, 0), whole-queue)
	if j.issued == j.began && j.stats.IOs == 0 {
		queue, limit = whole, 0 // it submitted nothing: others were already writing the pages
	}
	j.stats.Queue += units.Duration(queue)
	j.stats.Limit += units.Duration(limit)
	j.stats.Device += units.Duration(whole - queue - limit)
}
