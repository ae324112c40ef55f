package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

// bucketSpans are the bucket spans to try. MongoDB's time-series granularities span an hour, a day and
// 30 days (MongoDB manual, "Set Granularity for Time Series Data", 2025); applications that build
// their own buckets use minutes.
var bucketSpans = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

const (
	// bucketsReadMax is the maximum number of documents of one sensor that a query may read (assumed;
	// a day of 5-minute buckets is 288).
	bucketsReadMax = 500
	// A bucket with fewer than two readings is pointless. Above a thousand, or 125 KiB, MongoDB
	// closes its own time-series buckets (timeseriesBucketMaxCount and timeseriesBucketMaxSize,
	// MongoDB 8.0's source).
	entriesMin  = 2
	entriesMax  = 1000
	fullSizeMax = 125 * units.KiB
)

// spans returns options for coarser and finer buckets, if the workload collects readings in buckets.
// The span is a trade-off: longer buckets mean larger documents and slower writes, but a query reads
// fewer of them. The span nearest to the current one comes first: among those that meet the objective,
// it changes the least for readers.
func (m *spaceMaker) spans() []option {
	b := m.now.Workloads().Spec().Buckets
	if b == nil {
		return nil
	}

	spans := slices.DeleteFunc(slices.Clone(bucketSpans),
		func(span time.Duration) bool { return !m.bucketFits(b, units.Duration(span)) })

	// Spans differ by factors, so distance is the ratio: 5 min is as far from 15 min as 45 min.
	far := func(span time.Duration) float64 { return math.Abs(math.Log(float64(span) / float64(b.Span))) }
	slices.SortStableFunc(spans, func(a, b time.Duration) int { return cmp.Compare(far(a), far(b)) })

	var out []option
	for _, span := range spans {
		// A run starts with partly filled buckets. Keep the same fill level for every span, so that
		// runs differ only in the span.
		sets := []scenario.Set{{Path: "workload.buckets.span", Value: units.Duration(span)}}
		if b.FilledFor > 0 {
			filled := units.Duration(float64(span) * (float64(b.FilledFor%b.Span) / float64(b.Span)))
			sets = append(sets, scenario.Set{Path: "workload.buckets.filled_for",
				Value: units.Duration(filled.Std().Truncate(time.Second))})
		}
		out = append(out, option{sets: sets, need: Application})
	}

	return out
}

// bucketFits reports whether buckets of a span are worth trying: they collect at least two readings,
// but no more than MongoDB's own buckets do, and a query over Options.QuerySpan reads at most
// bucketsReadMax of them.
func (m *spaceMaker) bucketFits(b *workload.Buckets, span units.Duration) bool {
	entries := int64(span / max(b.Interval, 1))
	return span != b.Span && entries >= entriesMin && entries <= entriesMax &&
		b.Base+b.Entry*units.Size(entries) <= fullSizeMax &&
		(m.opt.QuerySpan == 0 || bucketsRead(m.opt.QuerySpan, span) <= bucketsReadMax)
}

// bucketsRead returns the number of documents of one sensor that a query over a time range reads,
// including the open one.
func bucketsRead(query, span units.Duration) int64 {
	return int64((query + span - 1) / span)
}

// buckets returns statements about what another span requires of the application, and about runs too
// short to include the end of a bucket.
func (p *planner) buckets() []Statement {
	now := p.now.Workloads().Spec().Buckets
	if now == nil {
		return nil
	}

	var out []Statement

	// Writes take longest just before a bucket closes, so figures from a run without a bucket's end
	// are too optimistic.
	if seen := p.now.Run.Warmup + p.now.Run.Duration; seen+now.FilledFor%now.Span < now.Span {
		out = append(out, Statement{"buckets-run",
			fmt.Sprintf("the run ends %s into buckets of %s: these figures exclude the last part of a bucket, when writes take longest; run.duration=%s includes it, or set a later workload.buckets.filled_for",
				units.Seconds((seen + now.FilledFor%now.Span).Std().Seconds()), spanText(now.Span), spanText(now.Span)),
			[]Evidence{{"share of a bucket's span", float64(seen) / float64(now.Span), "ratio"}}})
	}

	if p.found.chosen == nil {
		return out
	}

	sc, err := p.now.With(p.space.sets(p.found.chosen.choice)...)
	if err != nil {
		return out
	}

	then := sc.Workloads().Spec().Buckets
	if then == nil || then.Span == now.Span {
		return out
	}

	size := func(b *workload.Buckets) units.Size {
		return b.Base + b.Entry*units.Size(max(1, b.Span/b.Interval))
	}
	query := p.opt.QuerySpan
	if query == 0 {
		query = units.Duration(24 * time.Hour)
	}

	day := units.Duration(24 * time.Hour)
	perDay := func(b *workload.Buckets) float64 { return float64(b.Sensors) * float64(bucketsRead(day, b.Span)) }
	text := fmt.Sprintf(
		"what the application must change: a document holds %s of a sensor instead of %s, so its key changes, and readers see both kinds until the old ones are gone; "+
			"%s of one sensor is %d documents of %s instead of %d of %s, and a day creates %s documents (and entries per index) instead of %s",
		spanText(then.Span), spanText(now.Span), spanText(query), bucketsRead(query, then.Span), size(then),
		bucketsRead(query, now.Span), size(now),
		units.Number(perDay(then)), units.Number(perDay(now)))

	if then.Span < now.Span {
		text += ". collMod can only make a time-series collection's granularity coarser: a finer one needs a new collection"
	}

	return append(out, Statement{"buckets", text, []Evidence{
		{"documents a query reads", float64(bucketsRead(query, then.Span)), ""},
		{"documents a query reads now", float64(bucketsRead(query, now.Span)), ""},
		{"documents a day", perDay(then), ""}, {"documents a day now", perDay(now), ""},
	}})
}

// spanText formats a span: "5min".
func spanText(d units.Duration) string {
	switch s := d.Std(); {
	case s >= time.Hour && s%time.Hour == 0:
		return fmt.Sprintf("%dh", s/time.Hour)
	case s >= time.Minute && s%time.Minute == 0:
		return fmt.Sprintf("%dmin", s/time.Minute)
	}
	return d.Std().String()
}
