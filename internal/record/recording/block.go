package recording

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"plimsoll/internal/base/safefile"
)

const (
	// chunkSamples is the number of samples in a chunk of a block. Prometheus writes 120, for
	// scrapes 15 s apart; samples a second or less apart benefit from fewer chunk headers and index
	// entries.
	chunkSamples = 480
	// chunkFileMin and chunkFileMax bound the size of a block's chunk files. They are allocated in
	// full before they are truncated, so a large one would need more space than its samples on a
	// nearly full disk. So their size is the estimated size of the samples, at sampleBytes each,
	// and there are more of them if necessary.
	chunkFileMin = 1 << 20
	chunkFileMax = 64 << 20
	sampleBytes  = 2
	// temporarySuffix marks an incomplete block. Prometheus uses the same suffix.
	temporarySuffix = ".tmp-for-creation"
)

// writeBlock writes the samples of views to a new TSDB block in dir. The block appears under its
// name only when it is complete and on stable storage. Views of the same series must be in order of
// time and must not overlap. Without samples it writes nothing.
func writeBlock(ctx context.Context, dir string, views []*memoryView) (err error) {
	if len(views) == 0 {
		return nil
	}

	slices.SortStableFunc(views, func(a, b *memoryView) int { return labels.Compare(a.labels, b.labels) })
	id, err := ulid.New(ulid.Now(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create a block name: %w", err)
	}

	final := filepath.Join(dir, id.String())
	temporary := final + temporarySuffix
	if err := os.Mkdir(temporary, 0o755); err != nil {
		return fmt.Errorf("write block: %w", err)
	}

	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write block %s: %w", final, err), os.RemoveAll(temporary))
		}
	}()

	meta := tsdb.BlockMeta{ULID: id, Version: 1}
	meta.Compaction.Level = 1
	meta.Compaction.Sources = []ulid.ULID{id}

	if err := writeBlockData(ctx, temporary, views, &meta); err != nil {
		return err
	}

	if _, err := tombstones.WriteFile(silent, temporary, tombstones.NewMemTombstones()); err != nil {
		return err
	}

	text, err := json.MarshalIndent(&meta, "", "\t")
	if err != nil {
		return err
	}

	if err := safefile.Write(filepath.Join(temporary, "meta.json"), text,
		safefile.Options{New: true}); err != nil {
		return err
	}

	if err := syncDir(temporary); err != nil {
		return err
	}

	if err := os.Rename(temporary, final); err != nil {
		return err
	}

	// The rename is durable only once the parent folder is synced.
	return syncDir(dir)
}

// writeBlockData writes the chunks and the index of a block and counts them in meta.
func writeBlockData(ctx context.Context, dir string, views []*memoryView, meta *tsdb.BlockMeta) (err error) {
	chunkWriter, err := chunks.NewWriter(filepath.Join(dir, chunksDirName),
		chunks.WithSegmentSize(chunkFileBytes(views)))
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, chunkWriter.Close()) }()
	indexWriter, err := index.NewWriter(ctx, filepath.Join(dir, "index"))
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, indexWriter.Close()) }()

	// The index format requires all symbols before the first series, in order.
	for _, symbol := range symbols(views) {
		if err := indexWriter.AddSymbol(symbol); err != nil {
			return err
		}
	}

	var it chunkenc.Iterator
	for len(views) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}

		series := views[0].labels
		var metas []chunks.Meta
		for len(views) > 0 && labels.Equal(views[0].labels, series) {
			it = views[0].Iterator(it)
			if metas, err = encodeChunks(metas, it); err != nil {
				return err
			}
			views = views[1:]
		}

		if err := chunkWriter.WriteChunks(metas...); err != nil {
			return err
		}

		if err := indexWriter.AddSeries(storage.SeriesRef(meta.Stats.NumSeries), series, metas...); err != nil {
			return err
		}

		count(meta, metas)
	}

	return nil
}

func chunkFileBytes(views []*memoryView) int64 {
	samples := 0
	for _, v := range views {
		for i := range v.segments {
			samples += len(v.segments[i].run.times)
		}
	}
	return min(max(int64(samples)*sampleBytes, chunkFileMin), chunkFileMax)
}

// symbols returns all label names and values, sorted and without duplicates.
func symbols(views []*memoryView) []string {
	found := map[string]struct{}{"": {}}
	for _, v := range views {
		v.labels.Range(func(l labels.Label) {
			found[l.Name], found[l.Value] = struct{}{}, struct{}{}
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// encodeChunks appends the samples of it to metas, as chunks.
func encodeChunks(metas []chunks.Meta, it chunkenc.Iterator) ([]chunks.Meta, error) {
	var (
		chunk *chunkenc.XORChunk
		app   chunkenc.Appender
		err   error
	)

	for it.Next() != chunkenc.ValNone {
		t, v := it.At()
		if chunk == nil || chunk.NumSamples() == chunkSamples {
			chunk = chunkenc.NewXORChunk()
			if app, err = chunk.Appender(); err != nil {
				return nil, err
			}
			metas = append(metas, chunks.Meta{Chunk: chunk, MinTime: t})
		}
		app.Append(0, t, v)
		metas[len(metas)-1].MaxTime = t
	}

	return metas, it.Err()
}

// count adds a series to the statistics and the time range of a block.
func count(meta *tsdb.BlockMeta, metas []chunks.Meta) {
	if meta.Stats.NumSeries == 0 {
		meta.MinTime = metas[0].MinTime
	}
	meta.Stats.NumSeries++
	meta.Stats.NumChunks += uint64(len(metas))
	for _, c := range metas {
		meta.Stats.NumSamples += uint64(c.Chunk.NumSamples())
	}
	meta.Stats.NumFloatSamples = meta.Stats.NumSamples
	meta.MinTime = min(meta.MinTime, metas[0].MinTime)
	// The end of a block is exclusive: one millisecond after its last sample.
	meta.MaxTime = max(meta.MaxTime, metas[len(metas)-1].MaxTime+1)
}

// blockDirs returns the complete blocks in dir, by name, which is the order in which they were
// written.
func blockDirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if _, err := ulid.ParseStrict(e.Name()); err == nil && e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// eachBlockSeries calls f with the labels and the times (ms) of the first and last sample of each
// series in a block. It reads only the index.
func eachBlockSeries(ctx context.Context, b tsdb.BlockReader,
	f func(l labels.Labels, firstMs, lastMs int64)) error {
	reader, err := b.Index()
	if err != nil {
		return err
	}

	defer reader.Close()
	name, value := index.AllPostingsKey()
	postings, err := reader.Postings(ctx, name, value)
	if err != nil {
		return err
	}

	var (
		builder labels.ScratchBuilder
		metas   []chunks.Meta
	)

	for postings.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}

		err := reader.Series(postings.At(), &builder, &metas)
		if errors.Is(err, storage.ErrNotFound) {
			continue // damaged
		}

		if err != nil {
			return err
		}

		if len(metas) > 0 {
			f(builder.Labels().Copy(), metas[0].MinTime, metas[len(metas)-1].MaxTime)
		}
	}

	return postings.Err()
}
