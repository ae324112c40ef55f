package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// summarise makes the result of a completed run.
func summarise(sc *scenario.Scenario, sys *system, measured *meter, samples *sampler, series bool) *Result {
	measured.finish()
	cycles := cyclesIn(sys.engine.Cycles(), measured.from)
	result := measured.result(sc, cycles)
	span := result.Seconds
	result.Host = HostResult{Machine: machine(sc), DirtyBytesMax: samples.hostDirtyMax}
	result.ModelError = errorBar(sc)
	result.Volumes = sumVolumes(sys, samples, span)
	result.Waits = sumWaits(measured, &result.Writes.All)
	result.EngineFigures, result.FigureUnits = sys.figures()
	result.Host.CPUBusy, result.Host.CPUBusyMax = samples.processors(&sc.Host.Config, span)
	bill(result, sc)
	result.Caveats = caveats(sc, result, len(cycles))
	result.Objectives = objectives(sc, result)
	result.Mattered = sys.mattered()

	if text := processorText(result); text != "" {
		result.Warnings = append(result.Warnings, text)
	}

	if series {
		result.Series = plots(sys, measured, samples, cycles)
	}

	return result
}

// result returns what was measured of clients and checkpoints, in simulated and in real runs.
func (m *meter) result(sc *scenario.Scenario, cycles []database.Cycle) *Result {
	span := float64(m.end-m.from) / 1e9
	out := &Result{
		Version: ResultVersion, Scenario: sc.Name, Engine: sc.Engine.Name(), CycleWord: sc.Engine.Cycle,
		Queries: sc.Engine.Queries, Seed: uint64(sc.Seed),
		Seconds: span, WarmupSeconds: float64(m.from) / 1e9, OpenLoop: !sc.Workloads().IsClosed(),
		AskedPerSec: float64(m.arrivals) / span, DonePerSec: float64(m.doneInside) / span,
		Unanswered: m.unanswered, Refused: m.refused, Checkpoints: sumCycles(cycles, m),
	}

	// A closed loop requests the next operation only when one completes.
	if !out.OpenLoop {
		out.AskedPerSec = out.DonePerSec
	}

	period := out.Checkpoints.PeriodSeconds
	out.Writes, out.Reads = m.sorted.Writes.Class(period), m.sorted.Reads.Class(period)
	for _, w := range sc.Warnings {
		out.Warnings = append(out.Warnings, w.Problem.Error())
	}

	return out
}

func machine(sc *scenario.Scenario) string {
	name := sc.Host.Instance
	if name == "" {
		name = fmt.Sprintf("%d cores and %s", sc.Host.Cores, sc.Host.Memory.Exact())
	}
	if n := sc.MemberCount(); n > 1 {
		name = fmt.Sprintf("%d x %s", n, name)
	}
	return name
}

func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func sumCycles(cycles []database.Cycle, measured *meter) Cycles {
	var out Cycles
	var took, apart []float64
	dirty := math.NaN()

	var covered vtime.Instant
	for i, c := range cycles {
		// Cycles that only overlap the measured time count with their overlap.
		covered += max(min(c.End, measured.end)-max(c.Start, measured.from), 0)
		if i > 0 {
			apart = append(apart, float64(c.Start-cycles[i-1].Start)/1e9)
		}

		// The dirty bytes at the start of an earlier cycle belong to the warm-up.
		if c.Start >= measured.from {
			dirty = max(float64(c.Dirty), zeroIfNaN(dirty))
		}

		if c.End > measured.end { // still running, so this is a lower bound
			out.RunningSeconds = float64(measured.end-c.Start) / 1e9
			continue
		}

		out.Count++
		if c.Requested {
			out.Requested++
		}

		took = append(took, float64(c.End-c.Start)/1e9)
		out.WrittenBytes += float64(c.Written)
	}

	out.DirtyBytesMax = known(dirty)
	out.MedianSeconds, out.PeriodSeconds = median(took), median(apart)
	if len(took) > 0 {
		out.MaxSeconds = known(slices.Max(took))
	}

	// A running checkpoint is a lower bound, and may already be the longest.
	if x := out.RunningSeconds; x > 0 && (out.MaxSeconds == nil || x > *out.MaxSeconds) {
		out.MaxSeconds = known(x)
	}

	out.ShareOfTime = float64(covered) / float64(measured.end-measured.from)
	return out
}

func zeroIfNaN(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

func median(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	slices.Sort(x)
	n := len(x)
	return known((x[(n-1)/2] + x[n/2]) / 2)
}

// sumWaits summarises where writes waited. The last row is time that no wait accounts for.
func sumWaits(m *meter, all *Latency) []WaitResult {
	var every, slow waitSum

	// The classes at and above the p99's, from the top.
	atLeast := (all.Operations + 99) / 100
	for c := latency.Classes - 1; c >= 0; c-- {
		w := &m.waits[c]
		if slow.n < atLeast {
			slow.add(w)
		}
		every.add(w)
	}

	out := []WaitResult{}
	if every.latency == 0 {
		return out
	}

	row := func(name string, of, cause func(*waitSum) int64) {
		r := WaitResult{Name: name, Share: float64(of(&every)) / float64(every.latency)}
		r.SlowShare = float64(of(&slow)) / float64(max(slow.latency, 1))
		// Sums are in nanoseconds. max avoids a division by zero if no write was slow.
		r.SlowSeconds = float64(of(&slow)) / float64(max(slow.n, 1)) / 1e9
		r.CauseShare = float64(cause(&every)) / float64(every.latency)
		r.SlowCauseShare = float64(cause(&slow)) / float64(max(slow.latency, 1))
		if of(&every) != 0 || cause(&every) != 0 {
			out = append(out, r)
		}
	}

	for k := range database.NumWaits {
		row(database.Wait(k).String(), func(w *waitSum) int64 { return w.waits[k] },
			func(w *waitSum) int64 { return w.causes[k] })
	}

	row("unexplained", (*waitSum).unexplained, (*waitSum).unexplained)
	slices.SortStableFunc(out, func(a, b WaitResult) int { return cmp.Compare(b.SlowShare, a.SlowShare) })
	return out
}

func (w *waitSum) add(o *waitSum) {
	w.n += o.n
	w.latency += o.latency
	for i, x := range o.waits {
		w.waits[i] += x
		w.causes[i] += o.causes[i]
	}
}

func (w *waitSum) unexplained() int64 {
	rest := w.latency
	for _, x := range w.waits {
		rest -= x
	}
	return rest
}

// figures are the engine's figures that are not series.
func (s *system) figures() (values map[string]*float64, unit map[string]string) {
	values, unit = map[string]*float64{}, map[string]string{}
	if s.reporting == nil {
		return values, unit
	}
	for _, f := range s.reporting.Figures(s.engine) {
		values[f.Name], unit[f.Name] = known(f.Value), f.Unit
	}
	return values, unit
}

// Figure returns the value, in seconds, that an objective such as "write_p99" or "checkpoint"
// limits. nil: it was not measured.
func (r *Result) Figure(name string) *float64 {
	if name == "checkpoint" {
		return r.Checkpoints.MaxSeconds
	}

	kind, figure, _ := strings.Cut(name, "_")
	of := &r.Writes.All
	switch kind {
	case "write":
	case "read":
		of = &r.Reads.All
	default:
		return nil
	}

	switch figure {
	case "p50":
		return of.P50Seconds
	case "p95":
		return of.P95Seconds
	case "p99":
		return of.P99Seconds
	case "p999":
		return of.P999Seconds
	case "max":
		return of.MaxSeconds
	}

	return nil
}
