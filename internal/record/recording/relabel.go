package recording

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// A Relabeller is a [Writer] that changes the labels of series before it passes them on.
type Relabeller struct {
	Writer

	as    func(labels.Labels) labels.Labels
	most  int                      // cached series
	mu    sync.Mutex               // because the members of a set are read concurrently
	known map[uint64]labels.Labels // by the hash of the labels; the same series arrive every second
}

// Relabelled returns a writer that passes each series to w with the labels that as returns for it, and caches
// those of at most most series.
func Relabelled(w Writer, most int, as func(labels.Labels) labels.Labels) *Relabeller {
	return &Relabeller{Writer: w, as: as, most: most, known: map[uint64]labels.Labels{}}
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
			if len(r.known) >= r.most {
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
