package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
)

// unitMet is no unit: 1 is met, 0 is not.
const unitMet = "met"

// A compared figure is a row of the table of variants.
type compared struct {
	name string
	unit string
	of   func(*simulate.Result) *float64
}

// compare shows variants side by side, each with its change against the first.
func (t *simulateText) compare() {
	const name = 26
	columns := max((t.width-name)/14, 1)
	for from := 1; from < len(t.results); from += columns - 1 {
		shown := []*simulate.Result{t.results[0]}
		shown = append(shown, t.results[from:min(from+columns-1, len(t.results))]...)
		if from > 1 {
			t.line("")
		}
		t.table(shown, name, (t.width-name)/max(len(shown), 3))
	}
}

func (t *simulateText) table(shown []*simulate.Result, name, each int) {
	heads := make([][]string, len(shown))
	lines := 1
	for i, r := range shown {
		title := r.Variant
		if title == "" {
			title = asWritten
		}
		heads[i] = wrapWords(title, each-2)
		lines = max(lines, len(heads[i]))
	}
	for l := range lines {
		row := strings.Repeat(" ", name)
		for _, h := range heads {
			text := ""
			if l < len(h) {
				text = h[l]
			}
			row += fmt.Sprintf("%*s", each, text)
		}
		t.line("%s", row)
	}
	for _, f := range t.figures() {
		base := f.of(shown[0])
		values, changes := fmt.Sprintf("%-*s", name, clipName(f.name, name)), strings.Repeat(" ", name)
		some := base != nil
		for i, r := range shown {
			x := f.of(r)
			some = some || x != nil
			values += fmt.Sprintf("%*s", each, valueText(x, f.unit))
			change := ""
			if i > 0 {
				change = changeText(base, x, f.unit)
			}
			changes += fmt.Sprintf("%*s", each, change)
		}
		if !some {
			continue
		}
		t.line("%s", values)
		if strings.TrimSpace(changes) != "" {
			t.line("%s", changes)
		}
	}
}

// wrapWords breaks a title into lines; a word that is too long is cut.
func wrapWords(text string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		word = clipName(word, width)
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

func valueText(x *float64, unit string) string {
	switch {
	case x == nil:
		return "-"
	case unit == "USD":
		return dollars(*x)
	case unit == unitMet && *x == 1:
		return "met"
	case unit == unitMet:
		return "NOT MET"
	}
	return units.Value(*x, unit)
}

// changeText is how far a figure is from the first variant's: a percentage, a factor from 10 on, a
// difference of prices.
func changeText(base, x *float64, unit string) string {
	switch {
	case base == nil || x == nil || *base == *x || unit == unitMet:
		return ""
	case unit == "USD":
		sign := "+"
		if *x < *base {
			sign = "-"
		}
		return sign + dollars(math.Abs(*x-*base))
	case *base == 0:
		return ""
	case *x > 0 && *base/(*x) >= 10:
		return fmt.Sprintf("1/%s", units.Number(*base/(*x)))
	case *x/(*base) >= 10:
		return fmt.Sprintf("x %s", units.Number(*x/(*base)))
	}
	if change := math.Round(100 * (*x/(*base) - 1)); change != 0 {
		return fmt.Sprintf("%+.0f %%", change)
	}
	return ""
}

// figures are the rows of the table.
func (t *simulateText) figures() []compared {
	r := t.results[0]
	rows := []compared{
		{"done", "1/s", func(r *simulate.Result) *float64 { return &r.DonePerSec }},
		{"write p50", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P50Seconds }},
		{"write p99", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P99Seconds }},
		{"  in a " + cycleWord(r), "seconds", func(r *simulate.Result) *float64 { return r.Writes.DuringCheckpoint.P99Seconds }},
		{"  outside", "seconds", func(r *simulate.Result) *float64 {
			if r.Writes.DuringCheckpoint.Operations == 0 {
				return nil
			}
			return r.Writes.OutsideCheckpoint.P99Seconds
		}},
		{"write max", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.MaxSeconds }},
		{"read p50", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P50Seconds }},
		{"read p99", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P99Seconds }},
		{cycleShort(r) + ", median", "seconds", func(r *simulate.Result) *float64 { return r.Checkpoints.MedianSeconds }},
		{"page cache dirty, most", "bytes", func(r *simulate.Result) *float64 { return &r.Host.DirtyBytesMax }},
	}
	for _, name := range volumeNames(t.results, len(r.Volumes) > 4) {
		of := func(r *simulate.Result) *simulate.VolumeResult {
			for i := range r.Volumes {
				if r.Volumes[i].Name == name {
					return &r.Volumes[i]
				}
			}
			return nil
		}
		rows = append(rows, compared{name + " IO/s", "", func(r *simulate.Result) *float64 {
			if v := of(r); v != nil {
				return &v.IOPS
			}
			return nil
		}}, compared{name + " busy, worst 10 s", "ratio", func(r *simulate.Result) *float64 {
			if v := of(r); v != nil {
				return &v.BusyMax
			}
			return nil
		}})
	}
	rows = append(rows, compared{"volumes a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyVolumesUSD }},
		compared{"all a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyUSD }})
	for _, o := range r.Objectives {
		rows = append(rows, compared{o.Name + " in " + units.Seconds(o.Wanted), unitMet, metRow(o.Name)})
	}
	return rows
}

func metRow(name string) func(*simulate.Result) *float64 {
	return func(r *simulate.Result) *float64 {
		for _, o := range r.Objectives {
			if o.Name == name {
				x := 0.0
				if o.Met {
					x = 1
				}
				return &x
			}
		}
		return nil
	}
}

// volumeNames are the volumes of all variants, in their order; of a cluster only the logs'.
func volumeNames(results []*simulate.Result, cluster bool) []string {
	var out []string
	for _, r := range results {
		for _, v := range r.Volumes {
			if !slices.Contains(out, v.Name) && !(cluster && strings.HasSuffix(v.Name, "/data")) {
				out = append(out, v.Name)
			}
		}
	}
	return out
}
