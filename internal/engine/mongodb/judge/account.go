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
	overlaps bool
	note     string
}

var outsideTicket = []waitCounter{
	{"queue for a write ticket", TicketWait, false, ""},
	{"flow control", FlowControlWait, false, ""},
	{"waiting for the write concern", ReplicationWait, false, "the journal's sync and the other members"},
}

var insideTicket = []waitCounter{
	{"waiting for room in the cache", CacheWait, false, ""},
	{"evicting pages themselves", AppEvictTime, true, "may be counted in the wait for the cache"},
	{"reading pages from disk", AppPageReadsTime, false, "all operations', reads' too"},
	{"writing pages to disk", AppPageWritesTime, true, "part of evicting"},
	{"waiting for a page another thread holds", PageWait, false, "all operations', reads' too"},
	{"locks", LockWait, false, "all operations', reads' too"},
}

// account is nil of a recording that is not of the server, or tells no waiting.
func account(c *rules.Case) []rules.Spent {
	if c.Stall.Waiting == nil || !c.Measured(CacheMax) {
		return nil
	}
	out := []rules.Spent{}
	var of, outside, inside float64
	take := func(waits []waitCounter) (sum float64) {
		for _, w := range waits {
			if !c.Measured(w.signal) {
				continue
			}
			_, seconds, whole, ok := c.WaitShare(w.signal)
			if !ok {
				continue
			}
			of = whole
			out = append(out, rules.Spent{Share: w.name, Seconds: seconds, Of: whole, Overlaps: w.overlaps, Note: w.note})
			if !w.overlaps {
				sum += seconds
			}
		}
		return sum
	}
	outside = take(outsideTicket)
	inside = take(insideTicket)
	journal := ""
	if s, ok := journalShare(c, of); ok {
		out = append(out, s)
		journal = fmt.Sprintf("; up to %s s of it may be the journal's fdatasync", units.Number(min(s.Seconds, max(0, of-outside-inside))))
	}
	if of <= 0 {
		return out
	}
	if _, work, _, ok := c.WaitShare(TicketWork); ok && work > inside {
		// The version counts the time with a ticket: what is left of it is known to be execution.
		out = append(out, rules.Spent{Share: "executing otherwise", Seconds: work - inside, Of: of, Note: executing(c)})
		inside = work
		out = append(out, rules.Spent{Share: "unexplained", Seconds: max(0, of-outside-inside), Of: of})
		return out
	}
	return append(out, rules.Spent{Share: "unexplained", Seconds: max(0, of-outside-inside), Of: of,
		Note: "executing, or waiting for something this version does not count" + journal})
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
