//go:build linux

package buckets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// writers is the number of concurrent writers when pushes per second are measured.
const writers = 32

// pathReads is the number of operations that measure the path to the engine.
const pathReads = 500

// pageBytes is the least that reading a document costs: a leaf (leaf_page_max, 32 KB), which also
// holds other documents.
const pageBytes = 32 * units.KiB

// A segment is a group of documents that are pushed to, from one fill to another.
type segment struct {
	group    uint64 // its documents have the keys from group x sensors on
	from, to int    // readings after the first push and after the last
	name     string // "": the name depends on the fill
}

// segments are the first readings of a document, those in the middle and the last, one checkpoint's
// worth each. If there is no room for three, they are a single segment.
func segments(n int) []segment {
	if n < 3*CheckpointRounds {
		return []segment{{group: 3, from: 1, to: n}}
	}
	half := n/2 - CheckpointRounds/2
	return []segment{
		{3, 1, CheckpointRounds, "first"},
		{1, half + 1, half + CheckpointRounds, "half"},
		{2, n - CheckpointRounds + 1, n, "full"},
	}
}

// fill returns the degree of fill of a push that ends at that many readings.
func (s *segment) fill(entries int) string {
	switch span := s.to - s.from + 1; {
	case s.name != "":
		return s.name
	case 3*(entries-s.from) < span:
		return "first"
	case 3*(entries-s.from) < 2*span:
		return "half"
	}
	return "full"
}

// lay inserts the documents that must exist before the measurement: full ones, whose files show the
// storage size, and the beginnings of those in segments.
func (b *bench) lay(ctx context.Context) error {
	if err := b.insert(ctx, 0, b.row.Entries); err != nil {
		return err
	}

	if err := b.settle(ctx); err != nil {
		return err
	}

	files, err := filepath.Glob(filepath.Join(b.server.Home(), "*.wt"))
	if err != nil {
		return err
	}

	var bytes int64
	for _, f := range files {
		switch filepath.Base(f) {
		case "documents.wt", "index0.wt": // not the oplog or the engine's own files
			st, err := os.Stat(f)
			if err != nil {
				return err
			}
			bytes += st.Size()
		}
	}

	b.row.StoragePerDay = float64(bytes) / float64(b.cfg.Sensors) * float64(b.row.DocumentsPerDay)
	b.row.DayBytes = b.row.DayDocuments * int64(max(pageBytes, units.Size(b.row.DocumentBytes)))

	// A segment that begins at the first reading inserts its documents itself.
	for _, s := range segments(b.row.Entries) {
		if s.from > 1 {
			if err := b.insert(ctx, s.group, s.from-1); err != nil {
				return err
			}
		}
	}

	return b.settle(ctx)
}

// insert makes a group of documents with the given number of readings each.
func (b *bench) insert(ctx context.Context, group uint64, entries int) error {
	n := uint64(b.cfg.Sensors)
	var next atomic.Uint64
	return together(func(conn int) error {
		for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
			if err := b.do(ctx, conn, workload.Insert, group*n+i, entries, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

// together runs f concurrently for each writer and joins the errors.
func together(f func(conn int) error) error {
	errs := make([]error, writers)
	var all sync.WaitGroup
	for conn := range writers {
		all.Go(func() { errs[conn] = f(conn) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (b *bench) do(ctx context.Context, conn int, kind workload.Kind, key uint64, entries int,
	seq uint64) error {
	op := lab.Op{Op: workload.Op{Kind: kind, Key: key, Size: Entry, Document: size(entries)}, Seq: seq}
	if kind == workload.Insert {
		op.Size = op.Document
	}
	return b.server.Do(ctx, conn, &op)
}

// settle makes a checkpoint and flushes everything to the volume.
func (b *bench) settle(ctx context.Context) error {
	if err := b.server.Checkpoint(ctx); err != nil {
		return err
	}
	f, err := os.Open(b.mount.Dirs["data"])
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// path is the median time of an operation that finds nothing to do.
func (b *bench) path(ctx context.Context) (float64, error) {
	var took []time.Duration
	for i := range uint64(pathReads) {
		begin := time.Now()
		if err := b.do(ctx, 0, workload.Read, 1<<40+i, 0, 0); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begin))
	}
	return quantile(took, 0.5), nil
}

// quantile sorts its argument; it is 0 for no values.
func quantile(took []time.Duration, q float64) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(int(q*float64(len(took))), len(took)-1)].Seconds()
}

// wrote is the bytes and requests written to the volume so far.
func (b *bench) wrote(ctx context.Context) (bytes, requests int64, err error) {
	s, err := b.mount.Status(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, v := range s.Volumes {
		bytes, requests = bytes+v.Bytes["write"], requests+v.Requests["write"]
	}
	return bytes, requests, nil
}

// segment pushes to each document of a segment in turn, one push at a time, and makes a checkpoint
// whenever one is due.
func (b *bench) segment(ctx context.Context, part segment) error {
	took := map[string][]time.Duration{}
	bytes, requests, err := b.wrote(ctx)
	if err != nil {
		return err
	}

	n, pushes := uint64(b.cfg.Sensors), 0
	for entries := part.from; entries <= part.to; entries++ {
		kind := workload.Push
		if entries == 1 {
			kind = workload.Insert // the first reading creates the document
		}

		for i := range n {
			begin := time.Now()
			if err := b.do(ctx, 0, kind, part.group*n+i, entries, uint64(entries)); err != nil {
				return fmt.Errorf("a push at %d readings: %w", entries, err)
			}
			// Inserts are not pushes, but their bytes count: they are part of the bucket's cost.
			if kind == workload.Push {
				name := part.fill(entries)
				took[name] = append(took[name], time.Since(begin))
			}
			pushes++
		}

		if (entries-part.from+1)%CheckpointRounds == 0 || entries == part.to {
			if err := b.settle(ctx); err != nil {
				return err
			}
		}
	}

	bytesNow, requestsNow, err := b.wrote(ctx)
	if err != nil {
		return err
	}

	for _, name := range []string{"first", "half", "full"} {
		if len(took[name]) == 0 {
			continue
		}

		// Bytes are known only for the whole segment, so all its fills get the mean.
		f := Fill{Name: name, PerPush: float64(bytesNow-bytes) / float64(pushes),
			Requests: float64(requestsNow-requests) / float64(pushes)}
		f.P50, f.P99 = quantile(took[name], 0.5), quantile(took[name], 0.99)

		for entries := part.from; entries <= part.to; entries++ {
			if part.fill(entries) == name {
				f.To = entries
				if f.From == 0 {
					f.From = entries
				}
			}
		}

		b.row.Fills = append(b.row.Fills, f)
	}

	return nil
}

// sustained has all writers push to full documents for the configured time, each push replacing the
// last reading. A checkpoint begins when the number of readings makes it due, but not before the
// previous one has ended.
func (b *bench) sustained(ctx context.Context) error {
	n := uint64(b.cfg.Sensors)
	var next atomic.Uint64
	var mu sync.Mutex
	running := make(chan error, 1)
	running <- nil
	begin := time.Now()
	until := begin.Add(b.cfg.Sustained.Std())
	err := together(func(conn int) error {
		for time.Now().Before(until) {
			i := next.Add(1) - 1
			// Rounds over all sensors are the unit: a checkpoint then has every document dirty.
			if i > 0 && i%(CheckpointRounds*n) == 0 {
				mu.Lock()
				// WiredTiger runs one checkpoint at a time, so the next one waits for the previous.
				err := <-running
				running = make(chan error, 1)
				go func(ended chan<- error) { ended <- b.server.Checkpoint(ctx) }(running)
				mu.Unlock()
				if err != nil {
					return err
				}
			}

			if err := b.do(ctx, conn, workload.Push, i%n, b.row.Entries, 2+i); err != nil {
				return err
			}
		}
		return nil
	})

	err = errors.Join(err, <-running)
	if err == nil {
		err = b.settle(ctx) // the last writes count too
	}

	b.row.PushesPerSecond = float64(next.Load()) / time.Since(begin).Seconds()
	return err
}
