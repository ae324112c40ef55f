package advise

import (
	"math"
	"time"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/iris/judge"
	model "plimsoll/internal/engine/iris/model"
	"plimsoll/internal/record/timeline"
)

const irisPage = "IRIS' own page has it: http://HOST:52773/api/monitor/metrics"

// A fitting derives an instance's configuration from a recording.
type fitting struct{ *fit.Fitting }

// Fit fills in the configuration of an instance of InterSystems IRIS.
func Fit(f *fit.Fitting) error { return fitting{f}.fit() }

func (f fitting) fit() error {
	updates := f.One(judge.GlobalUpdates)
	if updates == nil {
		return &fit.MissingError{What: "the workload",
			Metrics: []string{"iris_glo_update_per_sec"}, From: irisPage}
	}

	config := model.Defaults()
	cycle := timeline.Quantile(f.One(judge.WriteDaemonCycle), 0.5) +
		timeline.Quantile(f.One(judge.WriteDaemonSleep), 0.5)
	f.PeriodS = cycle

	// Without cycle times, the documented default sets how long a recording must be.
	if math.IsNaN(cycle) || cycle <= 0 {
		f.PeriodS = config.Cycle.Std().Seconds()
	}

	if err := f.Enough(updates, fit.Two(f.PeriodS), "two cycles of the write daemon, which begin every "+
		units.Seconds(f.PeriodS)); err != nil {
		return err
	}

	key := "engine.iris."
	if cycle > 0 {
		step := f.Grid.StepSeconds()
		f.Add(key+"cycle", fit.Duration(max(cycle, time.Second.Seconds())), fit.Measured,
			"a cycle's work and the sleep before it, medians").Between(cycle-step, cycle+step)
	} else {
		f.Add(key+"cycle", fit.Duration(f.PeriodS), fit.Assumed,
			"the write daemon's cycle (iris_wd_cycle_time, iris_wd_sleep); IRIS' default is assumed").AsDefault()
	}

	mean := timeline.Mean(updates)
	l := fit.Load{Shares: []fit.Share{{Kind: "update", Rate: mean}}, Ops: updates, How: fit.Measured,
		RateOf: "global updates", MixOf: "global references that are not updates are reads"}
	if refs := f.Mean(judge.GlobalReferences); refs > 0 {
		l.Shares = append(l.Shares, fit.Share{Kind: "read", Rate: max(refs-mean, 0)})
		l.RateOf, l.Ops = "global references", f.One(judge.GlobalReferences)
	} else {
		l.How, l.MixOf = fit.Assumed, "how many reads there are (iris_glo_ref_per_sec): none are assumed"
		if n := f.Mean(judge.PhysicalReads); n > 0 {
			l.MixOf += ", although " + units.Number(n) + " blocks per second were read"
		}
	}

	if err := f.Arrivals(l); err != nil {
		return err
	}

	f.blocks(key, mean, config)
	return nil
}

// blocks fills in the size of the databases: the fewer distinct blocks the write daemon writes, the
// smaller they are.
func (f fitting) blocks(key string, updates float64, d model.Config) {
	f.Add(key+"buffers", fit.Exactly(float64(d.Buffers)), fit.Assumed, "the global buffers; %s is assumed",
		d.Buffers.Exact()).ToKnow("iris.cpf, [config] globals")
	written := f.Mean(judge.PhysicalWrites)
	n := fit.Distinct(written*f.PeriodS, updates*f.PeriodS)
	block := float64(model.BlockSize)
	const ask = "the sizes of IRIS.DAT files, and how much of them is in use"

	// Infinitely many blocks means that no update hit a block twice, which bounds nothing.
	if n > 0 && !math.IsInf(n, 1) && n*block >= float64(units.MiB) {
		f.Data = n * block
		f.Add(key+"database", fit.About(f.Data),
			fit.Inferred, "%s updates of a cycle wrote %s blocks, as if spread uniformly over %s blocks: the part in use",
			units.Number(updates*f.PeriodS), units.Number(written*f.PeriodS),
			units.Number(n)).Between(written*f.PeriodS*block, math.NaN()).ToKnow(ask)
	} else {
		f.Data = float64(d.Database)
		f.Add(key+"database", fit.Exactly(f.Data), fit.Assumed, "the size of the databases; %s is assumed",
			d.Database.Exact()).ToKnow(ask)
	}

	f.Skew()
	f.Add(key+"synchronous_commit", fit.Boolean(false), fit.Assumed,
		"whether updates wait for the journal; assumed that they do not").AsDefault()
}
