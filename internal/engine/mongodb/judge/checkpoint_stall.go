package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// CheckpointCells returns the cells in which a checkpoint ran. It combines the running flag with
// the time that is credited when a checkpoint ends, because a flag sampled once a second misses
// short checkpoints, and one sampled every 10 s misses most.
func CheckpointCells(sig *rules.Signals) (timeline.Mask, bool) {
	running := sig.One(CheckpointRunning)
	credited := sig.Credited(sig.One(CheckpointTime))
	if running == nil && credited == nil {
		return nil, false
	}
	least := sig.LeastOfCell(0.5, CheckpointTime)
	m := make(timeline.Mask, sig.Grid.N).Or(timeline.Where(running, func(x float64) bool { return x > 0 }))
	return m.Or(timeline.Where(credited, func(x float64) bool { return x >= least })), true
}

// Below mostlyInCheckpoints, most of the stalled time is outside checkpoints and has another cause.
const mostlyInCheckpoints = 0.55

func checkpointStall() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/checkpoint-stall", Title: "Checkpoints stall writes", Kind: rules.Cause,
		Traced:  rules.BehindCheckpoint,
		Storage: true,
		When:    "plimsoll:wt_checkpoint_running:bool > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{CheckpointRunning, CheckpointTime},
		NoAlert: "its condition is that a checkpoint runs, which is not a fault; mongodb/slow-writes alerts on writes that wait for it",
		Cause:   "60 s after the last checkpoint ended, WiredTiger writes all dirty pages and fdatasyncs every file. On a small volume this fills the device's queue for as long as the bytes take, and everything else that needs the device waits in it.",
		Words: rules.Words{
			"stood":         "Most of what the volume wrote meanwhile was already in the page cache before the stalls: a checkpoint's fsync only triggers writes that were due anyway.",
			"backlog":       "See " + backlogRule + ".",
			"some":          "Most of the stalled time is outside checkpoints: they only add to it.",
			"reads":         "Checkpoints stall reads",
			"during":        "{{.share}} of the stalled time falls into checkpoints: writes stalled for {{.in}} of the time while one ran, and for {{.out}} while none did.",
			"longest":       "The longest took {{.longest}}.",
			"recurring":     "They start every {{.period}}.",
			"not saturated": "A device was saturated in only {{.share}} of that time: writes do not wait for the volume but for what a checkpoint does in the host (CPU, locks, eviction).",
			"saturated":     "A device was saturated in {{.share}} of that time.",
			"not measured":  "Whether the volume was saturated meanwhile is unknown without the device's counters.",

			"harmless":           "Checkpoints are long, but writes do not wait for them",
			"harmless because":   "A checkpoint makes writes wait when it fills the queue of the volume that holds their journal. If the journal is elsewhere, or the OS writes early, a long checkpoint does no harm.",
			"harmless in":        "The longest checkpoint took {{.longest}}; writes stalled for {{.in}} of the time while one ran, and for {{.out}} while none did.",
			"harmless saturated": "A device was saturated in {{.share}} of the checkpoints' time; reads from it may have been slower.",
		},
		Advice: map[string]rules.Advice{
			"bound": {Summary: "Bound the OS's dirty bytes (vm.dirty_background_bytes = the volume's bytes/s x the seconds of stall you tolerate)",
				Expect:   "the checkpoint's writes reach the volume as they are made, not in one fsync; measured on the storage engine alone, a 3,000 IOPS volume: longest checkpoint 7.6 s to 1.1 s, write p99 7.9 s to 0.27 s; on a whole mongod 5.0.7, 1,000 IOPS and 40 MiB/s: checkpoints 11.1 s to 5.7 s, write p99 129 ms to 98 ms",
				TradeOff: "about 40 % more bytes to the device", Do: []*rules.Remedy{rules.BoundDirtyBytes}},
			"smaller": {Summary: "Lower the dirty target so that less is left for the checkpoint: eviction_dirty_target=1 (wiredTigerEngineRuntimeConfig). Leave the triggers as they are: otherwise operations would start to evict at a quarter of the usual level",
				Expect:   "smaller checkpoints; measured on the storage engine alone, a 3,000 IOPS volume: a fifth off the p99 by itself, 7.9 s to 0.17 s together with bounded OS dirty bytes; not measured on a whole mongod",
				TradeOff: "more CPU and more page writes between checkpoints",
				Do:       []*rules.Remedy{smallerCheckpoints}},
			"apart": apartAdvice,
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		running, ok := CheckpointCells(&input.Signals)

		// The volume's queue outlasts the checkpoint, so the aftermath counts as its time too.
		if !ok {
			return nil
		}

		near := input.WithAftermath(running)
		fraction, pIn, pOut := input.Attributable(near)
		if fraction < rules.MinAttributable || pIn < rules.StallRatio*pOut || !input.Contrasts(near) {
			return harmless(rule, input, running, near)
		}

		finding := rule.Finding("wiredtiger")
		if input.Stall.Rule == "mongodb/slow-reads" {
			finding.Entitle("reads", nil)
		}

		finding.Weight = fraction
		finding.Severity = input.SeverityIn(near, fraction)
		finding.Windows = input.Windows(near.And(input.Stall.Cells))
		finding.PeriodS = input.Period(running)
		last := input.One(CheckpointLast)
		finding.Say("during", rules.Values{"share": rules.Part(rules.Share(near, input.Stall.Cells)), "in": rules.Part(pIn),
			"out": rules.Part(pOut)})

		if d := timeline.Max(last); d > 0 {
			finding.Say("longest", rules.Values{"longest": rules.Seconds(d)})
		}

		if finding.PeriodS > 0 {
			finding.Say("recurring", rules.Values{"period": rules.Seconds(finding.PeriodS)})
		}

		// Both cases make the checkpoint a contributor at most; the cause has its own finding.
		switch {
		case input.PageCacheStood():
			finding.Severity = rules.Info
			finding.Say("stood", nil)
			finding.SayIf(backlogRule, "backlog", nil)
		case rules.Share(near, input.Stall.Cells) < mostlyInCheckpoints:
			finding.Severity = rules.Info
			finding.Say("some", nil)
		}

		finding.Evidence = append(finding.Evidence,
			input.Figure("share of the time that stalled while a checkpoint ran", CheckpointRunning, pIn, "ratio", near),
			input.Figure("share of the time that stalled while none ran", CheckpointRunning, pOut, "ratio", near.Not()),
			input.Figure("checkpoints", nil, float64(len(running.Episodes())), "", running))

		checkpointFigures(input, &finding, running)
		checkpointFixes(input, &finding, near.And(input.Stall.Cells))
		return []rules.Finding{finding}
	}

	return rule
}

// A checkpoint of longCheckpointS or more arouses suspicion. Writes do not wait for checkpoints if
// these ran under load for at least longLeastS, and either nothing stalled meanwhile or under
// harmlessShare of that time did, with no more stalls than chance would bring.
const (
	longCheckpointS = 2.0
	longLeastS      = 5.0
	harmlessShare   = 0.10
)

// harmless refutes the suspicion that long checkpoints cause the stalls.
func harmless(r rules.Rule, input *rules.Case, running, near timeline.Mask) []rules.Finding {
	longest := timeline.Max(input.One(CheckpointLast))
	if math.IsNaN(longest) {
		longest = 0
		for _, e := range running.Episodes() {
			longest = max(longest, float64(e.Cells())*input.Grid.StepSeconds())
		}
	}

	loaded := running.And(input.Stall.Active)
	stalled := rules.Share(input.Stall.Cells, loaded)

	// Checkpoints that mostly ran without load prove nothing.
	if input.Stall.Rule != "mongodb/slow-writes" || !(longest >= longCheckpointS) ||
		input.Seconds(loaded) < longLeastS || loaded.Count()*2 < running.Count() || stalled > harmlessShare {
		return nil
	}

	if stalled > 0 && (!input.Comparable(near) || input.ChanceToMeet(near) <= rules.MaxChance) {
		return nil
	}

	f := r.Finding("wiredtiger")
	f.Kind, f.Severity = rules.Refutation, rules.Info
	f.Entitle("harmless", nil)
	f.Explain("harmless because", nil)
	f.Say("harmless in", rules.Values{"longest": rules.Seconds(longest), "in": rules.Part(stalled),
		"out": rules.Part(rules.Share(input.Stall.Cells, input.Stall.Active.Without(running)))})
	f.Evidence = []rules.Evidence{
		input.Figure("share of the time that stalled while a checkpoint ran", CheckpointRunning, stalled,
			"ratio", loaded),
		input.Figure("checkpoints", nil, float64(len(running.Episodes())), "", running),
		input.Figure("longest checkpoint", CheckpointLast, longest, "seconds", running),
	}

	if sat, ok := input.Saturated(); ok {
		share := rules.Share(sat, loaded)
		f.Evidence = append(f.Evidence,
			input.Figure("share of the checkpoints' time in which a device was saturated", rules.DiskBusy, share,
				"ratio", loaded))
		if share >= rules.IdleSaturation {
			f.Say("harmless saturated", rules.Values{"share": rules.Part(share)})
		}
	}

	return []rules.Finding{f}
}

func checkpointFigures(c *rules.Case, f *rules.Finding, running timeline.Mask) {
	if last := c.One(CheckpointLast); last != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("longest checkpoint", CheckpointLast, timeline.Max(last), "seconds", timeline.Known(last)))
	}
	if written := c.One(CheckpointWritten); written != nil {
		n := float64(max(1, len(running.Episodes())))
		f.Evidence = append(f.Evidence, c.Figure("bytes written for a checkpoint, mean", CheckpointWritten,
			timeline.Sum(written)*c.Grid.StepSeconds()/n, "bytes", running))
	}
	if dirty := c.One(Dirty); dirty != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("most dirty bytes in the cache", Dirty, timeline.Max(dirty), "bytes", timeline.Known(dirty)))
	}
}

// checkpointFixes depend on what writes wait for during a checkpoint: the volume or, if no device
// had a queue, something inside the host.
func checkpointFixes(c *rules.Case, f *rules.Finding, stalled timeline.Mask) {
	share, ok := c.QueuedShare(stalled)
	if ok {
		f.Evidence = append(f.Evidence,
			c.Figure("share of the stalled time in checkpoints in which a device was saturated", rules.DiskBusy, share,
				"ratio", stalled))
		if share < rules.IdleSaturation {
			f.Say("not saturated", rules.Values{"share": rules.Part(share)})
			f.Advise("smaller", nil)
			return
		}
		f.Say("saturated", rules.Values{"share": rules.Part(share)})
	} else {
		f.Say("not measured", nil)
	}

	f.Advise("bound", nil)
	f.Advise("smaller", nil)
	adviseApart(c, f)
}
