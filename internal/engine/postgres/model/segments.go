package model

import (
	"math"
	"time"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
)

// segments are the log's files. One that a checkpoint needs no more is renamed to be a later one;
// as many as the log is expected to take until the checkpoint after the next (PostgreSQL 15 source,
// xlog.c: XLOGfileslop, RemoveOldXlogFiles). Who comes to the end of those there are makes a new
// one, holding the lock that every commit needs: 16 MiB of zeros, and an fsync
// (XLogFileInitInternal; wal_init_zero). On a volume of 48 MB/s that is a third of a second in
// which nobody commits.
//
// A server that runs for long hardly ever makes any: it has what its longest interval between
// checkpoints took, which is not known here, so what max_wal_size lets it keep. One that was just
// loaded ([Config.JustLoaded]) has those that its data was loaded through, fewer than its first
// interval takes, where nearly every change logs a page whole: 400 updates a second of a million
// rows, just loaded, made two before the first checkpoint of 30 s had ended, and none afterwards,
// when each recycled five (measured with PostgreSQL 15.18 by the numbers of its files).
type segments struct {
	first, last int64 // that there are, by the log's position; the one that is written to is among them
	estimate    float64
	fresh       *kernel.File // the one being made
	making      bool
	awaited     bool // a flush goes on when it is there
}

// recycleSlack is the number kept beyond the estimate (XLOGfileslop: "10% for good measure").
const recycleSlack = 1.10

// What COPY logs of a row is the row with this much less: 7 bytes instead of a header of 23
// (heapam_xlog.h, SizeOfMultiInsertTuple; htup_details.h).
const copyLogsLess = 23 - 7

// layLog says which segments there are at the start.
func (e *Engine) layLog(d *kernel.Device) {
	s := &e.segments
	s.fresh = e.host.Create("pg_wal/xlogtemp", d, WALSegment)
	most := e.cfg.checkpointSegments() * int64(WALSegment)
	s.estimate = float64(most)
	if !e.cfg.JustLoaded {
		s.last = e.recycleTo(0)
		return
	}
	// Those that the log took for loading, the rows by COPY and the index page by page. (It began
	// in the middle of one, in the mean: to the nearest. pgbench's million rows left eight.)
	loaded := e.cfg.Rows*max(int64(e.cfg.Row)-copyLogsLess, 0) + e.tables[index].pages*int64(PageSize)
	s.estimate = float64(min(loaded, most))
	s.last = min((loaded+int64(WALSegment)/2)/int64(WALSegment), e.recycleTo(0))
}

// recycleTo is the last segment that is kept for the log to come after a checkpoint whose redo
// position is given.
func (e *Engine) recycleTo(redo int64) int64 {
	ahead := float64(recycleSlack * float64(1+e.cfg.CheckpointCompletionTarget))
	to := int64(math.Ceil(float64(float64(redo)+float64(ahead*e.segments.estimate)) / float64(WALSegment)))
	at := redo / int64(WALSegment)
	return min(max(to, at+int64(e.cfg.MinWALSize/WALSegment)-1), at+int64(e.cfg.MaxWALSize/WALSegment)-1)
}

// recycle renames what a checkpoint that ended needs no more, and has one segment made ahead if the
// present one is nearly full (PreallocXlogFiles).
func (e *Engine) recycle(now vtime.Instant) {
	s, c, w := &e.segments, &e.checkpoint, &e.wal

	// UpdateCheckPointDistanceEstimate: up immediately, down slowly.
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

// segmentMade lets the waiting flush continue.
func (e *Engine) segmentMade(now vtime.Instant) {
	s := &e.segments
	s.making = false
	s.last++
	if s.awaited {
		s.awaited = false
		e.beginFlush(now)
	}
}
