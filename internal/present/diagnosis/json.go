package diagnosis

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/headroom"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of the output of [JSON].
func Schema() []byte { return slices.Clone(schema) }

// JSON writes a report for programs: indented, in a stable order, with times in UTC. Arrays are
// never null. A number that is not finite becomes null if the contract allows it; otherwise it is
// an error, because zero would be wrong.
func JSON(w io.Writer, r *diagnose.Report) error {
	text, err := encode(r)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func encode(r *diagnose.Report) ([]byte, error) {
	b := &jsonBuffer{}
	enc := json.NewEncoder(b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // "<" is more readable than its escape, and the output is not a web page
	if err := enc.Encode(contract(r)); err != nil {
		return nil, fmt.Errorf("report as JSON: %w", err)
	}
	return b.text, nil
}

// jsonBuffer holds the encoder's output, so that an error leaves no partial output.
type jsonBuffer struct{ text []byte }

func (b *jsonBuffer) Write(p []byte) (int, error) {
	b.text = append(b.text, p...)
	return len(p), nil
}

// contract returns a copy of r that satisfies the JSON contract.
func contract(report *diagnose.Report) *diagnose.Report {
	out := *report
	out.Span = utcSpan(report.Span)
	out.Sources = mapped(report.Sources, func(s diagnose.Source) diagnose.Source {
		s.From, s.To = utc(s.From), utc(s.To)
		return s
	})

	out.Actions = mapped(report.Actions, actionArrays)
	out.Findings, out.Account = mapped(report.Findings, finding), mapped(report.Account, same)
	out.Incidents = mapped(report.Incidents, func(x diagnose.Incident) diagnose.Incident {
		x.From, x.To = utc(x.From), utc(x.To)
		x.Hurt = mapped(x.Hurt, func(h diagnose.Hurt) diagnose.Hurt {
			h.WaitedS, h.WorstS = finite(h.WaitedS), finite(h.WorstS)
			return h
		})
		x.Actions = mapped(x.Actions, actionArrays)
		x.Findings, x.Account = mapped(x.Findings, finding), mapped(x.Account, same)
		x.Stalls.Windows = mapped(x.Stalls.Windows, utcSpan)
		return x
	})

	out.Missing = mapped(report.Missing, func(m diagnose.NotMeasured) diagnose.NotMeasured {
		m.Missing = mapped(m.Missing, same)
		return m
	})

	out.Timeline = mapped(report.Timeline, func(t diagnose.Track) diagnose.Track {
		t.From, t.To = utc(t.From), utc(t.To)
		t.Values = mapped(t.Values, finite)
		return t
	})

	// The contract omits these four if they do not apply, instead of an empty array.
	if report.Runs != nil {
		out.Runs = mapped(report.Runs, utcSpan)
	}

	if report.Periods != nil {
		out.Periods = mapped(report.Periods, func(p diagnose.Period) diagnose.Period {
			p.From, p.To = utc(p.From), utc(p.To)
			return p
		})
	}

	if report.WorstMinutes != nil {
		out.WorstMinutes = mapped(report.WorstMinutes, func(m diagnose.Minute) diagnose.Minute {
			m.From = utc(m.From)
			return m
		})
	}

	if report.Marks != nil {
		out.Marks = mapped(report.Marks, func(m diagnose.Marked) diagnose.Marked {
			m.At, m.Before, m.After = utc(m.At), side(m.Before), side(m.After)
			return m
		})
	}

	out.Judged, out.NotSeen = mapped(report.Judged, same), mapped(report.NotSeen, same)
	out.Stalls.Windows = mapped(report.Stalls.Windows, utcSpan)
	out.Headroom = mapped(report.Headroom, limit)

	return &out
}

func side(s diagnose.Side) diagnose.Side {
	s.From, s.To, s.MeanS, s.Rate = utc(s.From), utc(s.To), finite(s.MeanS), finite(s.Rate)
	return s
}

func limit(h headroom.Headroom) headroom.Headroom {
	h.Limit, h.UsualRatio = finite(h.Limit), finite(h.UsualRatio)
	if h.Most != nil {
		most := *h.Most
		most.Ratio, most.At = finite(most.Ratio), utc(most.At)
		h.Most = &most
	}
	return h
}

func same[T any](x T) T { return x }

func actionArrays(a diagnose.Action) diagnose.Action {
	for _, s := range []*[]string{&a.Look, &a.Do, &a.Keep, &a.Check, &a.Undo, &a.Notes, &a.Raises, &a.Prove} {
		*s = mapped(*s, same)
	}
	return a
}

func finding(f diagnose.Finding) diagnose.Finding {
	f.Evidence = mapped(f.Evidence, func(e diagnose.Evidence) diagnose.Evidence {
		e.Value, e.From, e.To = finite(e.Value), utc(e.From), utc(e.To)
		return e
	})
	f.Fixes, f.Windows, f.SupportCase = mapped(f.Fixes, same), mapped(f.Windows, utcSpan), utcCase(f.SupportCase)
	return f
}

// mapped returns f of each element; empty, not nil, if s is empty.
func mapped[T any](s []T, f func(T) T) []T {
	out := make([]T, len(s))
	for i, x := range s {
		out[i] = f(x)
	}
	return out
}

func finite(x *float64) *float64 {
	if x != nil && (math.IsNaN(*x) || math.IsInf(*x, 0)) {
		return nil
	}
	return x
}

func utc(t time.Time) time.Time { return t.UTC() }

func utcSpan(s diagnose.Span) diagnose.Span {
	return diagnose.Span{From: utc(s.From), To: utc(s.To)}
}
