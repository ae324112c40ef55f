package fit

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	model "plimsoll/internal/engine/iris/model"
	"plimsoll/internal/record/timeline"
)

const irisPage = "IRIS' own page gives it: http://HOST:52773/api/monitor/metrics"

// iris enters an instance of InterSystems IRIS.
func (f *fitting) iris() error {
	updates := f.one("iris_global_updates:rate")
	if updates == nil {
		return &MissingError{What: "what is asked of the database", Metrics: []string{"iris_glo_update_per_sec"}, From: irisPage}
	}
	d := model.Defaults()
	cycle := timeline.Quantile(f.one("iris_write_daemon_cycle:seconds"), 0.5) + timeline.Quantile(f.one("iris_write_daemon_sleep:seconds"), 0.5)
	f.periodS = cycle
	if math.IsNaN(cycle) || cycle <= 0 {
		f.periodS = d.Cycle.Std().Seconds()
	}
	if err := f.enough(updates, two(f.periodS), "two cycles of the write daemon, which begin every "+units.Seconds(f.periodS)); err != nil {
		return err
	}
	key := "engine.iris."
	if cycle > 0 {
		step := f.Grid.StepSeconds()
		f.add(key+"cycle", duration(max(cycle, time.Second.Seconds())), Measured, "a cycle's work and the sleep before it, medians").between(cycle-step, cycle+step)
	} else {
		f.add(key+"cycle", duration(f.periodS), Assumed, "the write daemon's cycle (iris_wd_cycle_time, iris_wd_sleep); IRIS' usual one taken").left()
	}
	mean := timeline.Mean(updates)
	l := load{shares: []share{{"update", mean}}, ops: updates, how: Measured, rateOf: "global updates", mixOf: "global references that are no updates are reads"}
	if refs := f.mean("iris_global_references:rate"); refs > 0 {
		l.shares = append(l.shares, share{"read", max(refs-mean, 0)})
		l.rateOf, l.ops = "global references", f.one("iris_global_references:rate")
	} else {
		l.how, l.mixOf = Assumed, "how many reads there are (iris_glo_ref_per_sec): none taken"
		if n := f.mean("iris_physical_reads:rate"); n > 0 {
			l.mixOf += ", though " + units.Number(n) + " blocks a second were read"
		}
	}
	if err := f.arrivals(l); err != nil {
		return err
	}
	f.blocks(key, mean, d)
	return nil
}

// blocks enters the databases: blocks that the write daemon writes again and again are few.
func (f *fitting) blocks(key string, updates float64, d model.Config) {
	f.add(key+"buffers", exactly(float64(d.Buffers)), Assumed, "the global buffers; %s taken", d.Buffers.Exact()).measure("iris.cpf, [config] globals")
	written := f.mean("iris_physical_writes:rate")
	n := distinct(written*f.periodS, updates*f.periodS)
	block := float64(model.BlockSize)
	const ask = "the sizes of IRIS.DAT files, and how much of them is in use"
	if n > 0 && !math.IsInf(n, 1) && n*block >= float64(units.MiB) {
		f.data = n * block
		f.add(key+"database", about(f.data), Inferred, "%s updates of a cycle wrote %s blocks, as of %s that are asked for evenly: what is in use",
			units.Number(updates*f.periodS), units.Number(written*f.periodS), units.Number(n)).between(written*f.periodS*block, math.NaN()).measure(ask)
	} else {
		f.data = float64(d.Database)
		f.add(key+"database", exactly(f.data), Assumed, "how large the databases are; %s taken", d.Database.Exact()).measure(ask)
	}
	f.skew()
	f.add(key+"synchronous_commit", boolean(false), Assumed, "whether updates wait for the journal; that they do not taken").left()
}
