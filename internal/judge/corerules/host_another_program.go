package corerules

import (
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/trace/wait"
)

const (
	// anotherLeast is the share of the slow calls' waiting above which another program is a cause.
	anotherLeast = 0.1
)

func hostAnotherProgram() rules.Rule {
	rule := rules.Rule{
		ID:      "host/another-program",
		Title:   "Syncs wait behind another program's I/O",
		Kind:    rules.Cause,
		Needs:   []*rules.Signal{rules.TraceWait, rules.TraceSlower},
		NoAlert: "a trace runs only for a while",
		Cause:   "All programs on a device share its queue, and all files of a file system share its journal. A sync waits until the requests ahead of it are done, whichever program issued them. The device's counters do not show which program that was; a trace does.",
		Words: rules.Words{
			"behind": "Slow calls of {{.programs}} spent {{.share}} of their waiting time behind I/O of {{.other}}: {{.most}} {{.how}}.",
		},
		Advice: map[string]rules.Advice{
			"apart": {Summary: "Move {{.other}} to another volume, limit its I/O (io.max, systemd's IOWriteBandwidthMax), or run it when no client waits",
				Expect:   "up to {{.share}} of the traced calls' waiting ends",
				TradeOff: "it takes longer", NoCommand: "which of these fits depends on what the other program does"}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		traced := input.Traced()
		if traced == nil {
			return nil
		}

		var out []rules.Finding
		for _, other := range others(traced) {
			share, most := 0.0, -1

			// Waits are sorted by size, so the first match is the largest.
			for i, w := range traced.Waits {
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

			in := traced.Cells.And(input.Stall.Cells)
			f := rule.During(input, other, share*traced.Covered(in, nil), in)
			f.Measured, f.Foremost = rules.Confirmed, true
			v := rules.Values{
				"programs": rules.Called(traced.Who()),
				"share":    rules.Part(share),
				"other":    rules.Called(other),
				"most":     rules.Part(traced.Waits[most].Share),
				"how":      rules.Called(traced.Waits[most].Text),
			}
			f.Say("behind", v)
			f.Evidence = []rules.Evidence{
				input.Figure("measured by a trace: share of the slow calls' waiting that was behind "+other, rules.TraceWait, share,
					"ratio", traced.Cells),
				input.Figure("total waiting of slow calls in the stalled time", rules.TraceWait, traced.WaitedS, "seconds", traced.Cells),
				input.Figure("stalled time in which the trace ran", rules.TraceSlower, traced.StalledS,
					"seconds", traced.Cells),
			}

			f.Advise("apart", v)
			out = append(out, f)
		}

		return out
	}

	return rule
}

// others are the programs other than the callers' own that calls waited behind, the most costly
// first.
func others(t *rules.Traced) []string {
	var out []string
	for _, w := range t.Waits {
		if w.Behind != "" && w.Behind != wait.KernelThreads && !slices.Contains(out, w.Behind) {
			out = append(out, w.Behind)
		}
	}
	return out
}
