package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// Figure is evidence with a number that was read from a signal, or from several (nil), in the time
// covered by the cells of m.
func (t Time) Figure(text string, of *Signal, value float64, unit string, m timeline.Mask) Evidence {
	if of == nil {
		return t.FigureOf(text, "", value, unit, m)
	}
	return t.FigureOf(text, of.Name, value, unit, m)
}

// FigureOf is the same for an exporter's metric.
func (t Time) FigureOf(text, metric string, value float64, unit string, m timeline.Mask) Evidence {
	e := Evidence{Text: text, Metric: metric, Unit: unit}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		e.Value = &value
	}
	span := t.Whole()
	if eps := m.Episodes(); len(eps) > 0 {
		span = Span{From: t.Grid.Start(eps[0].First), To: t.Grid.Time(eps[len(eps)-1].Last)}
	}
	e.From, e.To = span.From, span.To
	return e
}

// Finding starts a finding of a rule.
func (r Rule) Finding(subject string) Finding {
	return Finding{Rule: r.ID, Kind: r.Kind, Title: r.Title, Subject: subject, Cause: r.Cause, Docs: r.Docs()}
}

// serious reports whether enough time stalled to wake someone up for: a hundredth of it (and five
// seconds), or five minutes. A single interval of many seconds that was judged by one snapshot of
// the sessions is not enough: they may have waited for a fraction of a second.
func (t Time) serious(s Stall) bool {
	stalled, seen := t.Seconds(s.AsSampled().Without(s.Unsure)), t.Seconds(s.Observed)
	if s.Sampled && t.Seconds(s.AsSampled()) <= s.PeriodS && s.PeriodS >= CoarseFromS {
		return false
	}
	return stalled >= max(5, 0.01*seen) || stalled >= 300
}

// Stalled time of at most trifleS and of less than trifleShare of the recording is worth a line in
// the report, but not an alert at night.
const (
	trifleS     = 3.0
	trifleShare = 1e-4
)

// Trifle reports whether so little of the recording stalled that it justifies no conclusion.
func Trifle(stalledS, watchedS float64) bool {
	return stalledS <= trifleS && stalledS < trifleShare*watchedS
}

// SeverityOf grades a cause by the share of the stalled time that it explains and by how much time
// stalled in total.
func (st *Stalls) SeverityOf(share float64) Severity {
	switch {
	case !st.Stall.Any() || share < 0.05 ||
		Trifle(st.Seconds(st.Stall.AsSampled()), st.Seconds(st.Stall.Observed)):
		return Info
	case share >= 0.3 && st.serious(st.Stall):
		return Critical
	}
	return Warning
}

// Remark is evidence without a number that covers the entire recording.
func (t Time) Remark(text string) Evidence {
	return Evidence{Text: text, From: t.Whole().From, To: t.Whole().To}
}
