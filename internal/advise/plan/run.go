package plan

import (
	"fmt"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// extendMost is the longest run that a plan chooses on its own. A plan makes hundreds of runs.
const extendMost = 2 * time.Hour

// extend makes the runs long enough for two checkpoints if the scenario's duration is not. In a run
// without a checkpoint, a layout that stalls at every checkpoint would meet every objective.
func (p *planner) extend(base *[]scenario.Set) error {
	period, asked := simulate.CyclePeriod(p.now), p.now.Run.Duration.Std()
	to := simulate.LongEnough(period)
	if asked >= 2*period || to > extendMost {
		return nil
	}

	longer := scenario.Set{Path: "run.duration", Value: units.Duration(to)}
	now, err := p.now.With(longer)
	if err != nil {
		return err
	}

	p.now, p.asked = now, asked

	// Every layout's assignments include the new duration, so that `simulate --set` with a layout's
	// assignments reproduces its run. Options belong to the caller, so extend changes a copy.
	opt := *p.opt
	opt.Sets = append(append([]scenario.Set(nil), opt.Sets...), longer)
	p.opt = &opt
	*base = append(*base, longer)

	return nil
}

// runs returns statements about the runs: that they are longer than the scenario asks for, that the
// chosen machine's processor is busy, and when the data volume fills up.
func (p *planner) runs() []Statement {
	var out []Statement
	if p.asked > 0 {
		now := p.now.Run.Duration.Std()
		out = append(out, Statement{"extended",
			fmt.Sprintf("runs last %s instead of the scenario's %s: they must cover at least two %ss, and there is one every %s",
				units.Seconds(now.Seconds()), units.Seconds(p.asked.Seconds()), p.now.Engine.Cycle,
				units.Seconds(simulate.CyclePeriod(p.now).Seconds())),
			[]Evidence{{"asked for", p.asked.Seconds(), "seconds"}, {"run", now.Seconds(), "seconds"}}})
	}

	shown := p.current
	if c := p.found.chosen; c != nil {
		shown = c
	}

	if shown.result != nil {
		for _, w := range shown.result.Busy() {
			out = append(out, Statement{"processor", w,
				[]Evidence{{"cores busy", shown.result.Host.CPUBusyMax, "ratio"}}})
		}
	}

	if sc, err := p.now.With(p.space.sets(shown.choice)...); err == nil && !p.opt.New {
		out = append(out, fills(sc)...)
	}

	return out
}

// fillsWithin is the horizon for a warning about a full volume. Volumes are planned for at least a
// quarter of a year.
const fillsWithin = 90 * 24 * time.Hour

// fills warns if new documents will soon fill the data volume. A scenario does not describe deletes or
// compression, so the estimate ignores both.
func fills(sc *scenario.Scenario) []Statement {
	data, load := sc.Volumes.Get("data"), sc.Workloads()
	perSecond := load.Grows()
	if data == nil || data.Size == 0 || perSecond <= 0 {
		return nil
	}

	size := float64(data.Size) * float64(data.Members())
	free := size - float64(load.DocumentSize())*float64(load.Documents())
	after := max(free, 0) / perSecond
	if after >= fillsWithin.Seconds() {
		return nil
	}

	return []Statement{{"fills",
		fmt.Sprintf("volumes.data is full after %s: new documents add %s a day to its %s, not counting deletes and compression. Use --size to plan for growth",
			units.Seconds(after), units.Bytes(perSecond*86400), units.Bytes(size)),
		[]Evidence{{"added a day", perSecond * 86400, "bytes"}, {"size", size, "bytes"},
			{"until full", after, "seconds"}}}}
}
