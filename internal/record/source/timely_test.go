package source

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// dated is a server whose values have several timestamps.
type dated struct {
	at func(n int, now time.Time) []recording.Batch
	n  int
}

func (d *dated) Sample(_ context.Context, at time.Time) ([]recording.Batch, error) {
	d.n++
	return d.at(d.n, at), nil
}

func (*dated) AddFacts(*recording.Source) {}

// values returns a batch of n series with one time.
func values(at time.Time, series int) recording.Batch {
	b := recording.Batch{TimesMs: []int64{at.UnixMilli()}}
	for range series {
		b.Columns = append(b.Columns, recording.Column{Labels: labels.FromStrings(labels.MetricName, "odd"), Values: []float64{1}})
	}
	return b
}

// A value with a time far from the clock is dropped, counted and reported once with the source, the
// metric and the time; the others of its sample are kept. The clocks need not agree to the minute.
func TestImpossibleTimes(t *testing.T) {
	year2100 := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	synctest.Test(t, func(t *testing.T) {
		w, src := &transcript{}, source()
		s := &dated{at: func(n int, now time.Time) []recording.Batch {
			switch n {
			case 1:
				return []recording.Batch{values(now, 10), values(year2100, 2)}
			case 2:
				return []recording.Batch{values(time.UnixMilli(0), 1), values(now.Add(-time.Hour), 1), values(now, 10), values(time.UnixMilli(math.MaxInt64), 1)}
			case 3: // half a minute ahead of all the others
				return []recording.Batch{values(now, 10), values(now.Add(30*time.Second), 1)}
			}
			return []recording.Batch{values(now.Add(5*time.Minute), 10)} // a clock that is ahead
		}}

		if err := src.Poll(t.Context(), w, Options{For: 3 * time.Second}, s); err != nil {
			t.Fatal(err)
		}

		w.is(t, `
dropped 0s to ?: dropping values with an impossible time: the first, odd, has the time 2100-01-01T00:00:00Z, 36525 days ahead of this machine's clock: correct the wrong clock, or give --offset
0s
db : 1 from 0s to 0s
-59m59s
1s
2s
5m3s
dropped 0s to 5m3s: dropped 5 values with an impossible time; the first, odd, has the time 2100-01-01T00:00:00Z, 36525 days ahead of this machine's clock: correct the wrong clock, or give --offset
db : 4 from 0s to 5m3s`)

		if src.Dropped() != 5 {
			t.Errorf("%d dropped", src.Dropped())
		}
	})
}

// A source with only wrong times is an error with a hint at first, and a gap later. An offset corrects
// the times, and works even if this machine's clock is wrong.
func TestWrongClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead := &dated{at: func(_ int, now time.Time) []recording.Batch {
			return []recording.Batch{values(now.Add(3*time.Hour), 4)}
		}}
		err := source().Poll(t.Context(), &transcript{}, Options{For: time.Second}, ahead)
		if err == nil || !strings.Contains(err.Error(), "db: all values have an impossible time: the first, odd, has the time 2000-01-01T03:00:00Z, 3h0m0s ahead of this machine's clock: correct the wrong clock, or give --offset") {
			t.Errorf("error %v", err)
		}

		w := &transcript{}
		if err := source().Poll(t.Context(), w, Options{For: time.Second, ClockOffset: -3 * time.Hour}, ahead); err != nil || strings.Contains(strings.Join(w.lines, ""), "dropped") {
			t.Errorf("with the offset: %v, %q", err, w.lines)
		}

		// An offset for times from this machine's own clock, which is wrong.
		w = &transcript{}
		if err := source().Poll(t.Context(), w, Options{For: time.Second, ClockOffset: 3 * time.Hour}, &server{}); err != nil || strings.Contains(strings.Join(w.lines, ""), "dropped") {
			t.Errorf("own times with an offset: %v, %q", err, w.lines)
		}
	})
}

// A group counts the dropped values of its members, including those that left.
func TestGroupDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := func() Source {
			p := source()
			return reading{p, &dated{at: func(_ int, now time.Time) []recording.Batch {
				return []recording.Batch{values(now, 4), values(now.Add(time.Hour), 1)}
			}}}
		}

		g := NewGroup(recording.Source{Name: "g"}, []Source{bad(), bad()}, nil)
		for range 2 {
			if err := g.Read(t.Context(), &transcript{}, Options{For: 500 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
		}

		if n := g.(Dropper).Dropped(); n != 4 {
			t.Errorf("%d dropped", n)
		}
	})
}

type reading struct {
	*Polled
	s Sampler
}

func (r reading) Read(ctx context.Context, w recording.Writer, opt Options) error {
	return r.Poll(ctx, w, opt, r.s)
}
