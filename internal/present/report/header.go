package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

// sourcesMax bounds the sources a short report names.
const sourcesMax = 4

const headerColumn = 11

// header says what was looked at, and how much of it stalled.
func (p *page) header(r *diagnose.Report) {
	for i, s := range r.Sources {
		label := "sources"
		if len(r.Sources) == 1 {
			label = "source"
		}
		if i > 0 {
			label = ""
		}
		if i == sourcesMax && !p.verbose && len(r.Sources) > sourcesMax+1 {
			p.labelled(2, headerColumn, label, fmt.Sprintf("and %d more", len(r.Sources)-i), plain)
			p.shortened = true
			break
		}
		p.labelled(2, headerColumn, label, SourceLine(s), plain)
		if p.verbose {
			p.facts(s.Facts)
		}
	}
	if r.Span.From.IsZero() || r.Span.To.IsZero() {
		p.labelled(2, headerColumn, "span", "unknown", plain)
	} else {
		p.labelled(2, headerColumn, "span", fmt.Sprintf("%s (%s)", p.clock.Whole(r.Span), units.Seconds(r.Span.Seconds())), plain)
	}
	p.stalls(r.Stalls)
}

// SourceLine names a source, with what is known of it.
func SourceLine(s diagnose.Source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s", s.Name, s.Kind)
	if what := strings.TrimSpace(s.Engine + " " + s.Version); what != "" {
		b.WriteString(", " + what)
	}
	if s.Host != "" {
		b.WriteString(", host " + s.Host)
	}
	if s.Samples > 0 {
		b.WriteString(", " + plural(int(s.Samples), "sample"))
		if s.PeriodS > 0 {
			b.WriteString(" " + units.Seconds(s.PeriodS) + " apart")
		}
	}
	b.WriteString(")")
	return b.String()
}

func (p *page) facts(facts map[string]string) {
	names := make([]string, 0, len(facts))
	for n := range facts {
		names = append(names, n)
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = n + "=" + facts[n]
	}
	if len(names) > 0 {
		p.labelled(2, headerColumn, "", strings.Join(names, ", "), dim)
	}
}

func (p *page) stalls(s diagnose.StallSummary) {
	switch {
	case s.Of <= 0:
		p.labelled(2, headerColumn, "stalled", "not known: no source tells how long clients' writes took", plain)
		return
	case s.Seconds <= 0:
		p.labelled(2, headerColumn, "stalled", fmt.Sprintf("0 s of %s of %s", units.Seconds(s.Of), s.Signal), plain)
	default:
		text := fmt.Sprintf("%s of %s (%s), %s, longest %s", units.Seconds(s.Seconds), units.Seconds(s.Of),
			units.Percent(s.Seconds/s.Of), plural(s.Episodes, "episode"), units.Seconds(s.LongestS))
		if s.PeriodS > 0 {
			text += ", every " + units.Seconds(s.PeriodS)
		}
		p.labelled(2, headerColumn, "stalled", text, plain)
	}
	if s.ThresholdS > 0 {
		p.labelled(2, headerColumn, "", fmt.Sprintf("(judged by %s: an interval counts as stalled from a mean latency of %s on)", s.Signal, units.Seconds(s.ThresholdS)), dim)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return units.Count(int64(n)) + " " + what + "s"
}
