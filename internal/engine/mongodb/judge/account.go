package judge

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// waitCounter is a wait counter of MongoDB. The first group partitions an operation's
// latency: it queues for a ticket, executes holding it, and waits for its write concern
// when it has given it back. The second group is what it does while executing.
type waitCounter struct {
	name     string
	signal   *rules.Signal
	by       waitShare
	overlaps bool
	note     string
}

// waitShare is how a counter is shared out, by which operations it counts.
type waitShare func(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool)

// partOfWrites and partOfReads are counters that are a part of these operations' own latency, in all:
// what is usual too.
func partOfWrites(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	if _, _, of, ok = ofWrites(c, counter); ok {
		seconds = min(of, spent(c, counter))
	}
	return seconds / of, seconds, of, ok
}

func partOfReads(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	if _, _, of, ok = ofReads(c, counter); ok {
		seconds = min(of, spent(c, counter))
	}
	return seconds / of, seconds, of, ok
}

// spent is what a counter of seconds grew by in the stalled time, and a cell on either side.
func spent(c *rules.Case, counter *rules.Signal) float64 {
	return timeline.Sum(timeline.At(c.One(counter), c.Stall.Cells.Widen(1, 1))) * c.Grid.StepSeconds()
}

const proportional = "counted of all operations, so it is the stalled ones' part in proportion"

var outsideTicket = []waitCounter{
	{"queue for a write ticket", TicketWait, partOfWrites, false, ""},
	{"queue for a read ticket", ReadTicketWait, partOfReads, false, ""},
	{"flow control", FlowControlWait, partOfWrites, false, ""},
	{"waiting for the write concern", ReplicationWait, partOfWrites,
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

// account is nil of a recording that is not of the server, or tells no waiting.
func account(c *rules.Case) []rules.Spent {
	if c.Stall.Waiting == nil || !c.Measured(CacheMax) || waiting[c.Stall.Class] == nil {
		return nil
	}

	out := []rules.Spent{}
	var of, outside, inside float64
	take := func(waits []waitCounter) (sum float64) {
		for _, w := range waits {
			_, seconds, whole, ok := w.by(c, w.signal)
			if !ok || !c.Measured(w.signal) {
				continue
			}
			of = whole
			out = append(out, rules.Spent{Share: w.name, Seconds: seconds, Of: whole, Overlaps: w.overlaps,
				Note: w.note})
			if !w.overlaps {
				sum += seconds
			}
		}
		return sum
	}

	outside = take(outsideTicket)
	inside = take(insideTicket)

	journal := ""
	if s, ok := journalShare(c, of); ok && c.Stall.Class != rules.Reading {
		out = append(out, s)
		journal = fmt.Sprintf("; up to %s s of it may be the journal's fdatasync",
			units.Number(min(s.Seconds, max(0, of-outside-inside))))
	}

	if of <= 0 {
		return out
	}

	// The version counts the time with a ticket: what is left of it is known to be execution.
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

// worked is the time that operations of the stalled class executed with a ticket, in all: the calm
// part too, which is no wait.
func worked(c *rules.Case) float64 {
	if c.Stall.Class == rules.Reading {
		return spent(c, ReadTicketWork)
	}
	return spent(c, TicketWork)
}

// journalShare is the operations' waiting in the cells in which a journal sync was on: an
// upper bound, for nothing counts how many of them waited for it.
func journalShare(c *rules.Case, of float64) (rules.Spent, bool) {
	sync := c.Credited(c.One(LogSyncTime))
	if sync == nil || of <= 0 {
		return rules.Spent{}, false
	}
	var bound float64
	for k, w := range c.Stall.Waiting {
		if c.Stall.Cells[k] && w > 0 && sync[k] > 0 {
			bound += w * sync[k] * c.Grid.StepSeconds()
		}
	}
	return rules.Spent{Share: "journal fdatasync", Seconds: min(bound, of), Of: of, Overlaps: true,
		Note: "upper bound: the waiting of all operations while one was under way"}, true
}

// executing puts the CPU time there was beside the time spent executing.
func executing(c *rules.Case) string {
	note := "holding a ticket, in none of these waits"
	busy, cores := c.One(rules.CPUBusy), c.One(rules.CPUCores)
	if busy != nil && cores != nil {
		s := timeline.Mean(timeline.At(busy, c.Stall.Cells)) * timeline.Max(cores) * c.Seconds(c.Stall.Cells)
		note += fmt.Sprintf("; the host's CPUs worked %.0f s in all meanwhile", s)
	}
	return note
}
