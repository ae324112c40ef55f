package report

import (
	"math"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

// What a plot is drawn with, from zero to the most; nothing measured is a space.
var (
	blocks = []rune("▁▂▃▄▅▆▇█")
	ascii  = []rune("_.:-=+*#")
)

const (
	nameColumns = 25 // of a track's name
	mostColumns = 16 // of its highest value
	tracksMax   = 9  // in a report that is not verbose
)

// tracks draws the report's series over the same time, each with its highest value.
func (p *page) tracks(r *diagnose.Report) {
	if len(r.Timeline) == 0 || !r.Span.To.After(r.Span.From) {
		return
	}
	names := 0
	for _, t := range r.Timeline {
		names = max(names, columns(p.clean(t.Name)))
	}
	names = min(names, nameColumns)
	slots := p.width - 2 - names - 2 - 2 - mostColumns
	if slots < 10 {
		return // too narrow to show anything by its shape
	}
	p.blank()
	for i, t := range r.Timeline {
		if i == tracksMax && !p.verbose {
			p.shortened = true
			break
		}
		drawn, most := p.draw(t, r.Span, slots)
		p.line("  ", p.pad(t.Name, names), "  ", p.paint(drawn, cyan), "  ", most)
	}
	from, to := p.clock.At(r.Span.From), p.clock.At(r.Span.To)
	if gap := slots - len(from) - len(to); gap > 0 {
		column := units.Seconds(r.Span.Seconds()/float64(slots)) + "/column"
		p.line(strings.Repeat(" ", names+4), p.paint(from+strings.Repeat(" ", gap)+to, dim), "  ", p.paint(p.fit(column, mostColumns), dim))
	}
}

// draw gives a track as one row of slots over the span, and its highest value in words.
func (p *page) draw(t diagnose.Track, span diagnose.Span, slots int) (row, most string) {
	vals := slotMax(t, span, slots)
	high := math.Inf(-1)
	for _, v := range vals {
		if !math.IsNaN(v) {
			high = max(high, v)
		}
	}
	if math.IsInf(high, -1) {
		return strings.Repeat(" ", slots), "not measured"
	}
	full := high
	if t.Unit == "ratio" && high > 0.5 {
		full = max(1, high) // a share is drawn against the whole
	}
	ramp := blocks
	if p.ascii {
		ramp = ascii
	}
	var b strings.Builder
	for _, v := range vals {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case full <= 0 || v <= 0:
			b.WriteRune(ramp[0])
		default:
			b.WriteRune(ramp[min(len(ramp)-1, int(math.Round(v/full*float64(len(ramp)-1))))])
		}
	}
	if isFlag(t) {
		return b.String(), ""
	}
	return b.String(), p.fit("max "+units.Value(high, t.Unit), mostColumns)
}

// isFlag tells a track that only says on or off: its highest value is no news.
func isFlag(t diagnose.Track) bool {
	if t.Unit != "" {
		return false
	}
	for _, v := range t.Values {
		if v != nil && *v != 0 && *v != 1 {
			return false
		}
	}
	return true
}

// slotMax lays a track on equal slots of the span, each the maximum of what falls into it
// (a stall must not vanish by averaging); NaN where nothing was measured.
func slotMax(t diagnose.Track, span diagnose.Span, slots int) []float64 {
	out := make([]float64, slots)
	for i := range out {
		out[i] = math.NaN()
	}
	whole := span.To.Sub(span.From)
	if t.StepS <= 0 || whole <= 0 {
		return out
	}
	at := func(when time.Duration) float64 { // in slots
		return float64(when) / float64(whole) * float64(slots)
	}
	offset := t.From.Sub(span.From)
	for k, v := range t.Values {
		if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
			continue
		}
		from := offset + time.Duration(float64(k)*t.StepS*float64(time.Second))
		first := int(math.Floor(at(from) + 1e-9))
		last := int(math.Ceil(at(from+time.Duration(t.StepS*float64(time.Second)))-1e-9)) - 1
		for i := max(0, first); i <= min(slots-1, max(first, last)); i++ {
			if math.IsNaN(out[i]) || *v > out[i] {
				out[i] = *v
			}
		}
	}
	return out
}
