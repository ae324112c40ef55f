package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A checkpoint is written and then synced. Paced, it writes during most of the time
// and stalls, if at all, in its last part: the sync is judged by itself first.
type checkpointPhase struct {
	cells timeline.Mask
	// shown is where what shows the coincidence holds: these cells, or a full queue.
	shown               timeline.Mask
	fraction, pIn, pOut float64
	words               string
}

// inQueue is the share of the stalled time with a device's queue full from which the coincidence with
// checkpoints needs no proof that it is none: that queue is how they stall. Where checkpoints run nearly
// always, nothing else could prove it.
const (
	inQueue      = 0.5
	leastOutside = 3 // intervals under load without a checkpoint
)

// minSyncStall is the part of the stalled time that must fall into the syncs to name them.
const minSyncStall = 0.5

func worstPhase(c *rules.Case, ck checkpoints) checkpointPhase {
	least := c.LeastOfCell(0.3, CheckpointWrite, CheckpointSync)
	before, after := 1, c.Cells(rules.AftermathS*1e9)
	if c.ResolutionS(CheckpointWrite, CheckpointSync) > 2*rules.AftermathS {
		before, after = 0, 0 // an interval holds its checkpoint's aftermath, and more
	}

	full, _ := c.Saturated()
	queued := rules.Share(full, c.Stall.Cells) >= inQueue && !c.MeetsByChance(full)
	judged := func(m timeline.Mask, words string) checkpointPhase {
		p := checkpointPhase{cells: m, shown: m, words: words}
		if queued {
			p.shown = full
		}
		if !c.Contrasts(m) && !(queued && c.Stall.Active.Without(m).Count() >= leastOutside) {
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
	"in checkpoints": "{{.share}} of the stalled time falls into checkpoints: {{.in}} of the time stalled in them, {{.out}} otherwise.",
	"in fsyncs":      "{{.share}} of the stalled time falls into the fsync at the end of checkpoints: {{.in}} of the time stalled in them, {{.out}} otherwise.",
	"finished":       "A checkpoint wrote for {{.write}} and was in fsync for {{.sync}} on average.",
	"open":           "The last one has not ended: {{with .writing}}{{.}} writing{{end}}{{if and .writing .syncing}} and {{end}}{{with .syncing}}{{.}} in fsync{{end}} so far.",
	"recurring":      "They come every {{.period}}.",
}

var burstAdvice = map[string]rules.Advice{
	"pace": {
		Summary: "Pace it: checkpoint_completion_target = 0.9 and checkpoint_flush_after = 256kB (PostgreSQL's defaults; 14 and later for the first)" +
			"{{if .paced}}; both are set so already: look at what else fsyncs, and at the next fixes" +
			"{{else if and .target .flush}}; they are {{.target}} and {{.flush}} now" +
			"{{else if .target}}; the first is {{.target}} now{{end}}",
		Expect:   "the writes spread over the interval and the fsync finds little to do; measured at 600 transactions/s on a 3,000 IOPS volume: p99 3.3 s to 5 ms",
		TradeOff: "hardly any: recovery time is bounded by checkpoint_timeout and max_wal_size, not by these",
		Decisive: true, Do: []*rules.Remedy{paceCheckpoints}},
	"seldom": {Summary: "Raise checkpoint_timeout and max_wal_size",
		Expect:   "fewer checkpoints, and less WAL: most of it is full-page images after a checkpoint",
		TradeOff: "a longer recovery after a crash; disk for WAL", Do: []*rules.Remedy{seldomCheckpoints}},
	"apart": {Summary: "Put pg_wal on a volume of its own", Expect: "commits no longer wait behind data",
		TradeOff: "one more volume", Do: []*rules.Remedy{rules.LogApart}},
}

func checkpointBurst() rules.Rule {
	r := rules.Rule{ID: "postgres/checkpoint-burst", Title: "Checkpoints stall commits", Kind: rules.Cause,
		Traced: rules.BehindCheckpoint, Storage: true,
		When:   "plimsoll:postgres_checkpoint_sync:ratio > 0.3",
		Needs:  []*rules.Signal{CheckpointWrite, CheckpointSync},
		Cause:  "A checkpoint writes every dirty buffer and fsyncs every file. Unpaced, all of it reaches the volume at once; commits then wait for their WAL's fdatasync behind it, longest while the checkpoint itself is in fsync.",
		Words:  burstWords,
		Advice: burstAdvice}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		ck, ok := findCheckpoints(&c.Signals)
		if !ok || !c.Stall.Any() {
			return nil
		}

		p := worstPhase(c, ck)
		if p.fraction < rules.MinAttributable {
			return nil
		}

		cells, near := ck.all(), p.cells
		f := r.Finding("postgres")
		f.Weight = p.fraction
		f.Severity = c.SeverityIn(p.shown, p.fraction)
		f.Windows = c.Windows(near.And(c.Stall.Cells).Close(1))
		f.PeriodS = c.Period(cells.Close(c.Cells(3e9)))
		f.Say(p.words, rules.Values{"share": rules.Part(rules.Share(near, c.Stall.Cells)), "in": rules.Part(p.pIn),
			"out": rules.Part(p.pOut)})
		f.Evidence = []rules.Evidence{
			c.Figure("share of the time that stalled during a checkpoint", CheckpointSync, p.pIn, "ratio", near),
			c.Figure("share of the time that stalled otherwise", CheckpointSync, p.pOut, "ratio", near.Not()),
		}

		finished(c, &f, ck)
		open(c, &f, ck)
		if f.PeriodS > 0 {
			f.Say("recurring", rules.Values{"period": rules.Seconds(f.PeriodS)})
		}

		if sat, ok := c.Saturated(); ok {
			f.Evidence = append(f.Evidence,
				c.Figure("share of the checkpoints' time in which a device was saturated", rules.DiskBusy,
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
			if v := c.One(s.signal); v != nil {
				f.Evidence = append(f.Evidence, c.Figure(s.name, s.signal, timeline.Max(v), s.unit, timeline.Known(v)))
			}
		}

		f.Advise("pace", pacing(c))
		f.Advise("seldom", nil)
		f.Advise("apart", nil)

		return []rules.Finding{f}
	}

	return r
}

// finished adds how long the checkpoints took that have ended.
func finished(c *rules.Case, f *rules.Finding, ck checkpoints) {
	cells := ck.finished
	if cells.Count() == 0 && ck.open.Count() > 0 {
		return
	}

	step, n := c.Grid.StepSeconds(), checkpointCount(&c.Signals, cells)
	f.Say("finished", rules.Values{"write": rules.Seconds(timeline.Sum(ck.write) * step / n),
		"sync": rules.Seconds(timeline.Sum(ck.sync) * step / n)})
	f.Evidence = append(f.Evidence,
		c.Figure("most fsync time credited to one interval", CheckpointSync, timeline.Max(ck.sync)*step,
			"seconds", cells),
		c.Figure("checkpoints", nil, n, "", cells))

	if b := c.One(BuffersCheckpoint); b != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("buffers a checkpoint wrote, mean (8 kB each)", BuffersCheckpoint,
				timeline.Sum(b)*step/n, "", cells))
	}
}

// open adds how far the one is that has not ended, by what the checkpointer waits for.
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
				c.Figure("time the checkpoint that has not ended has been "+phase.text, Checkpointer, s, "seconds",
					phase.cells))
		}
	}

	f.Say("open", took)
}

// pacing is what the settings are, where the exporter reports them; paced is empty unless they are
// as advised.
func pacing(c *rules.Case) rules.Values {
	target := timeline.Max(c.One(CheckpointCompletionTarget))
	flush := timeline.Max(c.One(CheckpointFlushAfter))
	v := rules.Values{"target": rules.Number(target), "flush": rules.Bytes(flush), "paced": ""}
	if target >= 0.9 && flush > 0 {
		v["paced"] = rules.Called("paced")
	}
	return v
}
