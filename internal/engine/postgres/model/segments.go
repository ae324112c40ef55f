package model

import (
	"math"
	"time"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
)

// segments are the log's files. A checkpoint renames segments that are no longer needed, for later
// use, as many as the log is expected to take until the checkpoint after the next (PostgreSQL 15
// source, xlog.c: XLOGfileslop, RemoveOldXlogFiles). A session that reaches the end of the last
// segment creates a new one while it holds the lock that every commit needs: 16 MiB of zeros and an
// fsync (XLogFileInitInternal; wal_init_zero). On a volume of 48 MB/s nothing commits for a third
// of a second.
//
// A server that has run for long hardly ever creates one: it has as many as its longest interval
// between checkpoints took. That number is unknown here, so the model assumes what max_wal_size
// allows. A freshly loaded server ([Config.JustLoaded]) has those that loading took, fewer than its
// first interval takes, because nearly every change logs a whole page. Measured with PostgreSQL
// 15.18, by the numbers of its files: 400 updates per second of a million freshly loaded rows
// created two segments before the first checkpoint of 30 s ended, and none afterwards, when each
// checkpoint recycled five.
type segments struct {
	first, last int64 // existing segments by log position, including the current one
	estimate    float64
	fresh       *kernel.File // the segment being created
	making      bool
	awaited     bool // a flush waits for it
}

// recycleSlack is the factor applied to the estimate (XLOGfileslop: "10% for good measure").
const recycleSlack = 1.10

// copyLogsLess is how many bytes smaller than the row COPY's log is: 7 bytes replace a header of 23
// (heapam_xlog.h, SizeOfMultiInsertTuple; htup_details.h).
const copyLogsLess = 23 - 7

// layLog sets the segments that exist at the start.
func (e *Engine) layLog(d *kernel.Device) {
	s := &e.segments
	s.fresh = e.host.Create("pg_wal/xlogtemp", d, WALSegment)
	most := e.cfg.checkpointSegments() * int64(WALSegment)
	s.estimate = float64(most)
	if !e.cfg.JustLoaded {
		s.last = e.recycleTo(0)
		return
	}
	// Loading logs the rows by COPY and the index page by page. On average the log starts in the
	// middle of a segment, so the count is rounded to the nearest. pgbench's million rows left
	// eight.
	loaded := e.cfg.Rows*max(int64(e.cfg.Row)-copyLogsLess, 0) + e.tables[index].pages*int64(PageSize)
	s.estimate = float64(min(loaded, most))
	s.last = min((loaded+int64(WALSegment)/2)/int64(WALSegment), e.recycleTo(0))
}

// recycleTo returns the last segment that a checkpoint with the given redo position keeps for
// future log.
func (e *Engine) recycleTo(redo int64) int64 {
	ahead := float64(recycleSlack * float64(1+e.cfg.CheckpointCompletionTarget))
	to := int64(math.Ceil(float64(float64(redo)+float64(ahead*e.segments.estimate)) / float64(WALSegment)))
	at := redo / int64(WALSegment)
	return min(max(to, at+int64(e.cfg.MinWALSize/WALSegment)-1), at+int64(e.cfg.MaxWALSize/WALSegment)-1)
}

// recycle renames the segments that the completed checkpoint no longer needs, and creates one ahead
// if the current one is nearly full (PreallocXlogFiles).
func (e *Engine) recycle(now vtime.Instant) {
	s, c, w := &e.segments, &e.checkpoint, &e.wal

	// As in UpdateCheckPointDistanceEstimate, the estimate rises immediately and falls slowly.
	if distance := float64(c.redo - c.kept); distance > s.estimate {
		s.estimate = distance
	} else {
		s.estimate = float64(0.9*s.estimate) + float64(0.1*distance)
	}

	to := e.recycleTo(c.redo)
	for ; s.first < c.redo/int64(WALSegment); s.first++ {
		if s.last < to {
			s.last++
		}
	}

	if at := max(w.inserted-1, 0); at/int64(WALSegment) >= s.last &&
		at%int64(WALSegment) >= int64(WALSegment)*3/4 {
		e.makeSegment(now)
	}
}

// missesSegment reports whether the log has used all existing segments.
func (e *Engine) missesSegment() bool {
	return (e.wal.inserted-1)/int64(WALSegment) > e.segments.last
}

// makeSegment fills a new segment with zeros.
func (e *Engine) makeSegment(now vtime.Instant) {
	s := &e.segments
	if s.making {
		return
	}
	s.making = true
	s.fresh.Rewind(0)
	_, resume := s.fresh.Append(WALSegment)
	_, done := e.host.CPU(now, time.Duration(WALSegment/PageSize)*pageWriteCPU)
	e.clock.At(max(resume, done), e, evSegmentWritten)
}

// segmentMade resumes the waiting flush.
func (e *Engine) segmentMade(now vtime.Instant) {
	s := &e.segments
	s.making = false
	s.last++
	if s.awaited {
		s.awaited = false
		e.beginFlush(now)
	}
}
