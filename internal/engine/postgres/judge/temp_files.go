package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// minSpilled is the share of the busiest device's writes above which temporary files are a
	// large part of them.
	minSpilled = 0.3
	// maxSpillDelayS bounds how long after a stall its temporary files may be credited: a file
	// counts when it is closed, at the end of the query.
	maxSpillDelayS = 300.0
)

func tempFiles() rules.Rule {
	rule := rules.Rule{ID: "postgres/temp-files", Title: "Queries write temporary files", Kind: rules.Cause,
		Storage: true, Stalled: true,
		When:    "plimsoll:postgres_spill_waiting:count > 0",
		Needs:   []*rules.Signal{TempWritten},
		NoAlert: "a query that spills is not a fault in itself",
		Cause:   "A sort, a hash or a materialized result that does not fit into work_mem goes to temporary files. They are written through the page cache, so the kernel flushes gigabytes of them in one go, and the WAL's syncs wait behind those writes.",
		Words: rules.Words{
			"coincides": "{{.share}} of the stalled time coincides with sessions waiting for temporary files: commits stalled {{.in}} of the time while sessions waited, {{.out}} of the time otherwise. A device's queue was full {{.queued}} of that time.",
			"bytes":     "Queries wrote {{.bytes}} of temporary files, {{.part}} of the bytes written to {{.device}}.",
			"when":      "They are counted when a query ends, so it is unknown whether they were written during the stalls: wait events would show it.",
		},
		Advice: map[string]rules.Advice{
			"find": {Summary: "Find these queries with log_temp_files",
				Expect: "the log names each query and the size of its files", TradeOff: "a log line for each file",
				Do: []*rules.Remedy{logTempFiles}},
			"query": {Summary: "Give these queries an index or less to sort, or more work_mem for their role only (ALTER ROLE ... SET work_mem); not for all roles: every sort of every session may take that much",
				Expect:    "they stay in memory",
				TradeOff:  "more memory",
				NoCommand: "the log shows which queries they are"},
			"apart": {Summary: "Put temp_tablespaces on another volume",
				Expect:    "commits no longer wait behind these writes",
				TradeOff:  "one more volume; it needs no backup",
				NoCommand: "CREATE TABLESPACE on the new volume, then set temp_tablespaces to its name"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		bytes, part, device := spilled(input)
		if !(bytes > 0) {
			return nil
		}

		// Wait events date the spills. Without them only the bytes and a full queue are known:
		// info.
		finding := rule.Finding("postgres")
		finding.Severity = rules.Info
		if input.Measured(SpillWaiting) {
			var ok bool
			if finding, ok = spillCoincides(rule, input); !ok {
				return nil
			}
			// Sessions waited for the files, but the device may have been busy with other writes.
			if !(part >= minSpilled) {
				finding.Severity = rules.LessThanCritical(finding.Severity)
			}
		} else if queued, ok := input.QueuedShare(input.Stall.Cells); !ok || queued < queuedDevice ||
			!(part >= minSpilled) {
			return nil
		}

		if device != "" {
			finding.Say("bytes", rules.Values{"bytes": rules.Bytes(bytes), "part": rules.Part(part),
				"device": rules.Called(device)})
		}

		if !input.Measured(SpillWaiting) {
			finding.Say("when", nil)
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("temporary files written", TempWritten, bytes, "bytes", timeline.Known(input.One(TempWritten))))
		finding.Advise("find", nil)
		finding.Advise("query", nil)
		finding.Advise("apart", nil)

		return []rules.Finding{finding}
	}

	return rule
}

// spilled returns the bytes of temporary files written during stalls, and their share of the writes
// of the device that wrote most. A stall's files are credited after it, when the query ends.
func spilled(c *rules.Case) (bytes, part float64, device string) {
	step := c.Grid.StepSeconds()
	credited := c.Stall.Cells.Widen(0, c.Cells(maxSpillDelayS*1e9))
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

// spillCoincides judges by the sessions waiting for temporary files.
func spillCoincides(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	near := timeline.Where(c.One(SpillWaiting), func(x float64) bool { return x >= 1 }).Widen(1, 1)
	queued, known := c.QueuedShare(near.And(c.Stall.Cells))
	f, v, ok := r.Coincides(c, "postgres", near, SpillWaiting,
		"share of the time stalled while sessions waited for temporary files", "share of the time stalled otherwise")
	if !ok || !known || queued < queuedDevice {
		return rules.Finding{}, false
	}

	v["queued"] = rules.Part(queued)
	f.Say("coincides", v)
	return f, true
}
