package diagnose

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// account says where the stalled time went. A MongoDB tells the waiting of its operations
// by wait counters; then the whole is the operations' summed latency over the
// stalled episodes. Otherwise the whole is the stalled wall-clock time, and the
// shares are how much of it each condition held.
func account(c *rules.Case) []Share {
	if !c.Stall.Any() {
		return []Share{}
	}
	if c.Stall.Waiting != nil && c.Measured(rules.SignalPrefix+"wt_cache_max:bytes") {
		return accountMongoDB(c)
	}
	return accountWallClock(c)
}

// mongoWait is a wait counter of MongoDB. The first group partitions an operation's
// latency: it queues for a ticket, executes holding it, and waits for its write concern
// when it has given it back. The second group is what it does while executing.
type mongoWait struct {
	name, signal string
	overlaps     bool
	note         string
}

var outsideTicket = []mongoWait{
	{"queue for a write ticket", "mongodb_ticket_wait:ratio", false, ""},
	{"flow control", "mongodb_flow_control_wait:ratio", false, ""},
	{"waiting for the write concern", "mongodb_replication_wait:ratio", false, "the journal's sync and the other members"},
}

var insideTicket = []mongoWait{
	{"waiting for room in the cache", "wt_cache_wait:ratio", false, ""},
	{"evicting pages themselves", "wt_app_evict_time:ratio", true, "may be counted in the wait for the cache"},
	{"reading pages from disk", "wt_app_page_reads_time:ratio", false, "all operations', reads' too"},
	{"writing pages to disk", "wt_app_page_writes_time:ratio", true, "part of evicting"},
	{"waiting for a page another thread holds", "wt_page_wait:ratio", false, "all operations', reads' too"},
	{"locks", "mongodb_lock_wait:ratio", false, "all operations', reads' too"},
}

func accountMongoDB(c *rules.Case) []Share {
	var out []Share
	var of, outside, inside float64
	take := func(waits []mongoWait) (sum float64) {
		for _, w := range waits {
			if !c.Measured(rules.SignalPrefix + w.signal) {
				continue
			}
			_, seconds, whole, ok := c.WaitShare(rules.SignalPrefix + w.signal)
			if !ok {
				continue
			}
			of = whole
			out = append(out, Share{Share: w.name, Seconds: seconds, Of: whole, Overlaps: w.overlaps, Note: w.note})
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
	if _, work, _, ok := c.WaitShare(rules.SignalPrefix + "mongodb_ticket_work:ratio"); ok && work > inside {
		// The version counts the time with a ticket: what is left of it is known to be execution.
		out = append(out, Share{Share: "executing otherwise", Seconds: work - inside, Of: of, Note: executing(c)})
		inside = work
		out = append(out, Share{Share: "unexplained", Seconds: max(0, of-outside-inside), Of: of})
		return out
	}
	return append(out, Share{Share: "unexplained", Seconds: max(0, of-outside-inside), Of: of,
		Note: "executing, or waiting for something this version does not count" + journal})
}

// journalShare is the operations' waiting in the cells in which a journal sync was on: an
// upper bound, for nothing counts how many of them waited for it.
func journalShare(c *rules.Case, of float64) (Share, bool) {
	sync := c.Credited(c.One(rules.SignalPrefix + "wt_log_sync_time:ratio"))
	if sync == nil || of <= 0 {
		return Share{}, false
	}
	var bound float64
	for k, w := range c.Stall.Waiting {
		if c.Stall.Cells[k] && w > 0 && sync[k] > 0 {
			bound += w * sync[k] * c.Grid.StepSeconds()
		}
	}
	return Share{Share: "journal fdatasync", Seconds: min(bound, of), Of: of, Overlaps: true,
		Note: "upper bound: the waiting of all operations while one was under way"}, true
}

// executing puts the CPU time there was beside the time spent executing.
func executing(c *rules.Case) string {
	note := "holding a ticket, in none of these waits"
	busy, cores := c.One(rules.SignalPrefix+"cpu_busy:ratio"), c.One(rules.SignalPrefix+"cpu_cores:count")
	if busy != nil && cores != nil {
		s := timeline.Mean(timeline.At(busy, c.Stall.Cells)) * timeline.Max(cores) * c.Seconds(c.Stall.Cells)
		note += fmt.Sprintf("; the host's CPUs worked %.0f s in all meanwhile", s)
	}
	return note
}

func accountWallClock(c *rules.Case) []Share {
	of := c.Seconds(c.Stall.Cells)
	explained := make(timeline.Mask, c.Grid.N)
	var out []Share
	add := func(name string, m timeline.Mask) {
		if n := m.And(c.Stall.Cells); n.Count() > 0 {
			out = append(out, Share{Share: name, Seconds: c.Seconds(n), Of: of, Overlaps: true, Note: "of the wall clock"})
			explained = explained.Or(n)
		}
	}
	if cells, _, _, ok := c.PostgresCheckpoints(); ok {
		add("during a checkpoint", cells.Widen(1, 1))
	}
	if cells, ok := c.CheckpointCells(); ok {
		add("during a checkpoint", cells.Widen(0, 1))
	}
	if sat, ok := c.Saturated(); ok {
		add("a device saturated", sat)
	}
	if full := c.One(rules.SignalPrefix + "psi_io_full:ratio"); full != nil {
		add("all tasks waiting for I/O (PSI)", timeline.Where(full, func(x float64) bool { return x >= 0.5 }))
	}
	if mem := c.One(rules.SignalPrefix + "psi_memory_full:ratio"); mem != nil {
		add("all tasks waiting for memory (PSI)", timeline.Where(mem, func(x float64) bool { return x >= 0.5 }))
	}
	if cpu := c.One(rules.SignalPrefix + "cpu_busy:ratio"); cpu != nil {
		add("CPUs over 90 % busy", timeline.Where(cpu, func(x float64) bool { return x > 0.9 }))
	}
	rest := c.Stall.Cells.Without(explained)
	return append(out, Share{Share: "unexplained", Seconds: c.Seconds(rest), Of: of, Note: "none of the above held"})
}
