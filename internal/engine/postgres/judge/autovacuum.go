package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// With mainWriterShare or more of the busiest device's bytes, autovacuum is the device's main load;
	// below minMovedShare it is not a cause.
	mainWriterShare = 0.5
	minMovedShare   = 0.3
	// writebackDelayS is how long the kernel may hold autovacuum's dirty pages before it writes
	// them: dirty_expire_centisecs, 30 s.
	writebackDelayS = 30.0
	// riskyFreezeAge is the age of unfrozen transactions above which slowing autovacuum down is a
	// risk: at 1.6 billion it stops sleeping by itself (vacuum_failsafe_age, 14 and later), and at
	// 2.1 billion the server refuses writes.
	riskyFreezeAge = 1e9
)

func autovacuum() rules.Rule {
	rule := rules.Rule{ID: "postgres/autovacuum", Title: "Autovacuum keeps the device busy", Kind: rules.Cause,
		Storage: true, Stalled: true,
		When:    "plimsoll:postgres_autovacuum:count > 0",
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{Autovacuum, AutovacuumMoved},
		NoAlert: "its condition is that autovacuum is running, which is not a fault",
		Cause:   "Autovacuum reads the pages of a table that may have dead rows, removes the rows, and writes the pages and their WAL. Its cost limit sets its pace, not the volume's headroom: on a capped volume its requests fill the queue that commits wait in. Once a table's oldest rows pass autovacuum_freeze_max_age, it reads every page that is not frozen, whatever the load.",
		Words: rules.Words{
			"moved":      "Autovacuum read and wrote {{.bytes}}, {{.share}} of the bytes {{.device}} moved during the stalls, and {{.device}}'s queue was full {{.queued}} of the time.",
			"coincides":  "{{.share}} of the stalled time coincides with autovacuum: commits stalled {{.in}} of the time while it ran, {{.out}} of the time otherwise. A device's queue was full {{.queued}} of that time. How much of this I/O is autovacuum's is unknown here; pg_stat_io (16 and later) reports it.",
			"wraparound": "It is freezing a table to prevent wraparound: load does not delay it, and if you cancel it, it starts again.",
			"age":        "The oldest unfrozen transaction is {{.age}} transactions old; autovacuum_freeze_max_age is {{.most}}.",
		},
		Advice: map[string]rules.Advice{
			"bound": {Summary: "Slow autovacuum down: autovacuum_vacuum_cost_limit = {{.cost}}, half the current limit",
				Expect:   "half as many bytes per second, summed over all workers",
				TradeOff: "vacuums take twice as long; if they are too slow, tables bloat",
				Do:       []*rules.Remedy{slowerAutovacuum}},
			"earlier": {Summary: "Run it earlier so that it does less each time: lower autovacuum_vacuum_scale_factor (and from 13 on autovacuum_vacuum_insert_scale_factor) on the large tables",
				Expect:    "short vacuums instead of one that reads a whole table",
				TradeOff:  "more frequent vacuums",
				NoCommand: "only you know which tables are large and how they change: ALTER TABLE ... SET (autovacuum_vacuum_scale_factor = 0.02)"},
			"finish": {Summary: "Let it finish, then freeze the other old tables at a quiet time with VACUUM (FREEZE)",
				Expect: "you choose when the next freeze runs", TradeOff: "reads of the whole table at that time",
				NoCommand: "only you know when it is quiet; age(relfrozenxid) in pg_class shows the oldest tables"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		// Its own byte counter decides if there is one: a coincidence must not overrule it.
		f, ok := movedMost(rule, c)
		if !ok && !c.Measured(AutovacuumMoved) {
			f, ok = vacuumCoincides(rule, c)
		}

		if !ok {
			return nil
		}

		adviseVacuum(c, &f)
		return []rules.Finding{f}
	}

	return rule
}

// vacuuming returns the cells in which autovacuum ran.
func vacuuming(c *rules.Case) timeline.Mask {
	running := c.One(Autovacuum)
	if running == nil {
		running = c.One(AutovacuumMoved)
	}
	return make(timeline.Mask, c.Grid.N).Or(timeline.Where(running, func(x float64) bool { return x > 0 }))
}

// movedMost compares autovacuum's own bytes with those of the device that moved most while commits
// stalled.
func movedMost(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	moved := c.One(AutovacuumMoved)

	// Pages that autovacuum dirtied before a stall may reach the device during it.
	around := c.Stall.Cells.Widen(c.Cells(writebackDelayS*1e9), 0)
	device, all := busiestMover(c, around)
	if moved == nil || device == "" {
		return rules.Finding{}, false
	}

	bytes := timeline.Sum(timeline.At(moved, around)) * c.Grid.StepSeconds()
	share := math.Min(1, bytes/all)
	work := vacuuming(c).Widen(0, c.Cells(rules.AftermathS*1e9))
	cells := work.And(c.Stall.Cells)

	queued, ok := c.QueuedShare(cells)

	// Traffic alone is not a cause: the device's queue must be full, too.
	if !ok || share < minMovedShare || queued < queuedDevice || c.MeetsByChance(work) {
		return rules.Finding{}, false
	}

	f := r.Finding("postgres")
	f.Weight = share * rules.Share(cells, c.Stall.Cells)
	f.Severity = c.SeverityIn(work, f.Weight)
	f.Foremost = share >= mainWriterShare // the cap it fills is only how it makes commits wait
	f.Windows = c.Windows(cells)
	f.Say("moved", rules.Values{"bytes": rules.Bytes(bytes), "share": rules.Part(share),
		"device": rules.Called(device), "queued": rules.Part(queued)})
	f.Evidence = []rules.Evidence{
		c.Figure("bytes read and written by autovacuum, mean while stalled", AutovacuumMoved,
			timeline.Mean(timeline.At(moved, c.Stall.Cells)), "bytes/s", c.Stall.Cells),
		c.Figure("share of the bytes "+device+" moved", rules.DiskMoved, share, "ratio", around),
		c.Figure("share of the stalled time with a device's queue full", rules.DiskQueue, queued, "ratio", cells),
	}

	return f, f.Weight >= rules.MinAttributable
}

// busiestMover returns the device that moved the most bytes in the given cells, and how many.
func busiestMover(c *rules.Case, in timeline.Mask) (device string, bytes float64) {
	for _, t := range c.Signal(rules.DiskMoved) {
		if sum := timeline.Sum(timeline.At(t.Values, in)) * c.Grid.StepSeconds(); sum > bytes {
			device, bytes = t.Labels.Get("device"), sum
		}
	}
	return device, bytes
}

// vacuumCoincides applies if nothing counts autovacuum's bytes: stalls coincide with its runs while
// a device's queue is full. It is a warning at most.
func vacuumCoincides(r rules.Rule, c *rules.Case) (rules.Finding, bool) {
	work := vacuuming(c)
	near := work.Widen(0, c.Cells(rules.AftermathS*1e9))
	queued, known := c.QueuedShare(near.And(c.Stall.Cells))
	f, v, ok := r.Coincides(c, "postgres", near, Autovacuum, "share of the time stalled while autovacuum ran",
		"share of the time stalled otherwise")
	if !ok || !known || queued < queuedDevice {
		return rules.Finding{}, false
	}

	f.Severity = rules.LessThanCritical(f.Severity)
	v["queued"] = rules.Part(queued)
	f.Say("coincides", v)
	f.Evidence = append(f.Evidence, c.Figure("workers running while stalled, maximum", Autovacuum,
		timeline.Max(timeline.At(c.One(Autovacuum), c.Stall.Cells)), "", c.Stall.Cells))

	return f, true
}

// adviseVacuum reports why autovacuum runs and what is safe to do about it.
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

	// If tables must be frozen soon, slowing autovacuum down brings the server closer to refusing
	// writes. An unknown age (NaN) does not block the advice.
	if cost := sizeAutovacuum(c, f)["cost"]; cost != "" && !(age > riskyFreezeAge) {
		f.Advise("bound", rules.Values{"cost": cost})
	}

	if freezes || age > most {
		f.Advise("finish", nil)
	}

	f.Advise("earlier", nil)
}
