package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// mainWriter is the share of the busiest device's bytes from which autovacuum is what it is busy
	// with, and leastMoved the share under which it is not.
	mainWriter = 0.5
	leastMoved = 0.3
	// movedLateS is how long the kernel may keep what autovacuum wrote: dirty_expire_centisecs, 30 s.
	movedLateS = 30.0
	// hastyAge is the age of unfrozen transactions from which slowing autovacuum down is a risk: at 1.6
	// billion it stops sleeping by itself (vacuum_failsafe_age, 14 and later), and at 2.1 billion the
	// server refuses writes.
	hastyAge = 1e9
)

func autovacuum() rules.Rule {
	r := rules.Rule{ID: "postgres/autovacuum", Title: "Autovacuum keeps the device busy", Kind: rules.Cause,
		Storage: true,
		When:    "plimsoll:postgres_autovacuum:count > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{Autovacuum, AutovacuumMoved},
		NoAlert: "its condition is that autovacuum is at work, which is no fault",
		Cause:   "Autovacuum reads the pages of a table that may have dead rows, removes them and writes the pages, and the WAL for them. It sleeps by its cost limit, and not by what the volume has left: on a volume with a cap, its requests fill the queue in which commits wait. Once a table's rows are older than autovacuum_freeze_max_age it reads all pages that are not frozen, whatever the load.",
		Words: rules.Words{
			"moved":      "Autovacuum moved {{.bytes}}, {{.share}} of what {{.device}} moved in the stalls, and {{.device}}'s queue was full in {{.queued}} of the time.",
			"coincides":  "{{.share}} of the stalled time falls into times in which autovacuum was at work: {{.in}} of the time stalled then, {{.out}} otherwise. A device's queue was full in {{.queued}} of it. How much of it was autovacuum's is not known here: pg_stat_io shows it, from 16 on.",
			"wraparound": "It freezes a table to prevent wraparound: it is not put off by the load, and starts again if it is ended.",
			"age":        "The oldest unfrozen transaction is {{.age}} transactions old; autovacuum_freeze_max_age is {{.most}}.",
		},
		Advice: map[string]rules.Advice{
			"bound": {Summary: "Let autovacuum move less per second: autovacuum_vacuum_cost_limit = {{.cost}}, half of now",
				Expect:   "half of its bytes per second, for all workers together",
				TradeOff: "a vacuum takes twice as long; too slow a one lets tables bloat",
				Do:       []*rules.Remedy{slowerAutovacuum}},
			"earlier": {Summary: "Let it come earlier and do less each time: a smaller autovacuum_vacuum_scale_factor (and from 13 on autovacuum_vacuum_insert_scale_factor) for the large tables",
				Expect:    "short vacuums instead of one that reads a whole table",
				TradeOff:  "more often",
				NoCommand: "which tables are large and how they change, you know: ALTER TABLE ... SET (autovacuum_vacuum_scale_factor = 0.02)"},
			"finish": {Summary: "Let it finish, and freeze the other old tables at a quiet time with VACUUM (FREEZE)",
				Expect: "the next freeze comes when you choose", TradeOff: "reads of the whole table at that time",
				NoCommand: "when it is quiet, you know; age(relfrozenxid) of pg_class shows the oldest tables"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		if !c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		f, ok := movedMost(r, c)
		if !ok && !c.Measured(AutovacuumMoved) {
			f, ok = vacuumCoincides(r, c)
		}

		if !ok {
			return nil
		}

		adviseVacuum(c, &f)
		return []rules.Finding{f}
	}

	return r
}

// vacuuming is where autovacuum was at work.
func vacuuming(c *rules.Case) timeline.Mask {
	cells := make(timeline.Mask, c.Grid.N)
	if workers := c.One(Autovacuum); workers != nil {
		return timeline.Where(workers, func(x float64) bool { return x > 0 })
	}
	if moved := c.One(AutovacuumMoved); moved != nil {
		return timeline.Where(moved, func(x float64) bool { return x > 0 })
	}
	return cells
}

// movedMost is the finding by autovacuum's own bytes against those of the device that moved most
// while commits stalled.
func movedMost(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	moved := c.One(AutovacuumMoved)
	around := c.Stall.Cells.Widen(c.Cells(movedLateS*1e9), 0)
	device, all := busiestMover(c, around)
	if moved == nil || device == "" {
		return rules.Finding{}, false
	}

	bytes := timeline.Sum(timeline.At(moved, around)) * c.Grid.StepSeconds()
	share := math.Min(1, bytes/all)
	work := vacuuming(c).Widen(0, c.Cells(rules.AftermathS*1e9))
	cells := work.And(c.Stall.Cells)

	queued, ok := c.QueuedShare(cells)
	if !ok || share < leastMoved || queued < queuedDevice || c.MeetsByChance(work) {
		return rules.Finding{}, false
	}

	f := r.Finding("postgres")
	f.Weight = share * rules.Share(cells, c.Stall.Cells)
	f.Severity = c.SeverityIn(work, f.Weight)
	f.Foremost = share >= mainWriter // a cap that it fills is the way by which it makes commits wait
	f.Windows = c.Windows(cells)
	f.Say("moved", rules.Values{"bytes": rules.Bytes(bytes), "share": rules.Part(share),
		"device": rules.Called(device), "queued": rules.Part(queued)})
	f.Evidence = []rules.Evidence{
		c.Figure("bytes that autovacuum read and wrote, mean while stalled", AutovacuumMoved,
			timeline.Mean(timeline.At(moved, c.Stall.Cells)), "bytes/s", c.Stall.Cells),
		c.Figure("of what "+device+" moved", rules.DiskMoved, share, "ratio", around),
		c.Figure("share of the stalled time with a device's queue full", rules.DiskQueue, queued, "ratio", cells),
	}

	return f, f.Weight >= rules.MinAttributable
}

// busiestMover is the device that moved most bytes in some cells, and how many.
func busiestMover(c *rules.Case, in timeline.Mask) (device string, bytes float64) {
	for _, t := range c.Signal(rules.DiskMoved) {
		if sum := timeline.Sum(timeline.At(t.Values, in)) * c.Grid.StepSeconds(); sum > bytes {
			device, bytes = t.Labels.Get("device"), sum
		}
	}
	return device, bytes
}

// vacuumCoincides is the finding where nothing counts autovacuum's bytes: stalls that fall into its
// work, with a device's queue full. It is a warning at most.
func vacuumCoincides(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	work := vacuuming(c)
	near := work.Widen(0, c.Cells(rules.AftermathS*1e9))
	fraction, in, out := c.Attributable(near)

	queued, ok := c.QueuedShare(near.And(c.Stall.Cells))
	if !ok || queued < queuedDevice || fraction < rules.MinAttributable || in < rules.StallRatio*out ||
		!c.Contrasts(near) {
		return rules.Finding{}, false
	}

	f := r.Finding("postgres")
	f.Weight = fraction
	if f.Severity = c.SeverityOf(fraction); f.Severity == rules.Critical {
		f.Severity = rules.Warning
	}

	f.Windows = c.Windows(near.And(c.Stall.Cells))
	f.Say("coincides", rules.Values{"share": rules.Part(rules.Share(near, c.Stall.Cells)), "in": rules.Part(in),
		"out": rules.Part(out), "queued": rules.Part(queued)})
	f.Evidence = []rules.Evidence{
		c.Figure("share of the time that stalled while autovacuum was at work", Autovacuum, in, "ratio", near),
		c.Figure("share of the time that stalled otherwise", Autovacuum, out, "ratio", near.Not()),
		c.Figure("most workers at work while stalled", Autovacuum,
			timeline.Max(timeline.At(c.One(Autovacuum), c.Stall.Cells)), "", c.Stall.Cells),
	}

	return f, true
}

// adviseVacuum says why it is at work, and what is safe to do about it.
func adviseVacuum(c *rules.Case, f *rules.Finding) {
	age, most := timeline.Max(c.One(UnfrozenAge)), timeline.Max(c.One(FreezeMaxAge))
	freezes := timeline.Max(timeline.At(c.One(WraparoundWorkers), c.Stall.Cells)) > 0
	if freezes {
		f.Say("wraparound", nil)
	}

	if age > most {
		f.Say("age", rules.Values{"age": rules.Number(age), "most": rules.Number(most)})
		f.Evidence = append(f.Evidence,
			c.Figure("age of the oldest unfrozen transaction", UnfrozenAge, age, "",
				timeline.Known(c.One(UnfrozenAge))))
	}

	// Slowing down what has to freeze moves the server towards refusing writes.
	if cost := sizeAutovacuum(c, f)["cost"]; cost != "" && !(age > hastyAge) {
		f.Advise("bound", rules.Values{"cost": cost})
	}

	if freezes || age > most {
		f.Advise("finish", nil)
	}

	f.Advise("earlier", nil)
}
