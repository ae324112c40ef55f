package diagnosis

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// findings returns a section of findings, numbered from before+1; none if there are no findings.
func (d *diagnosed) findings(id, title, note string, all []diagnose.Finding, before int) document.Section {
	if len(all) == 0 {
		return document.Section{}
	}
	out := make([]document.Finding, len(all))
	for i, f := range all {
		out[i] = d.finding(f, before+i+1)
	}
	return document.Section{ID: id, Title: title, Note: note, Parts: []document.Part{{Findings: out}}}
}

func (d *diagnosed) finding(judged diagnose.Finding, n int) document.Finding {
	out := document.Finding{ID: "f" + strconv.Itoa(n), Number: n, Level: document.Level(judged.Severity),
		Word: string(judged.Severity), Title: judged.Title, Subject: judged.Subject,
		Summary: judged.Summary, Cause: judged.Cause, Rule: judged.Rule, Condition: condition(d.Pack, judged.Rule),
		Essential: judged.Rule == evidenceRule,
		Aside:     judged.Kind == diagnose.Symptom && !judged.Judged && d.Stalls.Seconds > 0,
		Kind:      kinds[judged.Kind], Brief: brief(judged)}

	// The first finding of a rule has the rule's address, whatever its number is next time.
	if !d.linked[judged.Rule] && judged.Rule != "" {
		out.Anchor, d.linked[judged.Rule] = judged.Rule, true
	}

	if judged.Kind == diagnose.Refutation {
		out.Level, out.Word = document.Not, "ruled out"
	}

	if judged.Kind == diagnose.Cause && judged.Weight > 0 && d.Stalls.Seconds > 0 {
		out.Weight = "in " + units.Percent(judged.Weight) + " of the stall"
	}

	for _, w := range judged.Windows {
		out.When = append(out.When, d.when(w))
	}

	if judged.PeriodS > 0 {
		out.Period = "every " + units.Seconds(judged.PeriodS)
	}

	for _, x := range judged.Fixes {
		out.Fixes = append(out.Fixes, document.Fix{Summary: x.Summary, Expect: x.Expect, Cost: x.TradeOff})
	}

	if out.Condition != "" {
		if e, err := rules.Parse(out.Condition); err == nil {
			for _, name := range rules.Names(e) {
				out.Signals = append(out.Signals, document.Cell{Text: name, Href: d.queries.Link(name)})
			}
		}
	}

	for _, e := range judged.Evidence {
		out.Observations = append(out.Observations,
			document.Observation{Value: figure(e), Text: e.Text, Metric: e.Metric,
				Signal: strings.TrimPrefix(e.Metric, rules.SignalPrefix),
				Href:   d.queries.Link(e.Metric), When: d.when(diagnose.Span{From: e.From, To: e.To}),
				Whole: d.throughout(e)})
	}

	return out
}

var kinds = map[diagnose.Kind]document.FindingKind{diagnose.Cause: document.Cause,
	diagnose.Symptom: document.Symptom, diagnose.Refutation: document.Refuted}

// brief is the summary of a symptom without the sentences that repeat the verdict: how much of the
// time stalled, and how often.
func brief(f diagnose.Finding) string {
	if i := strings.Index(f.Summary, "Mean latency"); f.Kind == diagnose.Symptom && i > 0 {
		return f.Summary[i:]
	}
	return ""
}

// evidenceRule is the rule about the sources themselves. Its observations, which say what is
// missing in which file, are the finding.
const evidenceRule = "evidence/gap"

// figure prints the number of a piece of evidence with its unit; "" if it is text only. A device's
// requests per second are IOPS.
func figure(e diagnose.Evidence) string {
	if e.Value == nil {
		return ""
	}
	if e.Unit == "1/s" && strings.Contains(e.Metric, "disk_") {
		return units.Number(*e.Value) + " IOPS"
	}
	return units.Value(*e.Value, e.Unit)
}

// when returns a time window that links to the charts.
func (d *diagnosed) when(s diagnose.Span) document.Cell {
	out := document.Cell{Text: d.clock.Window(s.From, s.To)}
	if d.charts != nil && !s.From.IsZero() && !s.To.IsZero() {
		out.Href = "#timeline"
		out.Zoom = &document.Window{From: d.seconds(s.From), To: d.seconds(s.To)}
	}
	return out
}

// throughout reports whether evidence covers nearly the entire span, so that its window adds no
// information.
func (d *diagnosed) throughout(e diagnose.Evidence) bool {
	// Sources start and end at slightly different times.
	slack := d.Span.To.Sub(d.Span.From) / 50
	return e.From.Sub(d.Span.From).Abs() <= slack && e.To.Sub(d.Span.To).Abs() <= slack
}

// facts formats a source's settings on one line, sorted by name.
func facts(all map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return strings.Join(out, ", ")
}

// condition is the PromQL condition of a finding's rule; "" if the rule is not in the pack or has
// none.
func condition(pack *rules.Pack, rule string) string {
	r, err := pack.Rule(rule)
	if err != nil {
		return ""
	}
	return r.When
}
