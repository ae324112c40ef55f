package workload

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A day of each granularity: the number and size of documents match the published case's for 10,000
// sensors (here 20, so a 500th).
func TestBucketDay(t *testing.T) {
	for _, tt := range []struct {
		span      units.Duration
		documents int
		full      units.Size
	}{
		{minute, 28_800, 480}, {5 * minute, 5760, 2400}, {15 * minute, 1920, 7200}, {60 * minute, 480, 28_800},
	} {
		w := resolved(t, Spec{Preset: "telemetry-buckets", Buckets: &Buckets{Span: tt.span, Sensors: 20}})
		inserts, largest := 0, units.Size(0)
		run(w, 1, vtime.At(24*time.Hour), func(op *Op) {
			if op.Kind == Insert {
				inserts++
			}
			largest = max(largest, op.Document)
		})

		if inserts != tt.documents || largest != tt.full || w.DocumentSize() != tt.full {
			t.Errorf("%v: %d documents of up to %d (said to be %d), want %d of %d",
				tt.span, inserts, largest, w.DocumentSize(), tt.documents, tt.full)
		}
	}
}

// Whatever the arrivals: a document is inserted once, grows by one entry at a time, covers one span,
// and is read at its current size.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := &Buckets{
			Sensors: Count(rapid.IntRange(1, 50).Draw(rt, "sensors")), Interval: second / 10,
			Span: units.Duration(rapid.Int64Range(1e8, 3e9).Draw(rt, "span")), Entry: 40, Base: 60,
			FilledFor: units.Duration(rapid.Int64Range(0, 5e9).Draw(rt, "filled for")),
		}

		s := Spec{Mix: &Mix{Push: 0.8, Read: 0.2}, Buckets: b, Keys: &Keys{Distribution: "latest"}}
		if rapid.Bool().Draw(rt, "irregular") {
			s.Arrivals = &Arrivals{Poisson: rate(units.Frequency(rapid.Float64Range(1, 2000).Draw(rt, "rate")))}
		}

		w := resolved(t, s)
		size, span := map[uint64]units.Size{}, map[uint64]int64{}
		entries := b.FilledFor % b.Span / b.Interval
		if entries > 0 {
			for k := range uint64(w.Documents()) {
				size[k], span[k] = 60+40*units.Size(entries), int64(b.FilledFor/b.Span)
			}
		}

		next := uint64(w.Documents())
		run(w, 1, vtime.At(5*time.Second), func(op *Op) {
			checkOp(rt, w, op)
			now := (int64(op.At) + int64(b.FilledFor)) / int64(b.Span)
			switch op.Kind {
			case Insert:
				if op.Key != next || op.Document != 100 {
					rt.Fatalf("%+v, want an insert of document %d", *op, next)
				}
				next++
				size[op.Key], span[op.Key] = 100, now
			case Push:
				if size[op.Key] += 40; op.Document != size[op.Key] || op.Size != 40 || span[op.Key] != now {
					rt.Fatalf("%+v, want a document of %v; it is of span %d, now is %d", *op, size[op.Key], span[op.Key], now)
				}
			case Read:
				if next > 0 && span[op.Key] == now && op.Document != size[op.Key] {
					rt.Fatalf("%+v is read, which has %v", *op, size[op.Key])
				}
			}
		})
	})
}
