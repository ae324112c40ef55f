package rules

import (
	"slices"

	"plimsoll/internal/record/timeline"
	"plimsoll/internal/trace/wait"
)

const (
	// anotherLeast is the share of the slow calls' waiting above which another program is a cause.
	anotherLeast = 0.1
)

func hostAnotherProgram() Rule {
	r := Rule{ID: "host/another-program", Title: "Syncs wait behind another program's I/O", Kind: Cause,
		Needs:   []*Signal{TraceWait, TraceSlower},
		NoAlert: "a trace runs only for a while",
		Cause:   "All programs on a device share its queue, and all files of a file system share its journal. A sync waits until the requests ahead of it are done, whichever program issued them. The device's counters do not show which program that was; a trace does.",
		Words: Words{
			"behind": "Slow calls of {{.programs}} spent {{.share}} of their waiting time behind I/O of {{.other}}: {{.most}} {{.how}}.",
		},
		Advice: map[string]Advice{
			"apart": {Summary: "Move {{.other}} to another volume, limit its I/O (io.max, systemd's IOWriteBandwidthMax), or run it when no client waits",
				Expect:   "up to {{.share}} of the traced calls' waiting ends",
				TradeOff: "it takes longer", NoCommand: "which of these fits depends on what the other program does"}}}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		t := c.Traced()
		if t == nil {
			return nil
		}

		var out []Finding
		for _, other := range t.others() {
			share, most := 0.0, -1

			// Waits are sorted by size, so the first match is the largest.
			for i, w := range t.Waits {
				if w.Behind != other || w.Wait == wait.Lock {
					continue
				}
				if share += w.Share; most < 0 {
					most = i
				}
			}

			if share < anotherLeast {
				continue
			}

			f := r.Finding(other)
			f.Weight = share * t.Covered(c.Stall.Cells.And(t.cells), nil)
			f.Severity = c.SeverityOf(f.Weight)
			f.Windows = c.Windows(t.cells.And(c.Stall.Cells))
			f.Measured, f.Foremost = Confirmed, true
			v := Values{"programs": Called(t.Who()), "share": Part(share), "other": Called(other),
				"most": Part(t.Waits[most].Share), "how": Called(t.Waits[most].Text)}
			f.Say("behind", v)
			f.Evidence = []Evidence{
				c.Figure("measured by a trace: share of the slow calls' waiting that was behind "+other, TraceWait, share,
					"ratio", t.cells),
				c.Figure("total waiting of slow calls in the stalled time", TraceWait, t.WaitedS, "seconds", t.cells),
				c.Figure("stalled time in which the trace ran", TraceSlower, t.StalledS, "seconds", t.cells),
			}

			f.Advise("apart", v)
			out = append(out, f)
		}

		return out
	}

	return r
}

// others are the programs other than the callers' own that calls waited behind, the most costly
// first.
func (t *Traced) others() []string {
	var out []string
	for _, w := range t.Waits {
		if w.Behind != "" && w.Behind != wait.KernelThreads && !slices.Contains(out, w.Behind) {
			out = append(out, w.Behind)
		}
	}
	return out
}
