package judge

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// waitCounter is a wait counter of MongoDB. The counters outside the ticket partition an
// operation's latency: it queues for a ticket, executes while holding it, returns it, and then
// waits for its write concern. The counters inside the ticket break down the execution.
type waitCounter struct {
	name     string
	signal   *rules.Signal
	by       waitShare
	overlaps bool
	note     string
}

// A waitShare attributes a counter to the stalled operations. Which one applies depends on the
// operations that the counter covers.
type waitShare func(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool)

// partOf is for counters that are part of the operations' own latency: it includes all of the time, even
// the usual part.
func partOf(operations waitShare) waitShare {
	return func(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
		if _, _, of, ok = operations(c, counter); ok {
			seconds = min(of, spent(c, counter))
		}
		return seconds / of, seconds, of, ok
	}
}

// spent is a counter's growth, in seconds, over the stalled time and one cell on either side.
func spent(c *rules.Case, counter *rules.Signal) float64 {
	return timeline.Sum(timeline.At(c.One(counter), c.Stall.Cells.Widen(1, 1))) * c.Grid.StepSeconds()
}

const proportional = "counted over all operations; the stalled ones' share is estimated in proportion"

var outsideTicket = []waitCounter{
	{"queue for a write ticket", TicketWait, partOf(ofWrites), false, ""},
	{"queue for a read ticket", ReadTicketWait, partOf(ofReads), false, ""},
	{"flow control", FlowControlWait, partOf(ofWrites), false, ""},
	{"waiting for the write concern", ReplicationWait, partOf(ofWrites),
		false, "the journal's sync and the other members"},
}

var insideTicket = []waitCounter{
	{"waiting for room in the cache", CacheWait, ofAll, false, proportional},
	// The clock of the wait for the cache runs while the thread evicts pages itself (WT 7.0
	// evict_lru.c, __wt_cache_eviction_worker).
	{"evicting pages themselves", AppEvictTime, ofAll, true, "part of the wait for the cache"},
	{"reading pages from disk", AppPageReadsTime, ofAll, false, proportional},
	{"writing pages to disk", AppPageWritesTime, ofAll, true, "part of evicting"},
	{"waiting for a page another thread holds", PageWait, ofAll, false, proportional},
	{"locks", LockWait, ofAll, false, proportional},
}

// account returns nil if the recording is not from the server or has no waiting times.
func account(c *rules.Case) []rules.Spent {
	if c.Stall.Waiting == nil || !c.Measured(CacheMax) || waiting[c.Stall.Class] == nil {
		return nil
	}

	out, outside, of := accounted(c, outsideTicket, 0)
	more, inside, whole := accounted(c, insideTicket, outside)
	out, of = append(out, more...), max(of, whole)

	journal := ""
	if s, ok := journalShare(c, of); ok && c.Stall.Class != rules.Reading {
		out = append(out, s)
		journal = fmt.Sprintf("; up to %s s of it may be the journal's fdatasync",
			units.Number(min(s.Seconds, max(0, of-outside-inside))))
	}

	if of <= 0 {
		return out
	}

	// This version counts the time spent holding a ticket, so the part that no wait explains is
	// known to be execution.
	// The counters need not agree to the microsecond. If the waits exceed the execution time,
	// nothing is left to attribute.
	if work := min(of, worked(c)); work > inside {
		out = append(out, rules.Spent{Share: "executing otherwise", Seconds: work - inside, Of: of,
			Note: executing(c)})
		inside = work
		out = append(out, rules.Spent{Share: "unexplained", Seconds: max(0, of-outside-inside), Of: of})
		return out
	}

	return append(out, rules.Spent{Share: "unexplained", Seconds: max(0, of-outside-inside), Of: of,
		Note: "executing, or waiting for something this version does not count" + journal})
}

// accounted returns the waits of counters that were measured, their sum, and the whole stalled waiting,
// of which taken belongs to other counters. Shares are estimates: if they exceed the rest of the whole,
// all are reduced in proportion.
func accounted(c *rules.Case, waits []waitCounter, taken float64) (out []rules.Spent, sum, of float64) {
	out = []rules.Spent{}
	for _, w := range waits {
		_, seconds, whole, ok := w.by(c, w.signal)
		if !ok || !c.Measured(w.signal) {
			continue
		}

		// Every counter refers to the same stalled waiting, so whichever is measured gives the whole.
		of = whole
		out = append(out, rules.Spent{Share: w.name, Seconds: seconds, Of: whole, Overlaps: w.overlaps,
			Note: w.note})

		// An overlapping wait is part of another one in the list; adding it would count it twice.
		if !w.overlaps {
			sum += seconds
		}
	}

	if left := max(0, of-taken); sum > left {
		for i := range out {
			out[i].Seconds *= left / sum
		}
		sum = left
	}

	return out, sum, of
}

// worked is the total time that operations of the stalled class executed while holding a ticket. It
// includes the calm part, which is not waiting.
func worked(c *rules.Case) float64 {
	if c.Stall.Class == rules.Reading {
		return spent(c, ReadTicketWork)
	}
	return spent(c, TicketWork)
}

// journalShare is the time operations waited in the cells in which a journal sync was in progress.
// It is an upper bound, because no counter shows how many of them waited for the sync.
func journalShare(c *rules.Case, of float64) (rules.Spent, bool) {
	sync := c.Credited(c.One(LogSyncTime))
	if sync == nil || of <= 0 {
		return rules.Spent{}, false
	}
	var bound float64
	// w is in operations, so w times the sync's part of the cell gives operation-seconds.
	for k, w := range c.Stall.Waiting {
		if c.Stall.Cells[k] && w > 0 && sync[k] > 0 {
			bound += w * sync[k] * c.Grid.StepSeconds()
		}
	}
	return rules.Spent{Share: "journal fdatasync", Seconds: min(bound, of), Of: of, Overlaps: true,
		Note: "upper bound: the waiting of all operations while a sync was in progress"}, true
}

// executing compares the time spent executing with the CPU time used meanwhile.
func executing(c *rules.Case) string {
	note := "holding a ticket and in none of these waits"
	busy, cores := c.One(rules.CPUBusy), c.One(rules.CPUCores)
	if busy != nil && cores != nil {
		s := timeline.Mean(timeline.At(busy, c.Stall.Cells)) * timeline.Max(cores) * c.Seconds(c.Stall.Cells)
		note += fmt.Sprintf("; the host's CPUs were busy for %.0f s in total meanwhile", s)
	}
	return note
}
