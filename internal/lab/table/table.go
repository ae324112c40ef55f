// Package table computes the error table: how a real engine behaved on an emulated volume, compared
// with what the model predicted.
//
// A prediction is only as good as its error. Each row is one figure of one scenario that ran in the
// lab and in the simulator, and the error is the model's deviation from the lab. Medians are
// computed for each kind of figure, because rates and durations are easier to predict than a p99: a
// common error bar would be too wide for the former and too narrow for the latter. The median is
// over absolute errors, as factors, so that half as much and twice as much are equally wrong:
// [Row.Off].
package table

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
)

// A Kind is the kind of figure in a row.
type Kind = simulate.Kind

// The kinds of figures.
const (
	Rate     = simulate.Rate
	Duration = simulate.Duration
	P50      = simulate.P50
	P99      = simulate.P99
)

// A Row is one figure of one scenario.
type Row struct {
	Run      string   `json:"run"` // the run's name in a suite, or the file
	Scenario string   `json:"scenario"`
	Figure   string   `json:"figure"`
	Kind     Kind     `json:"kind"`
	Unit     string   `json:"unit"`
	Lab      *float64 `json:"lab"`   // the median of its runs; null: not measurable
	Model    *float64 `json:"model"` // null: not measurable
	// LabLow and LabHigh are the minimum and maximum of LabRuns runs.
	LabLow  float64 `json:"lab_low"`
	LabHigh float64 `json:"lab_high"`
	LabRuns int     `json:"lab_runs"`
	// Doubtful means that the row does not count because the lab's own error is too large: the
	// emulator was saturated.
	Doubtful bool `json:"doubtful"`
}

// Off returns the factor by which the model is off in either direction, 1 or more: 1.15 means 15 %
// too high, or too low by the same factor. It is NaN if either figure is unknown or 0.
func (r *Row) Off() float64 {
	if r.Lab == nil || r.Model == nil || *r.Lab <= 0 || *r.Model <= 0 {
		return math.NaN()
	}
	return max(*r.Lab / *r.Model, *r.Model / *r.Lab)
}

// ErrorText returns the model relative to the lab: "-12 %", or "1/3.4" and "x 2.3" for large
// errors.
func (r *Row) ErrorText() string {
	off := r.Off()
	switch {
	case math.IsNaN(off):
		return "-"
	case off < 2:
		return units.Deviation(*r.Model / *r.Lab - 1)
	case *r.Model > *r.Lab:
		return fmt.Sprintf("x %.1f", off)
	}
	return fmt.Sprintf("1/%.1f", off)
}

// rowsOf returns the rows of a scenario's two results. Checkpoints count if some take a tenth of a
// second or more: etcd's backend commits are not stalls. In addition to the p99 by phase there is
// the p99 of all operations: it is what users ask for, and it does not depend on which side of a
// checkpoint's end a stall falls.
func rowsOf(lab, model *Figures) []Row {
	var out []Row
	add := func(figure string, kind Kind, unit string, l, m *float64) {
		if l != nil || m != nil {
			out = append(out, Row{Figure: figure, Kind: kind, Unit: unit, Lab: l, Model: m})
		}
	}

	add("operations a second", Rate, "1/s", &lab.DonePerSec, &model.DonePerSec)

	// Writes are compared if there are any, because they are what a volume slows down.
	word := "write"
	l, m := &lab.Writes, &model.Writes
	if l.All.Operations == 0 {
		word, l, m = "read", &lab.Reads, &model.Reads
	}

	cycles := lab.Checkpoints.MedianSeconds != nil && model.Checkpoints.MedianSeconds != nil
	if cycles {
		add("checkpoint, median", Duration, "seconds", lab.Checkpoints.MedianSeconds,
			model.Checkpoints.MedianSeconds)
	}

	add(word+" p50", P50, "seconds", l.All.P50Seconds, m.All.P50Seconds)
	add(word+" p99", P99, "seconds", l.All.P99Seconds, m.All.P99Seconds)
	if cycles {
		add(word+" p99 in a checkpoint", P99, "seconds", l.DuringCheckpoint.P99Seconds,
			m.DuringCheckpoint.P99Seconds)
		add(word+" p99 outside", P99, "seconds", l.OutsideCheckpoint.P99Seconds, m.OutsideCheckpoint.P99Seconds)
	}

	return out
}

// A Summary is the median error of the rows of one kind.
type Summary struct {
	Kind Kind `json:"kind"`
	Rows int  `json:"rows"`
	// 1.15: half of the rows are off by at most 15 %, or too low by the same factor
	Off   float64 `json:"median_factor"`
	Worst float64 `json:"worst_factor"`
}

// Summarise returns a summary for each kind with rows that count.
func Summarise(rows []Row) []Summary {
	var out []Summary
	for _, k := range simulate.Kinds {
		var offs []float64
		for i := range rows {
			if off := rows[i].Off(); rows[i].Kind == k && !rows[i].Doubtful && !math.IsNaN(off) {
				offs = append(offs, off)
			}
		}

		if len(offs) == 0 {
			continue
		}

		slices.Sort(offs)
		n := len(offs)
		out = append(out, Summary{k, n, (offs[(n-1)/2] + offs[n/2]) / 2, offs[n-1]})
	}

	return out
}

// LabText formats the measured value: the median, and both extremes if there were several runs.
func (r *Row) LabText() string {
	text := show(r.Lab, r.Unit)
	if r.LabRuns > 1 && r.LabLow != r.LabHigh {
		text += fmt.Sprintf(" (%s to %s)", units.Value(r.LabLow, r.Unit), units.Value(r.LabHigh, r.Unit))
	}
	return text
}

// ModelText formats the model's prediction.
func (r *Row) ModelText() string { return show(r.Model, r.Unit) }

// FactorText formats the factor by which figures are off: as a percentage below 2, otherwise as a
// factor.
func FactorText(off float64) string {
	if off < 2 {
		return fmt.Sprintf("%.0f %%", 100*(off-1))
	}
	return fmt.Sprintf("a factor of %.1f", off)
}

func show(x *float64, unit string) string {
	if x == nil {
		return "not measurable"
	}
	return units.Value(*x, unit)
}
