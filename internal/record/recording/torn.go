package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"

	"plimsoll/internal/base/safefile"
)

// A sturdyBlock is a block that treats damaged parts as empty: intact parts are read, and a note
// says what is lost. Damage is detected only where data is read.
type sturdyBlock struct {
	*tsdb.Block

	mu     sync.Mutex
	chunks damaged
	index  damaged
	seen   map[chunks.ChunkRef]bool // damaged chunks
	lost   map[storage.SeriesRef]bool
}

// damaged counts the unreadable parts of one kind.
type damaged struct {
	parts        int
	err          error // the first
	file         string
	offset       int64
	fromMs, toMs int64 // time of the lost samples; 0 if unknown
}

// openBlock opens a block. It never waits, even if one of its files was replaced by a pipe.
func openBlock(dir string) (b *sturdyBlock, err error) {
	defer recovered(&err)

	// The TSDB opens these files by name, so they are checked first.
	for _, name := range []string{"meta.json", "index", "tombstones"} {
		if err := safefile.IsFile(filepath.Join(dir, name)); err != nil &&
			(name != "tombstones" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}

	parts, err := os.ReadDir(filepath.Join(dir, chunksDirName))
	if err != nil {
		return nil, err
	}

	for _, e := range parts {
		if err := safefile.IsFile(filepath.Join(dir, chunksDirName, e.Name())); err != nil {
			return nil, err
		}
	}

	block, err := tsdb.OpenBlock(silent, dir, nil, nil)
	if err != nil {
		return nil, err
	}

	return &sturdyBlock{Block: block, seen: map[chunks.ChunkRef]bool{}, lost: map[storage.SeriesRef]bool{}}, nil
}

const chunksDirName = "chunks"

// lostBlock returns the note about a block that cannot be opened.
func lostBlock(recording, dir string, err error) Note {
	n := Note{Kind: NoteDamage, Source: recording, File: filepath.Base(dir),
		Text: fmt.Sprintf("cannot read a block of the recording (%v): its samples are missing; restore it from a copy",
			err)}
	if meta, err := readBlockMeta(dir); err == nil && meta.MaxTime > meta.MinTime {
		n.From, n.To = time.UnixMilli(meta.MinTime).UTC(), time.UnixMilli(meta.MaxTime-1).UTC()
	} else if id, err := ulid.ParseStrict(filepath.Base(dir)); err == nil {
		n.To = ulid.Time(id.Time()).UTC() // the time of writing, which is after its last sample
	}
	return n
}

// notes returns notes about the damage detected so far.
func (b *sturdyBlock) notes(recording string) (out []Note) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add := func(d damaged, what string) {
		if d.parts == 0 {
			return
		}
		n := Note{Kind: NoteDamage, Source: recording, File: filepath.Join(filepath.Base(b.Dir()), d.file),
			Offset: d.offset,
			Text: fmt.Sprintf("%d %s are unreadable, the first because: %v; only their samples are missing",
				d.parts, what, d.err)}
		if d.toMs > 0 {
			n.From, n.To = time.UnixMilli(d.fromMs).UTC(), time.UnixMilli(d.toMs).UTC()
		}
		out = append(out, n)
	}

	add(b.chunks, "chunks of samples")
	add(b.index, "entries of the index")
	return out
}

// Index implements tsdb.BlockReader.
func (b *sturdyBlock) Index() (tsdb.IndexReader, error) {
	r, err := b.Block.Index()
	if err != nil {
		return nil, err
	}
	return &sturdyIndex{IndexReader: r, block: b}, nil
}

// Chunks implements tsdb.BlockReader.
func (b *sturdyBlock) Chunks() (tsdb.ChunkReader, error) {
	r, err := b.Block.Chunks()
	if err != nil {
		return nil, err
	}
	return &sturdyChunks{ChunkReader: r, block: b}, nil
}

type sturdyChunks struct {
	tsdb.ChunkReader
	block *sturdyBlock
}

// ChunkOrIterable implements tsdb.ChunkReader.
func (r *sturdyChunks) ChunkOrIterable(meta chunks.Meta) (chunkenc.Chunk, chunkenc.Iterable, error) {
	chunk, err := r.read(meta)
	if err != nil {
		r.block.lostChunk(meta, err)
		return chunkenc.NewXORChunk(), nil, nil
	}
	return chunk, nil, nil
}

func (r *sturdyChunks) read(meta chunks.Meta) (c chunkenc.Chunk, err error) {
	defer recovered(&err)
	c, _, err = r.ChunkReader.ChunkOrIterable(meta)
	if err == nil && c.Encoding() != chunkenc.EncXOR {
		err = fmt.Errorf("its encoding is %s", c.Encoding())
	}
	return c, err
}

func (b *sturdyBlock) lostChunk(meta chunks.Meta, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[meta.Ref] || len(b.seen) >= damagedMax {
		return
	}
	b.seen[meta.Ref] = true
	d := &b.chunks
	if d.parts == 0 {
		segment, offset := chunks.BlockChunkRef(meta.Ref).Unpack()
		d.err, d.file, d.offset = err, filepath.Join(chunksDirName, fmt.Sprintf("%06d", segment+1)), int64(offset)
		d.fromMs, d.toMs = meta.MinTime, meta.MaxTime
	}
	d.parts++
	d.fromMs, d.toMs = min(d.fromMs, meta.MinTime), max(d.toMs, meta.MaxTime)
}

// damagedMax bounds the remembered damaged parts of a block, which are counted once each.
const damagedMax = 1 << 20

func (b *sturdyBlock) lostIndex(ref storage.SeriesRef, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost[ref] || len(b.lost) >= damagedMax {
		return
	}
	b.lost[ref] = true
	if b.index.parts == 0 {
		b.index.err, b.index.file, b.index.offset = err, "index", int64(ref)*16 // series are aligned to 16 bytes
	}
	b.index.parts++
}

// sturdyIndex leaves out unreadable series.
type sturdyIndex struct {
	tsdb.IndexReader
	block *sturdyBlock
}

// Series implements tsdb.IndexReader.
func (r *sturdyIndex) Series(ref storage.SeriesRef, builder *labels.ScratchBuilder,
	metas *[]chunks.Meta) error {
	err := r.series(ref, builder, metas)
	if err != nil {
		r.block.lostIndex(ref, err)
		return storage.ErrNotFound // readers skip such series
	}
	return nil
}

func (r *sturdyIndex) series(ref storage.SeriesRef, builder *labels.ScratchBuilder,
	metas *[]chunks.Meta) (err error) {
	defer recovered(&err)
	return r.IndexReader.Series(ref, builder, metas)
}

// Postings implements tsdb.IndexReader.
func (r *sturdyIndex) Postings(ctx context.Context, name string, values ...string) (index.Postings, error) {
	p, err := r.postings(ctx, name, values...)
	if err != nil && ctx.Err() == nil {
		r.block.lostIndex(0, err)
		return index.EmptyPostings(), nil
	}
	return p, err
}

func (r *sturdyIndex) postings(ctx context.Context, name string, values ...string) (p index.Postings,
	err error) {
	defer recovered(&err)
	return r.IndexReader.Postings(ctx, name, values...)
}
