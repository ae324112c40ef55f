package diagnosis

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// summary says what was examined and how much of it stalled.
func (d *diagnosed) summary() []document.Term {
	sources := document.Term{Label: "sources"}
	if len(d.Sources) == 1 {
		sources.Label = "source"
	}

	for _, s := range d.Sources {
		sources.Lines = append(sources.Lines, document.Line{Text: sourceLine(s), Detail: facts(s.Facts)})
	}

	span := "unknown"
	if !d.Span.From.IsZero() && !d.Span.To.IsZero() {
		span = fmt.Sprintf("%s (%s)", d.clock.Whole(d.Span), units.Seconds(d.Span.Seconds()))
		// Otherwise a long span with few samples would look like a long observation.
		if watched := d.watchedS(); watched < gapShare*d.Span.Seconds() {
			span += ", " + units.Seconds(watched) + " of it watched"
		}
	}

	out := []document.Term{sources, document.NewTerm("span", span),
		{Label: "stalled", Lines: []document.Line{stalled(d.Stalls)}}}
	out = append(out, d.claim()...)
	if len(d.Notes) > 0 {
		notes := document.NewTerm("identity", grouped(d.Notes)...)
		notes.Keep = true
		out = append(out, notes)
	}

	return out
}

// noHost is the text of the note on a source without a host, after the source's name and before the
// host that it is assumed to describe.
const noHost = " does not name its host: "

// grouped joins the notes on sources without a host if the same host is assumed for all of them.
func grouped(notes []string) []string {
	of := map[string][]string{}
	for _, text := range notes {
		if name, host, ok := strings.Cut(text, noHost); ok {
			of[host] = append(of[host], name)
		}
	}

	var out []string
	for _, text := range notes {
		_, host, ok := strings.Cut(text, noHost)
		names := of[host]
		if !ok || len(names) == 1 {
			out = append(out, text)
			continue
		}

		// The first note of a group stands for all.
		if len(names) > 1 {
			out = append(out, units.Joined(names)+" do not name their host: "+host)
			of[host] = nil
		}
	}

	return out
}

// gapShare is the share of the span below which the watched time is stated as well.
const gapShare = 0.9

// watchedS is how long anything was watched, in seconds; the span if the report does not say.
func (d *diagnosed) watchedS() float64 {
	if d.WatchedS > 0 {
		return d.WatchedS
	}
	return d.Span.Seconds()
}

// claim says which operations "no stall" covers, and which it does not.
func (d *diagnosed) claim() (out []document.Term) {
	if d.Stalls.Seconds > 0 || len(d.Judged) == 0 {
		return nil
	}

	watched := document.Term{Label: "watched", Keep: true}
	for _, x := range d.Judged {
		text := fmt.Sprintf("%s: %s in %s, sampled every %s", x.Signal,
			plural(int(math.Round(x.Operations)), "operation"), units.Seconds(x.Seconds), units.Seconds(x.StepS))
		if x.ThresholdS > 0 {
			text += ", stalled from " + units.Seconds(x.ThresholdS)
		}
		watched.Lines = append(watched.Lines, document.Line{Text: text})
	}

	out = append(out, watched)
	if len(d.NotSeen) > 0 {
		unseen := document.NewTerm("not seen", d.NotSeen...)
		unseen.Keep = true
		out = append(out, unseen)
	}

	return out
}

// sourceLine describes a source in one line.
func sourceLine(s diagnose.Source) string {
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

// stalled states how much of the time was stalled.
func stalled(s diagnose.StallSummary) document.Line {
	var out document.Line
	switch {
	case s.Of <= 0:
		return document.Line{Text: "unknown: no source reports how long clients' writes took"}
	case s.Seconds <= 0:
		out.Text = fmt.Sprintf("0 s of %s of %s", units.Seconds(s.Of), s.Signal)
	default:
		out.Text = fmt.Sprintf("%s of %s (%s), %s, longest %s", s.Range(), units.Seconds(s.Of),
			units.Percent(s.Seconds/s.Of), plural(s.Episodes, "episode"), units.Seconds(s.LongestS))
		if s.PeriodS > 0 {
			out.Text += ", every " + units.Seconds(s.PeriodS)
		}
	}

	if s.ThresholdS > 0 {
		out.Note = fmt.Sprintf("(judged by %s: an interval is stalled if its mean latency is at least %s)",
			s.Signal, units.Seconds(s.ThresholdS))
	}

	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return units.Count(int64(n)) + " " + what + "s"
}
