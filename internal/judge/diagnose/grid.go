package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// steps are the cell lengths a grid may have. Round ones make a rule's windows and a report's times
// easier to read.
var steps = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
}

// roundStep is the step nearest to a source's period.
func roundStep(period time.Duration) time.Duration {
	best := steps[0]
	for _, s := range steps {
		if (s - period).Abs() < (best - period).Abs() {
			best = s
		}
	}
	return best
}

// ErrNothing says that the sources contain nothing that can be judged.
var ErrNothing = errors.New("nothing to diagnose")

// inventory lists the metrics of each recording that the rules read.
func inventory(ctx context.Context, in []recording.Reader, pack *rules.Pack) ([]held,
	[]recording.Metric, error) {
	var out []held
	var metrics []recording.Metric
	for _, r := range in {
		ms, err := r.Metrics(ctx)
		if err != nil {
			return nil, nil, err
		}

		h := held{reader: r, names: map[string]bool{}}
		for _, m := range ms {
			if pack.Wants(m.Name) {
				h.names[m.Name] = true
				h.metrics = append(h.metrics, m)
				metrics = append(metrics, m)
			}
		}

		out = append(out, h)
	}

	return out, metrics, nil
}

// covered returns the times of the first and the last sample; zero if no metric has any.
func covered(metrics []recording.Metric) (first, last time.Time) {
	for _, m := range metrics {
		if m.From.IsZero() || m.To.IsZero() {
			continue
		}
		if first.IsZero() || m.From.Before(first) {
			first = m.From
		}
		if m.To.After(last) {
			last = m.To
		}
	}
	return first, last
}

// chooseGrid returns a grid that covers the time of the metrics, at the finest period among them.
func chooseGrid(metrics []recording.Metric, in []recording.Reader, opt Options) (timeline.Grid, error) {
	from, to := opt.From, opt.To
	first, last := covered(metrics)

	// Either the time range or the sources are wrong, and the user needs to know which one to correct.
	if len(metrics) == 0 && (!from.IsZero() || !to.IsZero()) {
		return timeline.Grid{},
			fmt.Errorf("%w: the sources contain no sample of any metric the rules read between --from and --to",
				ErrNothing)
	}
	if len(metrics) == 0 {
		return timeline.Grid{}, fmt.Errorf("%w: the sources contain none of the metrics the rules read%s",
			ErrNothing,
			between(in))
	}

	// One sample with a wrong clock would stretch the grid over years.
	first, last = usualSpan(metrics, first, last)
	if !from.IsZero() && from.After(first) {
		first = from
	}

	if !to.IsZero() && to.Before(last) {
		last = to
	}

	if first.IsZero() || !last.After(first) {
		return timeline.Grid{},
			fmt.Errorf("%w: fewer than two samples in the requested time; a diagnosis needs a span of time",
				ErrNothing)
	}

	return timeline.NewGridWithin(opt.cells(), first, last, max(finest(metrics), opt.Step), holesOf(in)...), nil
}

// between states the time that was read. It matters with a server, which defaults to the last hour.
func between(in []recording.Reader) string {
	var from, to time.Time
	for _, r := range in {
		for _, s := range r.Sources() {
			if s.From.IsZero() || s.To.IsZero() {
				return ""
			}
			if from.IsZero() || s.From.Before(from) {
				from = s.From
			}
			if s.To.After(to) {
				to = s.To
			}
		}
	}

	if from.IsZero() {
		return ""
	}

	return " from " + from.UTC().Format(time.DateTime) + " to " + to.UTC().Format(time.DateTime) +
		" UTC (use --from and --to to select another time)"
}

// finest is the shortest sampling period of any metric, rounded to a step; a second if none is
// known.
func finest(metrics []recording.Metric) time.Duration {
	var period time.Duration
	for _, m := range metrics {
		if !m.From.IsZero() && !m.To.IsZero() && m.Period > 0 && (period == 0 || m.Period < period) {
			period = m.Period
		}
	}
	return roundStep(cmp.Or(period, time.Second))
}

// holesOf returns the time in which no source has a sample: between sources, and during gaps that
// every source present notes. It returns none if a source does not report its time.
func holesOf(in []recording.Reader) []timeline.Hole {
	var covered []timeline.Hole
	for _, r := range in {
		gaps := map[string][]recording.Note{}
		for _, n := range r.Notes() {
			if n.Kind == recording.NoteGap && n.To.After(n.From) && !n.From.IsZero() {
				gaps[n.Source] = append(gaps[n.Source], n)
			}
		}

		sources := r.Sources()
		if len(sources) == 0 {
			return nil
		}

		for _, s := range sources {
			if s.From.IsZero() || s.To.IsZero() {
				return nil
			}

			// A source covers its time except for its gaps: add the stretches between them.
			at := s.From
			slices.SortFunc(gaps[s.Name], func(a, b recording.Note) int { return a.From.Compare(b.From) })

			for _, n := range gaps[s.Name] {
				if n.From.After(s.To) || n.To.Before(at) {
					continue
				}
				covered = append(covered, timeline.Hole{From: at, To: n.From})
				at = n.To
			}

			covered = append(covered, timeline.Hole{From: at, To: s.To})
		}
	}

	slices.SortFunc(covered, func(a, b timeline.Hole) int { return a.From.Compare(b.From) })
	var out []timeline.Hole
	for i, c := range covered {
		if i == 0 {
			continue
		}

		// Carry the latest end along: a short stretch inside a long one must not create a hole after
		// it.
		covered[i].To = maxTime(c.To, covered[i-1].To)
		if c.From.After(covered[i-1].To) {
			out = append(out, timeline.Hole{From: covered[i-1].To, To: c.From})
		}
	}

	return out
}

// within marks the cells that are entirely inside a hole; nil without holes.
func within(g timeline.Grid, holes []timeline.Hole) timeline.Mask {
	if len(holes) == 0 {
		return nil
	}

	out := make(timeline.Mask, g.N)
	i := 0
	for k := range out {
		for i < len(holes) && holes[i].To.Before(g.Time(k)) {
			i++
		}
		out[k] = i < len(holes) && !holes[i].From.After(g.Start(k))
	}

	return out
}

// trouble lists the notes of the sources, and sources that do not overlap in time.
func trouble(in []recording.Reader) []rules.Trouble {
	var out []rules.Trouble
	var spans []recording.Source
	for _, r := range in {
		for _, n := range r.Notes() {
			text := n.Text
			if n.File != "" {
				text = fmt.Sprintf("%s (%s, byte %d)", n.Text, n.File, n.Offset)
			}
			out = append(out, rules.Trouble{
				Kind: string(n.Kind), Source: n.Source, Text: text,
				Span: rules.Span{From: n.From, To: n.To},
			})
		}
		spans = append(spans, r.Sources()...)
	}

	slices.SortStableFunc(spans, func(a, b recording.Source) int { return a.From.Compare(b.From) })
	for i, b := range spans {
		a, far := nearestSource(spans, i)
		// Benchmark reports are independent of each other, and one run follows another.
		if !far || b.Kind == "fio" {
			continue
		}
		out = append(out, rules.Trouble{
			Kind: string(recording.NoteClock), Source: b.Name,
			Text: fmt.Sprintf("%s and %s are %s apart and cannot be compared; if a clock or a time zone is wrong, use --offset or --tz",
				b.Name, a.Name, apart(a, b).Round(time.Second)),
			Span: rules.Span{From: minTime(a.To, b.To), To: maxTime(a.From, b.From)},
		})
	}

	return out
}

// nearestSource returns the source nearest in time to the i-th, and whether no source overlaps it.
// Of two that do not overlap, only the later one is far, so that the pair is reported once.
func nearestSource(spans []recording.Source, i int) (near recording.Source, far bool) {
	b := spans[i]
	best := time.Duration(-1)

	later := false
	for k, a := range spans {
		if k == i || a.Kind == "fio" || a.To.IsZero() || b.From.IsZero() {
			continue
		}
		d := apart(a, b)
		if d <= 0 {
			return a, false
		}
		later = later || k < i
		if best < 0 || d < best {
			near, best = a, d
		}
	}

	return near, best > 0 && later
}

// apart is the time between two sources; zero or negative if they overlap.
func apart(a, b recording.Source) time.Duration {
	return maxTime(a.From, b.From).Sub(minTime(a.To, b.To))
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
