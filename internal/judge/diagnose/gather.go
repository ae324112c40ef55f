package diagnose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"golang.org/x/sync/errgroup"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// signals holds the tracks of every signal that some source has.
type signals struct {
	grid   timeline.Grid
	tracks map[string][]timeline.Track
	// periods are the longest intervals between samples of a signal's metrics in seconds, by its name.
	periods map[string]float64
	// step is the sampling period: the step of the grid, unless the recording is too long for that.
	step time.Duration
	// tooLarge lists the signals that are unknown because they do not fit in memory.
	tooLarge []rules.Trouble
	page     *page // not nil if the signals are totals of a single page of metrics
}

func (s *signals) get(of *rules.Signal) []timeline.Track { return s.tracks[of.Name] }

// drop removes signals, as if no source had them.
func (s *signals) drop(of rules.Group) {
	for _, x := range of {
		delete(s.tracks, x.Name)
	}
}

// period is the longest interval between samples of a signal's metrics.
func period(readers []held, sig *rules.Signal) (longest time.Duration) {
	for _, h := range readers {
		e := choose(h, slices.Concat(sig.Exprs, sig.Coarse))
		if e == nil {
			continue
		}
		for _, n := range rules.Names(e) {
			for _, m := range h.metrics {
				if m.Name == n {
					longest = max(longest, m.Period)
				}
			}
		}
	}
	return longest
}

// leaves reads an expression's series from one recording.
type leaves struct {
	ctx      context.Context
	r        recording.Reader
	grid     timeline.Grid
	from, to time.Time
	// thin says that cells have several samples and the recording is so long that only the relevant
	// samples are kept.
	thin bool
}

// Each implements [timeline.Leaves]. It puts one series after the other on the grid, so that only the
// samples of one are in memory.
func (l leaves) Each(sel *parser.VectorSelector, counter bool, visit func(timeline.Track) error) error {
	var (
		open    bool
		of      labels.Labels
		points  []promql.FPoint
		thinned *timeline.Thinned
	)

	finish := func() error {
		if !open {
			return nil
		}

		t := timeline.Track{Labels: of}
		switch {
		case l.thin:
			t.Values = thinned.Values()
		case counter:
			t.Values = l.grid.Rate(points)
		default:
			t.Values = l.grid.Gauge(points)
		}

		return visit(t)
	}

	err := l.r.Walk(l.ctx, sel.LabelMatchers, l.from, l.to,
		func(ls labels.Labels, piece []promql.FPoint) error {
			// Walk yields a series in pieces; a change of labels ends the previous series.
			if !open || !labels.Equal(of, ls) {
				if err := finish(); err != nil {
					return err
				}
				open, of, points, thinned = true, ls, points[:0], timeline.NewThinned(l.grid, counter)
			}

			if l.thin {
				thinned.Add(piece)
			} else {
				points = append(points, piece...)
			}

			return nil
		})
	if err != nil {
		return err
	}

	return finish()
}

// thinFrom is the length of a recording above which only relevant samples are kept, if there are
// more samples than cells.
const thinFrom = 48 * time.Hour

// held lists the metrics of a Reader that the rules read.
type held struct {
	reader  recording.Reader
	names   map[string]bool
	metrics []recording.Metric
	sumsS   float64 // seconds that a provider's sums cover; 0 if there are none
}

// gather evaluates signals on every recording that has their metrics.
func gather(ctx context.Context, all []*rules.Signal, readers []held, grid timeline.Grid,
	progress func(done, total int)) (*signals, error) {
	gathered := &signals{grid: grid, tracks: map[string][]timeline.Track{}, periods: map[string]float64{}}
	for i := range readers {
		of, err := sumsOf(ctx, readers[i], grid.Start(0), grid.Time(grid.N-1))
		if err != nil {
			return nil, fmt.Errorf("provider sums: %w", err)
		}
		readers[i].sumsS = of
	}

	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))

	for _, sig := range all {
		group.Go(func() error {
			tracks, err := evaluate(ctx, readers, grid, sig)

			// A signal that does not fit in memory must not fail the diagnosis: its rules report it
			// as missing.
			large := recording.IsTooMany(err) || errors.Is(err, timeline.ErrTooLarge)
			if err != nil && !large {
				return fmt.Errorf("signal %s: %w", sig.Name, err)
			}

			mu.Lock()
			defer mu.Unlock()
			if large {
				tracks = nil
				gathered.tooLarge = append(gathered.tooLarge, tooLarge(readers, grid, sig, err))
			}

			if len(tracks) > 0 {
				gathered.tracks[sig.Name] = tracks
				gathered.periods[sig.Name] = roundStep(period(readers, sig)).Seconds()
			}

			done++
			if progress != nil {
				progress(done, len(all))
			}

			return nil
		})
	}

	err := group.Wait()

	// Signals are evaluated concurrently; sort so that the report does not depend on which finished first.
	slices.SortFunc(gathered.tooLarge, func(a, b rules.Trouble) int { return strings.Compare(a.Text, b.Text) })
	return gathered, err
}

// tooLarge reports a signal that is unknown because its samples do not fit in memory.
func tooLarge(readers []held, grid timeline.Grid, sig *rules.Signal, because error) rules.Trouble {
	source := "all sources"
	for _, h := range readers {
		if s := h.reader.Sources(); len(s) > 0 && choose(h, slices.Concat(sig.Exprs, sig.Coarse)) != nil {
			source = s[0].Name
			break
		}
	}
	return rules.Trouble{
		Kind: string(recording.NoteLimit), Source: source,
		Text: fmt.Sprintf("%s is unknown because its samples do not fit in memory (%v): use --from and --to to select a shorter time",
			sig.Name, because),
		Span: rules.Span{From: grid.Start(0), To: grid.Time(grid.N - 1)},
	}
}

// evaluate joins a signal's series from all recordings. If two have the same series, the first in
// the order of [ordered] wins.
func evaluate(ctx context.Context, readers []held, grid timeline.Grid,
	sig *rules.Signal) ([]timeline.Track, error) {
	var out []timeline.Track

	// Coarse alternatives are provider sums. They count only if no source has the signal at full
	// resolution.
	fine := slices.ContainsFunc(readers, func(h held) bool { return choose(h, sig.Exprs) != nil })
	for _, h := range readers {
		e := choose(h, sig.Exprs)
		if !fine {
			e = coarse(h, sig)
		}

		if e == nil {
			continue
		}

		l := leaves{ctx: ctx, r: h.reader, grid: grid, from: grid.Start(0), to: grid.Time(grid.N - 1)}
		l.thin = finest(h.metrics) < grid.Step() && l.to.Sub(l.from) > thinFrom
		tracks, err := timeline.Eval(grid, e, l)
		if errors.Is(err, timeline.ErrUnsupported) {
			tracks, err = byEngine(ctx, h.reader, grid, e)
		}

		if err != nil {
			return nil, err
		}

		for _, t := range tracks {
			finite(t.Values)
			if timeline.Count(t.Values) > 0 {
				out = join(out, timeline.Track{Labels: only(t.Labels, sig.By), Values: t.Values})
			}
		}
	}

	return out, nil
}

// absurd is more than any measured value can be. As a percentage it would overflow to infinity.
const absurd = 1e300

// finite replaces infinite and absurdly large values with NaN. Seconds waited divided by zero
// operations is not a latency: the two counters were updated at different times.
func finite(values []float64) {
	for k, x := range values {
		if math.Abs(x) > absurd {
			values[k] = math.NaN()
		}
	}
}

// coarse returns the first of a signal's coarse alternatives that the recording has, adapted to the
// time that the provider's sums cover.
func coarse(h held, sig *rules.Signal) parser.Expr {
	text, e := alternative(h, sig.Coarse)
	if e == nil || !strings.Contains(text, "$p") {
		return e
	}
	e, _ = rules.Parse(rules.Over(text, h.sumsS)) // alternative has parsed it
	return e
}

// choose returns the first of a signal's alternatives for which the recording has every metric; nil
// if there is none.
func choose(h held, exprs []string) parser.Expr {
	_, e := alternative(h, exprs)
	return e
}

// alternative is like choose, and also returns the text of the expression.
func alternative(h held, exprs []string) (string, parser.Expr) {
	for _, x := range exprs {
		e, err := rules.Parse(x)
		if err != nil {
			continue // a test of the pack parses them all
		}
		if !slices.ContainsFunc(rules.Names(e), func(n string) bool { return !h.names[n] }) {
			return x, e
		}
	}
	return "", nil
}

// byEngine evaluates an expression with the recording's PromQL engine, for functions that package
// timeline does not support.
func byEngine(ctx context.Context, r recording.Reader, grid timeline.Grid,
	e parser.Expr) ([]timeline.Track, error) {
	var out []timeline.Track

	// Query each run separately: a range over a hole would evaluate steps that the grid does not have.
	for _, run := range grid.Runs() {
		series, err := r.Range(ctx, e.String(), grid.Time(run.First), grid.Time(run.Last), grid.Step(), 0)
		if err != nil {
			return nil, err
		}

		for _, s := range series {
			vals := timeline.Unknown(grid.N)
			for _, p := range s.Points {
				if k, ok := grid.CellAt(time.UnixMilli(p.T)); ok {
					vals[k] = p.F
				}
			}
			out = join(out, timeline.Track{Labels: s.Labels, Values: vals})
		}
	}

	return out, nil
}

func only(ls labels.Labels, names []string) labels.Labels {
	b := labels.NewBuilder(ls)
	b.Keep(names...)
	b.Del(model.MetricNameLabel)
	return b.Labels()
}

func join(out []timeline.Track, t timeline.Track) []timeline.Track {
	for i := range out {
		if labels.Equal(out[i].Labels, t.Labels) {
			for k, x := range t.Values {
				if math.IsNaN(out[i].Values[k]) {
					out[i].Values[k] = x
				}
			}
			return out
		}
	}
	return append(out, t)
}
