package source

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// How far the times of a live source may differ from this machine's clock. A single value from the
// year 2100 would be the newest, and make all others old.
const (
	// aheadMax is how far a source's clock may be ahead; Prometheus accepts the same.
	aheadMax = 10 * time.Minute
	// behindMax is the maximum age of a value that an exporter forwards.
	behindMax = 24 * time.Hour
	// spreadMax is how far a value may be ahead of most other values of its sample.
	spreadMax = 10 * time.Second
)

// untimely are the values that were dropped because of their times.
type untimely struct {
	values int64
	metric string // of the first value
	first  time.Time
	off    time.Duration // of the first value, relative to this machine's clock
}

func (u *untimely) text() string {
	where := "ahead of"
	if u.off < 0 {
		where = "behind"
	}
	off := u.off.Abs().Round(time.Second).String()
	if days := int64(u.off.Abs().Hours() / 24); days > 2 {
		off = fmt.Sprintf("%d days", days)
	}
	return fmt.Sprintf("the first, %s, has the time %s, %s %s this machine's clock: correct the wrong clock, or give --offset",
		u.metric, u.first.UTC().Format(time.RFC3339), off, where)
}

// timely removes the values of batches whose times are impossible at the time now. Times that the
// offset corrects are accepted.
func timely(batches []recording.Batch, now time.Time, offset time.Duration) ([]recording.Batch, untimely) {
	// The clocks of servers differ by seconds, so most values of the sample are the reference as
	// well.
	hi := min(now.Add(aheadMax).UnixMilli(), max(usual(batches), now.UnixMilli())+spreadMax.Milliseconds())
	lo := now.Add(-behindMax).UnixMilli()
	var removed untimely
	bad := func(ms int64) bool {
		with := ms + offset.Milliseconds()
		return (ms > hi || ms < lo) && (offset == 0 || with > now.UnixMilli()+spreadMax.Milliseconds() || with < lo)
	}

	out := batches[:0]
	for _, batch := range batches {
		if n := len(batch.TimesMs); n == 0 || !bad(batch.TimesMs[0]) && !bad(batch.TimesMs[n-1]) {
			out = append(out, batch)
			continue
		}

		from, to := 0, len(batch.TimesMs)
		for from < to && bad(batch.TimesMs[from]) {
			from++
		}

		for to > from && bad(batch.TimesMs[to-1]) {
			to--
		}

		if removed.values == 0 && len(batch.Columns) > 0 {
			first := batch.TimesMs[0]
			if from == 0 {
				first = batch.TimesMs[to]
			}
			removed.metric = batch.Columns[0].Labels.Get(labels.MetricName)
			removed.first = time.UnixMilli(max(0, min(first, recording.TimeMaxMs))).UTC()
			removed.off = removed.first.Sub(now)
		}

		removed.values += int64(len(batch.TimesMs)-(to-from)) * int64(len(batch.Columns))
		if from < to {
			out = append(out, batch.Part(from, to))
		}
	}

	return out, removed
}

// usual returns the median time (ms) of the values of a sample.
func usual(batches []recording.Batch) int64 {
	// Most samples have one time, and need no median.
	if len(batches) == 1 && len(batches[0].TimesMs) == 1 {
		return batches[0].TimesMs[0]
	}

	type weight struct {
		ms     int64
		values int
	}

	// Each time counts with its number of values: one stale series must not shift a page's time.
	var all []weight
	half := 0 // twice the values up to the middle
	for _, b := range batches {
		for _, ms := range b.TimesMs {
			all = append(all, weight{ms, len(b.Columns)})
			half += len(b.Columns)
		}
	}

	slices.SortFunc(all, func(a, b weight) int { return cmp.Compare(a.ms, b.ms) })

	for _, w := range all {
		if half -= 2 * w.values; half <= 0 {
			return w.ms
		}
	}

	return 0
}
