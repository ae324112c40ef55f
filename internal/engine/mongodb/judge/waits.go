package judge

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// waiting maps each class of operations to its waiting time. Together these are the clients'
// operations. serverStatus.opLatencies has a fourth class, transactions, but their operations are
// also counted in the others.
var waiting = map[rules.Class]*rules.Signal{
	rules.Writing:    WriteWaiting,
	rules.Reading:    ReadWaiting,
	rules.Commanding: CommandWaiting,
}

// ofAll is the share of the stalled waiting that a counter of all operations accounts for.
// WiredTiger counts every session without WT_SESSION_INTERNAL (7.0 evict_lru.c:2409): reads,
// writes, and mongod's own threads such as TTL, index builds and the appliers of a secondary. The
// steady part is subtracted as calm; the excess is shared with the other classes' excess waiting.
func ofAll(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	var others []*rules.Signal
	for _, class := range []rules.Class{rules.Writing, rules.Reading, rules.Commanding} {
		if class != c.Stall.Class && c.Measured(waiting[class]) {
			others = append(others, waiting[class])
		}
	}
	return c.WaitShare(counter, others...)
}

// ofWrites is the same for a counter that only writes increase. Such a counter is not part of a stall
// of reads.
func ofWrites(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	if c.Stall.Class != rules.Writing && c.Stall.Class != rules.Commanding {
		return 0, 0, 0, false
	}
	return c.WaitShareOfOwn(counter)
}

// ofReads is the same for a counter that only reads add to.
func ofReads(c *rules.Case, counter *rules.Signal) (share, seconds, of float64, ok bool) {
	if c.Stall.Class != rules.Reading {
		return 0, 0, 0, false
	}
	return c.WaitShareOfOwn(counter)
}

// A wait is a wait counter that a rule judges by its share of the stalled waiting.
type wait struct {
	subject string // of the finding
	counter *rules.Signal
	by      waitShare
	least   float64 // share that makes it a cause
	figure  string
}

// find returns the finding with the values for its sentence, or false if the share is too small.
func (w wait) find(r rules.Rule, c *rules.Case, held []timeline.Track) (f rules.Finding, said rules.Values,
	ok bool) {
	share, seconds, of, ok := w.by(c, w.counter)
	if !ok || share < w.least {
		return f, nil, false
	}

	f = r.Finding(w.subject)
	f.Weight, f.Severity = share, c.SeverityOf(share)
	if len(held) > 0 {
		f.Windows = c.Windows(timeline.Known(held[0].Values).And(c.Stall.Cells).Close(3))
	}

	f.Evidence = []rules.Evidence{c.Figure(w.figure, w.counter, seconds, units.OpSeconds, c.Stall.Cells)}
	return f, rules.Values{"waited": rules.Of(seconds, units.OpSeconds), "share": rules.Part(share),
		"of": rules.Of(of, units.OpSeconds)}, true
}

// sayCacheWait adds how long the stalled operations waited for room in the cache.
func sayCacheWait(c *rules.Case, f *rules.Finding, share, seconds, of float64) {
	f.Say("waited", rules.Values{"waited": rules.Of(seconds, units.OpSeconds), "share": rules.Part(share),
		"of": rules.Of(of, units.OpSeconds)})
	f.Evidence = append(f.Evidence,
		c.Figure("the stalled operations' waiting for the cache beyond the usual, summed", CacheWait, seconds,
			units.OpSeconds, c.Stall.Cells))
}
