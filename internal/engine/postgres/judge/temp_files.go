package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// leastSpilled is the share of what the device that wrote most has written from which temporary
	// files are a good part of it.
	leastSpilled = 0.3
	// spillMost bounds how long after a stall its temporary files may be credited: a file counts when
	// it is closed, at the end of the query.
	spillMost = 300.0
)

func tempFiles() rules.Rule {
	r := rules.Rule{ID: "postgres/temp-files", Title: "Queries write temporary files", Kind: rules.Cause,
		Storage: true,
		When:    "plimsoll:postgres_spill_waiting:count > 0",
		Needs:   []*rules.Signal{TempWritten},
		NoAlert: "a query that spills is no fault by itself",
		Cause:   "A sort, a hash or a materialized result that does not fit into work_mem goes to temporary files. They are written through the page cache, so the kernel flushes them by the gigabyte, and the WAL's syncs wait behind them.",
		Words: rules.Words{
			"coincides": "{{.share}} of the stalled time falls into times in which sessions waited for temporary files: {{.in}} of the time stalled then, {{.out}} otherwise. A device's queue was full in {{.queued}} of it.",
			"bytes":     "{{.bytes}} of temporary files were written, {{.part}} of what {{.device}} wrote.",
			"when":      "They are counted when a query ends, so whether they were written during the stalls is not known: wait events would show it.",
		},
		Advice: map[string]rules.Advice{
			"find": {Summary: "Find these queries: log_temp_files",
				Expect: "the log names each query and the size of its files", TradeOff: "a line for each",
				Do: []*rules.Remedy{logTempFiles}},
			"query": {Summary: "Give these queries an index or less to sort, or more work_mem for their role alone (ALTER ROLE ... SET work_mem); not for all: each sort of each session may take that much",
				Expect:    "they stay in memory",
				TradeOff:  "memory",
				NoCommand: "which queries, the log shows"},
			"apart": {Summary: "Put temp_tablespaces on another volume", Expect: "commits no longer wait behind them",
				TradeOff:  "one more volume; it needs no backup",
				NoCommand: "CREATE TABLESPACE on the new volume, then temp_tablespaces = its name"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		if !c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		bytes, part, device := spilled(c)
		if !(bytes > 0) {
			return nil
		}

		f := r.Finding("postgres")
		if c.Measured(SpillWaiting) {
			if !spillCoincides(c, &f) {
				return nil
			}
		} else if queued, ok := c.QueuedShare(c.Stall.Cells); !ok || queued < queuedDevice ||
			!(part >= leastSpilled) {
			return nil
		}

		if f.Weight > 0 {
			if f.Severity = c.SeverityOf(f.Weight); f.Severity == rules.Critical && !(part >= leastSpilled) {
				f.Severity = rules.Warning // sessions waited for them, and the device was busy with something else
			}
		} else {
			f.Severity = rules.Info
		}

		if device != "" {
			f.Say("bytes", rules.Values{"bytes": rules.Bytes(bytes), "part": rules.Part(part),
				"device": rules.Called(device)})
		}

		if !c.Measured(SpillWaiting) {
			f.Say("when", nil)
		}

		f.Evidence = append(f.Evidence,
			c.Figure("temporary files written", TempWritten, bytes, "bytes", timeline.Known(c.One(TempWritten))))
		f.Advise("find", nil)
		f.Advise("query", nil)
		f.Advise("apart", nil)

		return []rules.Finding{f}
	}

	return r
}

// spilled is how much temporary files were written in stalls, and their part of what the device that
// wrote most wrote meanwhile. The files of a stall are credited after it, when the query ends.
func spilled(c *rules.Case) (bytes, part float64, device string) {
	step := c.Grid.StepSeconds()
	credited := c.Stall.Cells.Widen(0, c.Cells(spillMost*1e9))
	bytes = timeline.Sum(timeline.At(c.One(TempWritten), credited)) * step
	most := 0.0
	for _, t := range c.Signal(rules.DiskWritten) {
		if sum := timeline.Sum(timeline.At(t.Values, c.Stall.Cells)) * step; sum > most {
			device, most = t.Labels.Get("device"), sum
		}
	}
	if !(most > 0) {
		return bytes, math.NaN(), ""
	}
	return bytes, math.Min(1, bytes/most), device
}

// spillCoincides judges by the sessions that wait for temporary files.
func spillCoincides(c *rules.Case, f *rules.Finding) bool {
	near := timeline.Where(c.One(SpillWaiting), func(x float64) bool { return x >= 1 }).Widen(1, 1)
	fraction, in, out := c.Attributable(near)
	queued, ok := c.QueuedShare(near.And(c.Stall.Cells))
	if !ok || queued < queuedDevice || fraction < rules.MinAttributable || in < rules.StallRatio*out ||
		!c.Contrasts(near) {
		return false
	}

	f.Weight = fraction
	f.Windows = c.Windows(near.And(c.Stall.Cells))
	f.Say("coincides", rules.Values{"share": rules.Part(rules.Share(near, c.Stall.Cells)), "in": rules.Part(in),
		"out": rules.Part(out), "queued": rules.Part(queued)})
	f.Evidence = []rules.Evidence{
		c.Figure("share of the time that stalled while sessions waited for temporary files", SpillWaiting, in,
			"ratio", near),
		c.Figure("share of the time that stalled otherwise", SpillWaiting, out, "ratio", near.Not()),
	}

	return true
}
