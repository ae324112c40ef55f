package plan

import (
	"fmt"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// extendMost is the longest run that a plan chooses by itself: it makes hundreds of them.
const extendMost = 2 * time.Hour

// extend makes the runs long enough for two checkpoints, if the scenario's are not. Without any, a
// layout that stalls in each of them would meet every objective.
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

	// Each layout's assignments begin with it, so that a run of them alone is the same.
	opt := *p.opt
	opt.Sets = append(append([]scenario.Set(nil), opt.Sets...), longer)
	p.opt = &opt
	*base = append(*base, longer)

	return nil
}

// runs reports what is notable about the runs: that they are longer than the scenario's, that the chosen
// machine is busy, and when the volume is full.
func (p *planner) runs() []Statement {
	var out []Statement
	if p.asked > 0 {
		now := p.now.Run.Duration.Std()
		out = append(out, Statement{"extended",
			fmt.Sprintf("runs are %s long instead of the scenario's %s: they need at least two of its %ss, one every %s",
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

	if sc, err := p.now.With(p.space.sets(shown.choice)...); err == nil {
		out = append(out, fills(sc)...)
	}

	return out
}

// fillsWithin is how soon a volume has to be full for a plan to warn: no volume is planned for less
// than a quarter of a year.
const fillsWithin = 90 * 24 * time.Hour

// fills says when new documents have filled the data's volume, if that is soon. What is deleted or
// compressed is not known to a scenario.
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
		fmt.Sprintf("volumes.data is full after %s: new documents add %s a day to its %s, unless they are deleted or compressed. --size plans for more",
			units.Seconds(after), units.Bytes(perSecond*86400), units.Bytes(size)),
		[]Evidence{{"added a day", perSecond * 86400, "bytes"}, {"size", size, "bytes"},
			{"until full", after, "seconds"}}}}
}
