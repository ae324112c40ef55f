package recording

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// relabelledMax bounds the series whose labels are cached.
const relabelledMax = 200_000

// A Relabeller is a [Writer] that changes the labels of series before it passes them on.
type Relabeller struct {
	Writer

	as    func(labels.Labels) labels.Labels
	mu    sync.Mutex               // because the members of a set are read concurrently
	known map[uint64]labels.Labels // by the hash of the labels; the same series arrive every second
}

// Relabelled returns a writer that passes each series to w with the labels that as returns for it.
func Relabelled(w Writer, as func(labels.Labels) labels.Labels) *Relabeller {
	return &Relabeller{Writer: w, as: as, known: map[uint64]labels.Labels{}}
}

// Append implements [Writer].
func (r *Relabeller) Append(ctx context.Context, b *Batch) error {
	out := Batch{TimesMs: b.TimesMs, Columns: slices.Clone(b.Columns)}
	r.mu.Lock()

	for i := range out.Columns {
		c := &out.Columns[i]

		// A collision would only give a series the labels of another one; with 64 bits it is
		// negligible.
		hash := c.Labels.Hash()
		to, ok := r.known[hash]
		if !ok {
			to = r.as(c.Labels)
			if len(r.known) >= relabelledMax {
				clear(r.known) // the exporter keeps creating series
			}
			r.known[hash] = to
		}
		c.Labels = to
	}

	// The underlying writer may block, so it is called without the lock.
	r.mu.Unlock()
	return r.Writer.Append(ctx, &out)
}
