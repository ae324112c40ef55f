package diagnose

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// Samples of up to one metric in [few] that are this far from the others do not affect the span of
// a diagnosis.
const (
	few        = 20
	yearsApart = 365 * 24 * time.Hour
)

// usualSpan shortens a span that only a few metrics stretch by years: a sample with a wrong
// timestamp must not lead to cells of several days.
func usualSpan(metrics []recording.Metric, first, last time.Time) (time.Time, time.Time) {
	var froms, tos []time.Time
	for _, m := range metrics {
		if !m.From.IsZero() && !m.To.IsZero() {
			froms, tos = append(froms, m.From), append(tos, m.To)
		}
	}

	if len(tos) < few {
		return first, last
	}

	slices.SortFunc(froms, time.Time.Compare)
	slices.SortFunc(tos, time.Time.Compare)
	if i := len(froms) / few; froms[i].Sub(first) > yearsApart {
		first = froms[i]
	}

	if i := len(tos) - 1 - len(tos)/few; last.Sub(tos[i]) > yearsApart {
		last = tos[i]
	}

	return first, last
}

// strays reports the metrics with samples years away from the grid, which were ignored.
func strays(holding []held, grid timeline.Grid, opt Options) []rules.Trouble {
	var out []rules.Trouble
	from, to := grid.Start(0), grid.Time(grid.N-1)
	for _, recorded := range holding {
		var first recording.Metric
		var at time.Time

		count := 0
		for _, m := range recorded.metrics {
			var stray time.Time
			switch {
			// A time that the user gave is not a stray, however far away it is.
			case opt.From.IsZero() && !m.From.IsZero() && from.Sub(m.From) > yearsApart:
				stray = m.From
			case opt.To.IsZero() && m.To.Sub(to) > yearsApart:
				stray = m.To
			default:
				continue
			}

			if count++; count == 1 {
				first, at = m, stray
			}
		}

		if count == 0 {
			continue
		}

		name := ""
		if all := recorded.reader.Sources(); len(all) > 0 {
			name = all[0].Name
		}

		out = append(out, rules.Trouble{
			Kind: string(recording.NoteClock), Source: name, Span: rules.Span{From: from, To: to},
			Text: fmt.Sprintf("metrics with samples years away from the rest: %d (first: %s at %s); these samples were ignored. Use --from and --to to select another time",
				count, first.Name, at.UTC().Format("2006-01-02")),
		})
	}

	return out
}
