package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A checkpoint writes first and then syncs. A paced one writes most of the time and stalls commits,
// if at all, in its last part; so the sync phase is judged by itself first.
type checkpointPhase struct {
	cells timeline.Mask
	// shown are the cells that prove the coincidence: those of the phase, or those with a full
	// queue.
	shown               timeline.Mask
	fraction, pIn, pOut float64
	words               string
}

// If the device queue is full for minQueuedShare of the stalled time or more, stalls during checkpoints
// count as caused by them even without a contrast, because the queue is how a checkpoint stalls
// commits. If checkpoints run nearly all the time, nothing else could show it.
const (
	minQueuedShare = 0.5
	minOutside     = 3 // intervals under load without a checkpoint
)

// minSyncStall is the share of the stalled time that must fall within syncs for the finding to name
// them.
const minSyncStall = 0.5

func worstPhase(c *rules.Case, ck checkpoints) checkpointPhase {
	least := c.LeastOfCell(0.3, CheckpointWrite, CheckpointSync)

	// A checkpoint's writes still fill the device's queue for a while after it has ended.
	before, after := 1, c.Cells(rules.AftermathS*1e9)
	if c.ResolutionS(CheckpointWrite, CheckpointSync) > 2*rules.AftermathS {
		before, after = 0, 0 // the interval is long enough to include the checkpoint's aftermath
	}

	full, _ := c.Saturated()
	queued := rules.Share(full, c.Stall.Cells) >= minQueuedShare && !c.MeetsByChance(full)
	judged := func(m timeline.Mask, words string) checkpointPhase {
		p := checkpointPhase{cells: m, shown: m, words: words}
		if queued {
			p.shown = full
		}

		// Without enough time outside of checkpoints there is no baseline, queue or not.
		if !c.Contrasts(m) && !(queued && c.Stall.Active.Without(m).Count() >= minOutside) {
			return p
		}

		if p.fraction, p.pIn, p.pOut = c.Attributable(m); p.pIn < rules.StallRatio*p.pOut {
			p.fraction = 0
		}

		return p
	}

	syncs := timeline.Where(c.Credited(ck.sync), func(x float64) bool { return x >= least }).Or(ck.openSync)
	p := judged(syncs.Widen(before, after), "in fsyncs")
	if p.fraction >= rules.MinAttributable && rules.Share(p.cells, c.Stall.Cells) >= minSyncStall {
		return p
	}

	return judged(ck.all().Widen(before, after), "in checkpoints")
}

var burstWords = rules.Words{
	"in checkpoints": "{{.share}} of the stalled time falls within checkpoints: commits stalled {{.in}} of the time during checkpoints, {{.out}} of the time otherwise.",
	"in fsyncs":      "{{.share}} of the stalled time falls within the fsync at the end of checkpoints: commits stalled {{.in}} of the time during fsyncs, {{.out}} of the time otherwise.",
	"finished":       "On average a checkpoint wrote for {{.write}} and was in fsync for {{.sync}}.",
	"open":           "The last one was still running when the recording ended: {{with .writing}}{{.}} writing{{end}}{{if and .writing .syncing}} and {{end}}{{with .syncing}}{{.}} in fsync{{end}} so far.",
	"recurring":      "Checkpoints run every {{.period}}.",
}

var burstAdvice = map[string]rules.Advice{
	"pace": {
		Summary: "Pace it: checkpoint_completion_target = 0.9 and checkpoint_flush_after = 256kB (PostgreSQL's defaults; 14 and later for the first)" +
			"{{if .paced}}; both are already set that way: check what else calls fsync, and try the next fixes" +
			"{{else if and .target .flush}}; they are {{.target}} and {{.flush}} now" +
			"{{else if .target}}; the first is {{.target}} now{{end}}",
		Expect:   "the writes spread over the interval, so the fsync has little to do; measured at 600 transactions/s on a 3,000 IOPS volume: p99 fell from 3.3 s to 5 ms",
		TradeOff: "almost none: recovery time is bounded by checkpoint_timeout and max_wal_size, not by these settings",
		Decisive: true, Do: []*rules.Remedy{paceCheckpoints}},
	"seldom": {Summary: "Raise checkpoint_timeout and max_wal_size",
		Expect:   "fewer checkpoints, and less WAL: most of it is full-page images after a checkpoint",
		TradeOff: "longer crash recovery; more disk space for WAL", Do: []*rules.Remedy{seldomCheckpoints}},
	"apart": {Summary: "Put pg_wal on a separate volume", Expect: "commits no longer wait behind data writes",
		TradeOff: "one more volume", Do: []*rules.Remedy{rules.LogApart}},
}

func checkpointBurst() rules.Rule {
	rule := rules.Rule{ID: "postgres/checkpoint-burst", Title: "Checkpoints stall commits", Kind: rules.Cause,
		Traced: rules.BehindCheckpoint, Storage: true,
		When:   "plimsoll:postgres_checkpoint_sync:ratio > 0.3",
		Needs:  []*rules.Signal{CheckpointWrite, CheckpointSync},
		Cause:  "A checkpoint writes every dirty buffer and fsyncs every file. If it is not paced, all of that reaches the volume in one burst. The WAL's fdatasync queues behind the burst and commits wait for it, longest while the checkpoint itself is in fsync.",
		Words:  burstWords,
		Advice: burstAdvice}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		ck, ok := findCheckpoints(&input.Signals)
		if !ok || !input.Stall.Any() {
			return nil
		}

		p := worstPhase(input, ck)
		if p.fraction < rules.MinAttributable {
			return nil
		}

		cells, near := ck.all(), p.cells
		finding := rule.Finding("postgres")
		finding.Weight = p.fraction
		finding.Severity = input.SeverityIn(p.shown, p.fraction)
		finding.Windows = input.Windows(near.And(input.Stall.Cells).Close(1))
		finding.PeriodS = input.Period(cells.Close(input.Cells(3e9)))
		finding.Say(p.words, rules.Values{"share": rules.Part(rules.Share(near, input.Stall.Cells)), "in": rules.Part(p.pIn),
			"out": rules.Part(p.pOut)})
		finding.Evidence = []rules.Evidence{
			input.Figure("share of the time stalled during a checkpoint", CheckpointSync, p.pIn, "ratio", near),
			input.Figure("share of the time stalled otherwise", CheckpointSync, p.pOut, "ratio", near.Not()),
		}

		finished(input, &finding, ck)
		open(input, &finding, ck)
		if finding.PeriodS > 0 {
			finding.Say("recurring", rules.Values{"period": rules.Seconds(finding.PeriodS)})
		}

		if sat, ok := input.Saturated(); ok {
			finding.Evidence = append(finding.Evidence,
				input.Figure("share of the checkpoints' time with a saturated device", rules.DiskBusy,
					rules.Share(sat, cells), "ratio", cells))
		}

		for _, s := range []struct {
			signal     *rules.Signal
			name, unit string
		}{
			{CheckpointCompletionTarget, "checkpoint_completion_target", "ratio"},
			{CheckpointFlushAfter, "checkpoint_flush_after", "bytes"},
			{CheckpointTimeout, "checkpoint_timeout", "seconds"},
		} {
			if v := input.One(s.signal); v != nil {
				finding.Evidence = append(finding.Evidence,
					input.Figure(s.name, s.signal, timeline.Max(v), s.unit, timeline.Known(v)))
			}
		}

		finding.Advise("pace", pacing(input))
		finding.Advise("seldom", nil)
		finding.Advise("apart", nil)

		return []rules.Finding{finding}
	}

	return rule
}

// finished adds how long the completed checkpoints took.
func finished(c *rules.Case, f *rules.Finding, ck checkpoints) {
	cells := ck.finished
	if cells.Count() == 0 && ck.open.Count() > 0 {
		return
	}

	step, n := c.Grid.StepSeconds(), checkpointCount(&c.Signals, cells)
	f.Say("finished", rules.Values{"write": rules.Seconds(timeline.Sum(ck.write) * step / n),
		"sync": rules.Seconds(timeline.Sum(ck.sync) * step / n)})
	f.Evidence = append(f.Evidence,
		c.Figure("fsync time credited to one interval, maximum", CheckpointSync, timeline.Max(ck.sync)*step,
			"seconds", cells),
		c.Figure("checkpoints", nil, n, "", cells))

	if b := c.One(BuffersCheckpoint); b != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("buffers written per checkpoint, mean (8 kB each)", BuffersCheckpoint,
				timeline.Sum(b)*step/n, "", cells))
	}
}

// open adds the progress of the checkpoint still running at the end of the recording, judged by
// what the checkpointer waits for.
func open(c *rules.Case, f *rules.Finding, ck checkpoints) {
	if ck.open.Count() == 0 {
		return
	}

	took := rules.Values{"writing": "", "syncing": ""}
	for _, phase := range []struct {
		value, text string
		cells       timeline.Mask
	}{{"writing", "writing", ck.open.Without(ck.openSync)}, {"syncing", "in fsync", ck.openSync}} {
		if s := c.Seconds(phase.cells); s > 0 {
			took[phase.value] = rules.Seconds(s)
			f.Evidence = append(f.Evidence,
				c.Figure("time the unfinished checkpoint has spent "+phase.text, Checkpointer, s, "seconds",
					phase.cells))
		}
	}

	f.Say("open", took)
}

// pacing returns the current settings if the exporter reports them; paced is empty unless they
// already match the advice.
func pacing(c *rules.Case) rules.Values {
	target := timeline.Max(c.One(CheckpointCompletionTarget))
	flush := timeline.Max(c.One(CheckpointFlushAfter))
	return rules.Values{"target": rules.Number(target), "flush": rules.Bytes(flush),
		"paced": rules.If(target >= 0.9 && flush > 0, "paced")}
}
