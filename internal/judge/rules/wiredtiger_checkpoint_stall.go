package rules

import (
	"fmt"
	"math"

	"plimsoll/internal/record/timeline"
)

// CheckpointCells is where a WiredTiger checkpoint ran: by its running flag, and by
// the time a checkpoint is credited with when it ends (a flag sampled once a
// second misses short ones, one sampled every 10 s most).
func (c *Case) CheckpointCells() (timeline.Mask, bool) {
	running := c.One(SignalPrefix + "wt_checkpoint_running:bool")
	credited := c.Credited(c.One(SignalPrefix + "wt_checkpoint_time:ratio"))
	if running == nil && credited == nil {
		return nil, false
	}
	least := c.leastOfCell(0.5)
	m := timeline.Where(running, func(x float64) bool { return x > 0 })
	m = m.Or(timeline.Where(credited, func(x float64) bool { return x >= least }))
	if len(m) < c.Grid.N { // neither series has a value
		m = make(timeline.Mask, c.Grid.N)
	}
	return m, true
}

// leastOfCell is the share of a cell from which it counts as covered: the given
// one, or half a second where a cell is many seconds long.
func (c *Case) leastOfCell(share float64) float64 {
	return min(share, 0.5/c.Grid.StepSeconds())
}

// checkpointAftermathS is how long after a checkpoint a stall is still counted to it: the
// writers that waited are credited when they are through.
const checkpointAftermathS = 2

// withAftermath adds to checkpoints the time in which the writers that waited get through. Where
// checkpoints follow each other closely it adds less, lest nothing is left between them.
func (c *Case) withAftermath(running timeline.Mask) timeline.Mask {
	var gaps []float64
	eps := running.Episodes()
	for i := 1; i < len(eps); i++ {
		gaps = append(gaps, float64(eps[i].First-eps[i-1].Last-1))
	}
	after := c.Cells(checkpointAftermathS * 1e9)
	if gap := timeline.Quantile(gaps, 0.5); gap == gap {
		after = min(after, int(gap/4))
	}
	return running.Widen(0, after)
}

// A condition that holds in nearly all of the recording leaves nothing to compare with, and
// one that holds in much of it meets a few stalls by chance: then nothing can be
// attributed to it.
const (
	minContrast      = 0.05
	minContrastCells = 3
	maxChance        = 0.2
)

// contrasts reports whether enough of the time under load is outside a condition, and whether
// so many of the stalls would seldom meet it by chance: each does with the share of the time it holds.
func (c *Case) contrasts(condition timeline.Mask) bool {
	return c.comparable(condition) && c.chanceToMeet(condition) <= maxChance
}

// comparable reports whether enough of the time under load is outside a condition.
func (c *Case) comparable(condition timeline.Mask) bool {
	out := c.Stall.Active.Without(condition).Count()
	return out >= minContrastCells && float64(out) >= minContrast*float64(c.Stall.Active.Count())
}

// chanceToMeet is how likely as many stalls would meet a condition as do, had the two nothing to
// do with each other.
func (c *Case) chanceToMeet(condition timeline.Mask) float64 {
	met, stalls := 0, c.Stall.Cells.Close(c.Cells(checkpointAftermathS*1e9)).Episodes()
	for _, e := range stalls {
		if timeline.MaskOf(c.Grid.N, []timeline.Episode{e}).And(condition).Count() > 0 {
			met++
		}
	}
	return byChance(len(stalls), met, Share(condition, c.Stall.Active))
}

// byChance is how likely at least met of n stalls meet a condition that holds for a share p of
// the time, if they have nothing to do with each other: the upper tail of the binomial distribution.
func byChance(n, met int, p float64) (tail float64) {
	if p >= 1 || met <= 0 {
		return 1
	}
	if p <= 0 {
		return 0
	}
	lnFactorial := func(k int) float64 {
		x, _ := math.Lgamma(float64(k) + 1)
		return x
	}
	for k := met; k <= n; k++ { // by logarithms: a day has thousands of stalls
		tail += math.Exp(lnFactorial(n) - lnFactorial(k) - lnFactorial(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return min(1, tail)
}

// stallRatio is how many times as often cells must stall under a condition as without
// it before the condition is called a cause: below it the two meet by chance.
const stallRatio = 2.0

func wiredtigerCheckpointStall() Rule {
	r := Rule{ID: "wiredtiger/checkpoint-stall", Title: "Checkpoints stall writes", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_checkpoint_running:bool > 0",
		Needs: []string{},
		AnyOf: []string{SignalPrefix + "wt_checkpoint_running:bool", SignalPrefix + "wt_checkpoint_time:ratio"},
		Cause: "Every 60 s after the last one ended, WiredTiger writes all dirty pages and fdatasyncs every file. On a small volume this fills the device's queue for as long as the bytes take, and everything else that needs the device waits in it."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		running, ok := c.CheckpointCells()
		if !ok {
			return nil
		}
		near := c.withAftermath(running)
		fraction, pIn, pOut := c.Attributable(near)
		if fraction < minAttributable || pIn < stallRatio*pOut || !c.contrasts(near) {
			return r.harmless(c, running, near)
		}
		f := r.finding("wiredtiger")
		if c.Stall.Rule == "mongodb/slow-reads" {
			f.Title = "Checkpoints stall reads"
		}
		f.Weight = fraction
		f.Severity = c.severityOf(fraction)
		f.Windows = c.Windows(near.And(c.Stall.Cells))
		f.PeriodS = c.Period(running)
		last := c.One(SignalPrefix + "wt_checkpoint_last:seconds")
		f.Summary = fmt.Sprintf("%s of the stalled time falls into checkpoints: %s of the time stalled while one ran, %s while none did.",
			pct(Share(near, c.Stall.Cells)), pct(pIn), pct(pOut))
		if d := timeline.Max(last); d > 0 {
			f.Summary += fmt.Sprintf(" The longest took %s.", dur(d))
		}
		if f.PeriodS > 0 {
			f.Summary += fmt.Sprintf(" They start every %s.", dur(f.PeriodS))
		}
		f.Evidence = append(f.Evidence,
			c.figure("share of the time that stalled while a checkpoint ran", SignalPrefix+"wt_checkpoint_running:bool", pIn, "ratio", near),
			c.figure("share of the time that stalled while none ran", SignalPrefix+"wt_checkpoint_running:bool", pOut, "ratio", near.Not()),
			c.figure("checkpoints", "", float64(len(running.Episodes())), "", running))
		r.checkpointFigures(c, &f, running)
		f.Fixes = r.checkpointFixes(c, &f, near.And(c.Stall.Cells))
		return []Finding{f}
	}
	return r
}

// A checkpoint of longCheckpointS is one that somebody suspects. Writes do not wait for such
// where they ran under load for longLeastS at least and nothing stalled meanwhile, or under
// harmlessShare of that time did and no more stalls met them than chance brings.
const (
	longCheckpointS = 2.0
	longLeastS      = 5.0
	harmlessShare   = 0.10
)

// harmless refutes what long checkpoints are easily suspected of.
func (r Rule) harmless(c *Case, running, near timeline.Mask) []Finding {
	longest := timeline.Max(c.One(SignalPrefix + "wt_checkpoint_last:seconds"))
	if math.IsNaN(longest) {
		longest = 0
		for _, e := range running.Episodes() {
			longest = max(longest, float64(e.Cells())*c.Grid.StepSeconds())
		}
	}
	loaded := running.And(c.Stall.Active)
	stalled := Share(c.Stall.Cells, loaded)
	if c.Stall.Rule != "mongodb/slow-writes" || !(longest >= longCheckpointS) ||
		c.Seconds(loaded) < longLeastS || loaded.Count()*2 < running.Count() || stalled > harmlessShare {
		return nil
	}
	if stalled > 0 && (!c.comparable(near) || c.chanceToMeet(near) <= maxChance) {
		return nil
	}
	f := r.finding("wiredtiger")
	f.Kind, f.Severity, f.Title = Refutation, Info, "Checkpoints are long, and writes do not wait for them"
	f.Cause = "A checkpoint makes writes wait by what it puts into the queue of the volume that their journal is on. Where the journal is elsewhere, or the OS writes early, it may take as long as it likes."
	f.Summary = fmt.Sprintf("The longest checkpoint took %s; %s of the time stalled while one ran, and %s while none did.",
		dur(longest), pct(stalled), pct(Share(c.Stall.Cells, c.Stall.Active.Without(running))))
	f.Evidence = []Evidence{
		c.figure("share of the time that stalled while a checkpoint ran", SignalPrefix+"wt_checkpoint_running:bool", stalled, "ratio", loaded),
		c.figure("checkpoints", "", float64(len(running.Episodes())), "", running),
		c.figure("longest checkpoint", SignalPrefix+"wt_checkpoint_last:seconds", longest, "seconds", running),
	}
	if sat, ok := c.Saturated(); ok {
		share := Share(sat, loaded)
		f.Evidence = append(f.Evidence, c.figure("share of the checkpoints' time in which a device was saturated", SignalPrefix+"disk_busy:ratio", share, "ratio", loaded))
		if share >= idleSaturation {
			f.Summary += fmt.Sprintf(" A device was saturated in %s of the checkpoints' time; reads from it may have felt that.", pct(share))
		}
	}
	return []Finding{f}
}

func (r Rule) checkpointFigures(c *Case, f *Finding, running timeline.Mask) {
	if last := c.One(SignalPrefix + "wt_checkpoint_last:seconds"); last != nil {
		f.Evidence = append(f.Evidence, c.figure("longest checkpoint", SignalPrefix+"wt_checkpoint_last:seconds", timeline.Max(last), "seconds", timeline.Known(last)))
	}
	if written := c.One(SignalPrefix + "wt_checkpoint_written:bytes"); written != nil {
		n := float64(max(1, len(running.Episodes())))
		f.Evidence = append(f.Evidence, c.figure("bytes written for a checkpoint, mean", SignalPrefix+"wt_checkpoint_written:bytes",
			timeline.Sum(written)*c.Grid.StepSeconds()/n, "bytes", running))
	}
	if dirty := c.One(SignalPrefix + "wt_dirty:bytes"); dirty != nil {
		f.Evidence = append(f.Evidence, c.figure("most dirty bytes in the cache", SignalPrefix+"wt_dirty:bytes", timeline.Max(dirty), "bytes", timeline.Known(dirty)))
	}
}

// idleSaturation is the share of the stalled time in checkpoints below which no device
// is what the writes wait for.
const idleSaturation = 0.1

// checkpointFixes depend on what a checkpoint makes writes wait for: the volume, or,
// where no device had a queue, something inside the host.
func (r Rule) checkpointFixes(c *Case, f *Finding, stalled timeline.Mask) []Fix {
	smaller := Fix{Summary: "Lower the dirty target so that less is left for the checkpoint: eviction_dirty_target=1,eviction_dirty_trigger=5 (wiredTigerEngineRuntimeConfig)",
		Expect: "smaller checkpoints; alone it took only a fifth off the p99 measured on a 3,000 IOPS volume, with bounded OS dirty bytes it went from 7.9 s to 0.17 s", TradeOff: "more CPU and more page writes between checkpoints"}
	share, ok := c.queuedShare(stalled)
	if ok {
		f.Evidence = append(f.Evidence, c.figure("share of the stalled time in checkpoints in which a device was saturated", SignalPrefix+"disk_busy:ratio", share, "ratio", stalled))
		if share < idleSaturation {
			f.Summary += fmt.Sprintf(" A device was saturated in only %s of that time: it is not the volume that writes wait for, but what a checkpoint does in the host (CPU, locks, eviction).", pct(share))
			return []Fix{smaller}
		}
		f.Summary += fmt.Sprintf(" A device was saturated in %s of that time.", pct(share))
	} else {
		f.Summary += " Whether the volume was saturated meanwhile cannot be told without the device's counters."
	}
	return []Fix{
		{Summary: "Bound the OS's dirty bytes (vm.dirty_background_bytes = the volume's bytes/s x the seconds of stall you tolerate)",
			Expect:   "the checkpoint's writes reach the volume as they are made, not in one fsync; measured on a 3,000 IOPS volume: longest checkpoint 7.6 s to 1.1 s, write p99 7.9 s to 0.27 s",
			TradeOff: "about 40 % more bytes to the device"},
		smaller,
		{Summary: "Put the journal on a volume of its own", Expect: "writes no longer wait for the checkpoint (p99 4.7 ms in the same measurement); the checkpoint takes as long as before", TradeOff: "one more volume; snapshots of a single volume are no longer consistent"},
	}
}
