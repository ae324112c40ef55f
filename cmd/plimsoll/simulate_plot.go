package main

import (
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
)

const (
	plotRows  = 7  // of the plot of latency
	plotLabel = 12 // columns at its left
	plotRight = 12 // columns at the right of other tracks, for their most
)

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// plots shows series over the same time: latency on a logarithmic axis, then a row for each other.
func (t *simulateText) plots(r *simulate.Result) {
	s := r.Series
	if s == nil || len(s.WriteP99) < 2 {
		return
	}
	columns := min(t.width-plotLabel-plotRight-2, len(s.WriteP99))
	if columns < 10 {
		return
	}
	span := r.Seconds
	t.line("")
	t.line("OVER TIME, a column is %s; p99 of writes by when they were to begin", units.Seconds(span/float64(columns)))
	t.latencyPlot(pick(s.WriteP99, columns))
	if len(s.Checkpoints) > 0 && len(s.Checkpoints) < 2*columns {
		t.line("%*s  %s", plotLabel, cycleShort(r), t.marks(s.Checkpoints, span, columns))
	}
	for _, x := range []struct {
		name   string
		values []*float64
	}{{"cache dirty", s.EngineDirty}, {"pages dirty", s.HostDirty}} {
		t.track(x.name, pick(x.values, columns), 0, func(x float64) string { return units.Bytes(x) })
	}
	for _, v := range r.Volumes {
		if len(r.Volumes) > 4 && strings.HasSuffix(v.Name, "/data") {
			continue // of a cluster the logs tell more
		}
		t.track(v.Name+" busy", pick(s.Busy[v.Name], columns), 1, units.Percent)
	}
	t.line("%*s  0%*s", plotLabel, "", columns-1, units.Seconds(span))
}

func cycleShort(r *simulate.Result) string {
	switch r.Engine {
	case "etcd":
		return "commit"
	case "iris":
		return "daemon"
	}
	return "checkpoint"
}

// pick gives the most of each column; NaN where nothing was measured.
func pick(values []*float64, columns int) []float64 {
	out := make([]float64, columns)
	for c := range out {
		out[c] = math.NaN()
		from, to := c*len(values)/columns, (c+1)*len(values)/columns
		for _, v := range values[from:to] {
			if v != nil && !(out[c] >= *v) {
				out[c] = *v
			}
		}
	}
	return out
}

// latencyPlot draws bars from the least to the most on a logarithmic axis.
func (t *simulateText) latencyPlot(values []float64) {
	low, high := math.Inf(1), 0.0
	for _, x := range values {
		if x > 0 {
			low, high = min(low, x), max(high, x)
		}
	}
	if high == 0 {
		return
	}
	// The axis goes over whole decades.
	bottom, top := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if top <= bottom {
		top = bottom + 1
	}
	perRow := (top - bottom) / plotRows
	full, parts := "█", []rune("▁▂▃▄▅▆▇█")
	if t.ascii {
		full, parts = "#", []rune(".:#")
	}
	labels := make([]string, plotRows)
	for d := bottom; d <= top; d++ {
		row := min(int((d-bottom)/perRow+0.5), plotRows-1)
		labels[row] = units.Seconds(math.Pow(10, d))
	}
	for row := plotRows - 1; row >= 0; row-- {
		var b strings.Builder
		for _, x := range values {
			height := 0.0
			if x > 0 {
				height = (math.Log10(x)-bottom)/perRow - float64(row)
			}
			switch {
			case !(x > 0) || height <= 0 && row > 0:
				b.WriteByte(' ')
			case height >= 1:
				b.WriteString(full)
			default:
				b.WriteRune(parts[max(min(int(height*float64(len(parts))), len(parts)-1), 0)])
			}
		}
		t.line("%*s  %s", plotLabel, labels[row], b.String())
	}
}

// marks shows when checkpoints ran.
func (t *simulateText) marks(cycles [][2]float64, span float64, columns int) string {
	row := []rune(strings.Repeat(" ", columns))
	mark := '━'
	if t.ascii {
		mark = '='
	}
	for _, c := range cycles {
		from := min(int(c[0]/span*float64(columns)), columns-1)
		to := min(int(math.Ceil(c[1]/span*float64(columns))), columns)
		for i := from; i < max(to, from+1); i++ {
			row[i] = mark
		}
	}
	return string(row)
}

// track draws a row from zero to the most, which is at least least.
func (t *simulateText) track(name string, values []float64, least float64, show func(float64) string) {
	most, any := least, math.Inf(-1)
	for _, x := range values {
		if !math.IsNaN(x) {
			most, any = max(most, x), max(any, x)
		}
	}
	if math.IsInf(any, -1) || most == 0 {
		return
	}
	parts := []rune(" ▁▂▃▄▅▆▇█")
	if t.ascii {
		parts = []rune(" _.:-=+*#")
	}
	var b strings.Builder
	for _, x := range values {
		if math.IsNaN(x) {
			b.WriteByte(' ')
			continue
		}
		i := int(math.Ceil(x / most * float64(len(parts)-1)))
		b.WriteRune(parts[max(min(i, len(parts)-1), 0)])
	}
	t.line("%*s  %s  max %s", plotLabel, clipName(name, plotLabel), b.String(), show(any))
}

func clipName(name string, columns int) string {
	if r := []rune(name); len(r) > columns {
		return string(r[:columns-1]) + "~"
	}
	return name
}
