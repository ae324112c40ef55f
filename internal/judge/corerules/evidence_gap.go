package corerules

import (
	"fmt"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	maxTroubles = 12   // gaps and damaged places listed in one finding
	minHoleS    = 15.0 // as in package timeline: a sampler may be late by seconds while the host stalls
)

func evidenceGap() rules.Rule {
	rule := rules.Rule{ID: "evidence/gap", Title: "Part of the evidence is missing", Kind: rules.Symptom, Needs: []*rules.Signal{},
		Whole:   true,
		NoAlert: "it judges a source's own notes, not series",
		Cause:   "A sampler that stops is evidence in itself: the database restarted, the host was too busy to write its statistics, or the file is damaged. Time without samples is not judged.",
		Words: rules.Words{
			"trouble": "{{if .next}}and {{end}}{{.trouble}}",
			"judged":  "in the sources{{with .lost}}; {{.}} without samples{{end}}. The rest was judged.",
		},
		Advice: map[string]rules.Advice{"look": {Summary: "Check what happened at the gaps: a restart (the uptime starts again), a sampler that got no CPU or whose own writes stalled",
			Expect: "the worst seconds are often the missing ones", TradeOff: "none", NoCommand: nothingToDo}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		trouble := append(slices.Clone(input.Trouble), holes(input)...)
		shift, off := clockShift(input)
		if off {
			trouble = append([]rules.Trouble{shift.trouble(input.Whole())}, trouble...)
		}

		if len(trouble) == 0 {
			return nil
		}

		finding := rule.Finding("sources")
		finding.Severity = rules.Info
		if off {
			finding.Severity = rules.Warning
		}

		counts := map[string]int{}
		lost := 0.0
		for i, t := range trouble {
			counts[t.Kind]++
			if t.Kind == "gap" || t.Kind == "damage" {
				finding.Severity = rules.Warning
				lost += max(0, t.Span.Seconds())
			}

			if i < maxTroubles {
				finding.Evidence = append(finding.Evidence,
					rules.Evidence{Text: t.Source + ": " + t.Text, From: t.Span.From, To: t.Span.To})
				if !t.Span.From.IsZero() && !t.Span.To.IsZero() {
					finding.Windows = append(finding.Windows, t.Span)
				}
			}
		}

		// The counts form one sentence, joined by "and".
		next := rules.Value("")
		for _, p := range []struct {
			n    int
			what string
		}{{counts["gap"], "gap"}, {counts["damage"], "damaged place"},
			{len(trouble) - counts["gap"] - counts["damage"], "other remark"}} {
			if p.n > 0 {
				what := rules.Things(p.n, p.what)
				if next == "" {
					what = rules.UpperFirst(what)
				}
				finding.Say("trouble", rules.Values{"next": next, "trouble": what})
				next = what
			}
		}

		judged := rules.Values{"lost": ""}
		if lost > 0 {
			judged["lost"] = rules.Seconds(lost)
		}

		finding.Say("judged", judged)
		if n := len(trouble) - maxTroubles; n > 0 {
			finding.Evidence = append(finding.Evidence,
				rules.Evidence{Text: fmt.Sprintf("and %d more", n), From: input.Whole().From, To: input.Whole().To})
		}

		if counts["gap"] > 0 {
			finding.Advise("look", nil)
		}

		return []rules.Finding{finding}
	}

	return rule
}

// holes are periods within the recording in which no signal has a value and about which no source
// has a note: a metrics server records nothing about failed scrapes.
func holes(c *rules.Case) []rules.Trouble {
	known := make(timeline.Mask, c.Grid.N)
	for _, s := range c.Pack.Signals() {
		for _, t := range c.Signal(s) {
			for k, x := range t.Values {
				known[k] = known[k] || x == x
			}
		}
	}

	var out []rules.Trouble
	eps := known.Not().Episodes()
	for _, e := range eps {
		if e.First == 0 || e.Last == c.Grid.N-1 {
			continue // before the first sample or after the last
		}

		span := c.Span(e)
		if span.Seconds() < minHoleS {
			continue // a restarted counter leaves a short hole
		}

		reported := slices.ContainsFunc(c.Trouble, func(t rules.Trouble) bool {
			return t.Span.From.Before(span.To) && t.Span.To.After(span.From)
		})
		if !reported {
			out = append(out, rules.Trouble{Kind: "gap", Source: "all sources",
				Text: "no sample for " + units.Seconds(span.Seconds()), Span: span})
		}
	}

	return out
}
