package rules

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/timeline"
)

// figure is evidence with a number, from the span the cells of m cover.
func (c *Case) figure(text, metric string, value float64, unit string, m timeline.Mask) Evidence {
	e := Evidence{Text: text, Metric: metric, Unit: unit}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		e.Value = &value
	}
	span := c.Whole()
	if eps := m.Episodes(); len(eps) > 0 {
		span = Span{From: c.Grid.Start(eps[0].First), To: c.Grid.Time(eps[len(eps)-1].Last)}
	}
	e.From, e.To = span.From, span.To
	return e
}

// finding starts a finding of a rule.
func (r Rule) finding(subject string) Finding {
	return Finding{Rule: r.ID, Kind: r.Kind, Title: r.Title, Subject: subject, Cause: r.Cause, Docs: r.Docs()}
}

// severityOf grades a cause by the share of the stalled time it explains and by
// how much time stalled at all.
func (c *Case) severityOf(share float64) Severity {
	stalled, seen := c.Seconds(c.Stall.Cells), c.Seconds(c.Stall.Observed)
	switch {
	case stalled == 0 || share < 0.05:
		return Info
	case share >= 0.3 && (stalled >= 10 || stalled >= 0.05*seen):
		return Critical
	}
	return Warning
}

// Numbers for sentences: three significant digits, thousands separated.

// num prints a number with three significant digits and thousands separators.
func num(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "?"
	case a == 0:
		return "0"
	case a >= 99.95:
		return thousands(fmt.Sprintf("%.0f", x))
	case a >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case a >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, ch := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(ch)
	}
	return sign + b.String()
}

// dur prints seconds as a person would say them.
func dur(s float64) string {
	switch a := math.Abs(s); {
	case math.IsNaN(s):
		return "?"
	case a == 0:
		return "0 s"
	case a < 1e-3:
		return num(s*1e6) + " us"
	case a < 1:
		return num(s*1e3) + " ms"
	case a < 120:
		return num(s) + " s"
	case a < 7200:
		return num(s/60) + " min"
	}
	return num(s/3600) + " h"
}

// size prints bytes in decimal units, as volumes' throughput is sold and iostat -m
// roughly prints it.
func size(b float64) string {
	switch a := math.Abs(b); {
	case a >= 1e9:
		return num(b/1e9) + " GB"
	case a >= 1e6:
		return num(b/1e6) + " MB"
	case a >= 1e3:
		return num(b/1e3) + " kB"
	}
	return num(b) + " B"
}

// pct prints a ratio in percent.
func pct(r float64) string {
	if math.IsNaN(r) {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*r)
}
