package diagnosis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// elsewhere lists findings about devices that the database does not use.
func (d *diagnosed) elsewhere() document.Section {
	if len(d.Elsewhere) == 0 {
		return document.Section{}
	}
	t := document.NewTable("Devices that the database does not use", "device", "finding")
	for _, f := range d.Elsewhere {
		t.Add([]document.Cell{{Text: f.Subject, Roles: "code"}, {Text: f.Title + ": " + f.Summary}})
	}
	return document.Section{ID: "elsewhere", Title: "Elsewhere on this host",
		Parts: []document.Part{{Table: t}}}
}

// hostsMax bounds the hosts named in a heading.
const hostsMax = 3

// hosts lists the distinct machines of the sources.
func hosts(all []diagnose.Source) string {
	var names []string
	for _, s := range all {
		if s.Host != "" && !slices.Contains(names, s.Host) {
			names = append(names, s.Host)
		}
	}
	if len(names) > hostsMax {
		names = append(names[:hostsMax-1:hostsMax-1], strconv.Itoa(len(names)-hostsMax+1)+" more")
	}
	return strings.Join(names, ", ")
}

func (d *diagnosed) ofKind(k diagnose.Kind) []diagnose.Finding {
	var out []diagnose.Finding
	for _, f := range d.Findings {
		if f.Kind == k {
			out = append(out, f)
		}
	}
	return out
}

// facts lists the key figures behind the verdict.
func (d *diagnosed) facts() []document.Fact {
	stalls := d.Stalls
	out := d.now()
	timelineLink := ""

	if d.charts != nil {
		timelineLink = "#timeline"
	}

	switch {
	case stalls.Of <= 0:
		out = append(out, document.Fact{Label: "Stalled", Value: "unknown",
			Note: "no source reports how long clients' writes took"})
	case stalls.Seconds <= 0:
		out = append(out, document.Fact{Label: "Stalled", Value: "0 s",
			Note: "of " + units.Seconds(stalls.Of) + " of " + stalls.Signal, Level: "good", Href: timelineLink})
	default:
		out = append(out, document.Fact{Label: "Stalled", Value: units.Seconds(stalls.Seconds), Level: "critical",
			Href: timelineLink,
			Note: fmt.Sprintf("of %s, %s", units.Seconds(stalls.Of), units.Percent(stalls.Seconds/stalls.Of))})
		note := "longest " + units.Seconds(stalls.LongestS)
		if stalls.PeriodS > 0 {
			note += ", every " + units.Seconds(stalls.PeriodS)
		}
		out = append(out, document.Fact{Label: "Episodes", Value: strconv.Itoa(stalls.Episodes), Note: note,
			Href: timelineLink})
	}

	if worst := highest(d.Report); worst > 0 {
		out = append(out, document.Fact{Label: "Worst mean latency", Value: units.Seconds(worst),
			Note: "of an interval, " + stalls.Signal, Href: timelineLink})
	}

	out = append(out, d.percentileFacts()...)
	for i, f := range d.ofKind(diagnose.Cause) {
		if i == 0 && f.Weight > 0 && stalls.Seconds > 0 {
			out = append(out, document.Fact{Label: "Top cause", Value: units.Percent(f.Weight),
				Note: "of the stall: " + f.Title, Level: document.Level(f.Severity), Href: "#f1"})
		}
	}

	out = append(out, d.headroomFacts()...)
	if !d.Span.From.IsZero() && !d.Span.To.IsZero() {
		out = append(out, document.Fact{Label: "Watched", Value: units.Seconds(d.watchedS()),
			Note: d.clock.Whole(d.Span), Href: "#sources"})
	}

	return out
}

// percentileFacts returns the p99 over the whole time of the first latency with a histogram.
func (d *diagnosed) percentileFacts() []document.Fact {
	if d.Detail == nil || d.charts == nil {
		return nil
	}

	for i, x := range d.Detail.Latencies {
		h, _ := d.densityOfSpread(x)
		all := h.Everything("")
		// A latency without a signal has only means, from which no percentile follows.
		if x.Signal == "" || len(h.BoundsS) < 2 || !all.Enough(document.P99) {
			continue
		}

		href := "#latency"
		if i > 0 {
			href += strconv.Itoa(i + 1)
		}

		return []document.Fact{{Label: "p99 of " + x.Subject, Value: h.QuantileText(all, document.P99),
			Note: "of all " + document.Counted(all.Total()) + ", median " + h.QuantileText(all, document.Median),
			Href: href}}
	}

	return nil
}

// highest is the highest latency in all runs; 0 if there is none.
func highest(r *diagnose.Report) float64 {
	all := latencies(r)
	if len(all) == 0 {
		return 0
	}
	return slices.Max(all)
}
