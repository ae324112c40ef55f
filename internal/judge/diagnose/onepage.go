package diagnose

import (
	"context"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// A single page of metrics has no differences to compute, but its counters started at zero with the
// process. So a page is judged as the total since then. That is enough to see what share of all
// operations was slow, but not when.

const (
	startMetric = "process_start_time_seconds"
	// pageCells is how many cells cover the time since the start.
	pageCells = 1000
	// sinceUnknown is the assumed uptime of a process whose page does not report its start time.
	sinceUnknown = time.Hour
	// pageSlack is how far apart several pages may be and still count as one: the members of a
	// cluster are scraped one after the other.
	pageSlack = 10 * time.Minute
)

// A page is a set of recordings with one sample each, preceded by a sample of zero.
type page struct {
	readers []recording.Reader
	from    time.Time // of the grid
	to      time.Time
	step    time.Duration
	began   time.Time // start of the first process
	at      time.Time // time of the page
	known   bool      // whether the start is known
	// counters are metrics that count from zero although their names do not say so.
	counters map[string]bool
}

// onePage converts recordings with at most one sample of each series to totals since their
// processes started; nil if any series has more.
func onePage(ctx context.Context, pack *rules.Pack, in []recording.Reader, metrics []recording.Metric) (*page,
	error) {
	first, last := covered(metrics)
	if first.IsZero() || last.Sub(first) > pageSlack {
		return nil, nil
	}

	totals := &page{to: last, counters: pack.CountedMetrics()}
	all := make([][]recording.Series, len(in))
	for i, r := range in {
		var err error
		if all[i], err = r.Samples(ctx, recording.EverySeries(), first, last); err != nil {
			return nil, err
		}

		if slices.ContainsFunc(all[i], func(s recording.Series) bool { return len(s.Points) > 1 }) {
			return nil, nil
		}

		for _, s := range all[i] {
			if began := startOf(s); !began.IsZero() && began.Before(last) &&
				(totals.from.IsZero() || began.Before(totals.from)) {
				totals.from, totals.known = began, true
			}
		}
	}

	if !totals.known {
		totals.from = last.Add(-sinceUnknown)
	}

	totals.began, totals.at = totals.from, totals.to
	totals.step = max(totals.to.Sub(totals.from)/pageCells, time.Second).Truncate(time.Second)

	// The grid's cells begin at multiples of the step since 1970.
	since := func(t time.Time) int64 {
		return int64(math.Floor(float64(t.UnixMilli()) / float64(totals.step.Milliseconds())))
	}
	totals.from, totals.to = time.UnixMilli(since(totals.from)*totals.step.Milliseconds()),
		time.UnixMilli((since(totals.to)+1)*totals.step.Milliseconds())

	for i, r := range in {
		m, err := totals.since(ctx, r, all[i], len(in) > 1)
		if err != nil {
			return nil, err
		}
		totals.readers = append(totals.readers, m)
	}

	return totals, nil
}

// startOf returns when a process started, if the series says so.
func startOf(s recording.Series) time.Time {
	if s.Labels.Get(model.MetricNameLabel) != startMetric || len(s.Points) == 0 || !(s.Points[0].F > 0) ||
		s.Points[0].F > 1e11 {
		return time.Time{}
	}
	return time.UnixMilli(int64(s.Points[0].F * 1000))
}

// singlePage is like onePage, but returns the error in because if there is no such page.
func singlePage(ctx context.Context, pack *rules.Pack, holding []held, metrics []recording.Metric,
	because error) (*page, error) {
	if !slices.ContainsFunc(pack.Rules(), func(r rules.Rule) bool { return r.Sums && has(pack, holding, r) }) {
		return nil, because
	}
	in := make([]recording.Reader, len(holding))
	for i, h := range holding {
		in[i] = h.reader
	}
	p, err := onePage(ctx, pack, in, metrics)
	if p == nil && err == nil {
		err = because
	}
	return p, err
}

// has reports whether a recording has the metrics that a rule needs.
func has(pack *rules.Pack, holding []held, r rules.Rule) bool {
	return slices.ContainsFunc(holding, func(h held) bool {
		lacks := func(s *rules.Signal) bool { return choose(h, pack.Signal(s.Name).Exprs) == nil }
		any := len(r.AnyOf) == 0 || slices.ContainsFunc(r.AnyOf, func(s *rules.Signal) bool { return !lacks(s) })
		return any && !slices.ContainsFunc(r.Needs, lacks)
	})
}

func (p *page) grid() timeline.Grid { return timeline.NewGrid(p.from, p.to, p.step) }

// mark marks a case as one of totals, in which no stall can be found.
func (p *page) mark(c *rules.Case) {
	c.SinceStart = true
	none := make(timeline.Mask, c.Grid.N)
	c.Symptoms, c.Stall = nil, rules.Stall{Cells: none, Active: none, Observed: none}
	text := "only one sample of each series: judged as totals since the process started, " +
		units.Seconds(p.at.Sub(p.began).Seconds()) + " earlier; when something happened is unknown"
	if !p.known {
		text = "only one sample of each series, and no " + startMetric +
			": judged as totals since the process started, at an unknown time"
	}
	c.Trouble = append(c.Trouble, rules.Trouble{Kind: string(recording.NoteClock), Source: "all sources",
		Text: text, Span: c.Whole()})
}

// since copies a recording and adds a sample of zero at the start of its counters. If there are
// several recordings, each series gets an instance label.
func (p *page) since(ctx context.Context, r recording.Reader, all []recording.Series,
	several bool) (*recording.Memory, error) {
	out := recording.NewMemory(recording.MemoryOptions{})
	for _, s := range r.Sources() {
		out.Source(s)
	}

	for _, n := range r.Notes() {
		out.Note(n)
	}

	// The file's name distinguishes pages of several servers that have no instance label.
	name := ""
	if s := r.Sources(); len(s) > 0 {
		name = strings.TrimSuffix(path.Base(s[0].Name), path.Ext(s[0].Name))
	}

	for _, s := range all {
		if len(s.Points) == 0 {
			continue
		}

		l := s.Labels
		if several && name != "" && l.Get("instance") == "" {
			l = labels.NewBuilder(l).Set("instance", name).Labels()
		}

		points := []promql.FPoint{{T: p.to.UnixMilli(), F: s.Points[0].F}}
		// A gauge is an instantaneous value; only counters began at zero.
		if metric := l.Get(model.MetricNameLabel); counts(metric) || p.counters[metric] {
			points = append([]promql.FPoint{{T: p.from.UnixMilli()}}, points...)
		}

		b := &recording.Batch{Columns: []recording.Column{{Labels: l}}}
		for _, x := range points {
			b.TimesMs = append(b.TimesMs, x.T)
			b.Columns[0].Values = append(b.Columns[0].Values, x.F)
		}

		if err := out.Append(ctx, b); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// counts reports whether a metric counts from zero, by Prometheus' naming conventions for counters
// and histograms.
func counts(metric string) bool {
	return slices.ContainsFunc([]string{"_total", "_bucket", "_sum", "_count"},
		func(end string) bool { return strings.HasSuffix(metric, end) })
}
