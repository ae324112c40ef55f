package ftdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// inflightBytes limits the total inflated size of the chunks being decoded.
const inflightBytes = 4 * MaxInflated

// The number of values of a capture in memory is limited by its size: valuesFree plus valuesPerByte
// for each byte. A value that is constant in a whole chunk counts as a fraction of one. Captures of
// real servers have up to 4 values per byte; files made to exhaust memory have thousands.
const (
	valuesFree    = 2 << 20
	valuesPerByte = 16
	constantShare = 32
)

// A capture is the source of all files at one path.
type capture struct {
	files []string

	mu   sync.Mutex
	desc recording.Source
}

// Open recognises a diagnostic.data folder or one of its files. It fails, with a hint, if there is
// nothing to read or no file begins like FTDC.
func Open(path string) (source.Source, error) {
	files, err := Files(path)
	if err != nil {
		return nil, fmt.Errorf("open FTDC: %w", err)
	}

	var first error
	for _, f := range files {
		err := sniffFile(f)
		if err == nil {
			return &capture{
				files: files,
				desc:  recording.Source{Kind: "ftdc", Name: path, Engine: "mongodb", Facts: map[string]string{}},
			}, nil
		}
		if first == nil {
			first = err
		}
	}

	return nil, fmt.Errorf("open FTDC: %w", first)
}

func (c *capture) Live() bool { return false }

func (c *capture) Describe() recording.Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.desc
	d.Facts = maps.Clone(d.Facts)
	return d
}

// learn adds what metadata contain. If standIn is set, the metadata come from a chunk and only fill
// gaps.
func (c *capture) learn(m Metadata, standIn bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := func(dst *string, v string) {
		if v != "" && (*dst == "" || !standIn) {
			*dst = v
		}
	}
	set(&c.desc.Version, m.Version)
	set(&c.desc.Host, m.Host)
	for name, v := range m.Facts {
		if _, known := c.desc.Facts[name]; !known || !standIn {
			c.desc.Facts[name] = v
		}
	}
}

// Read decodes the files in order. It decodes up to opt.Parallel chunks concurrently and delivers
// them to writer in time order.
func (c *capture) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	c.mu.Lock()
	c.desc.From, c.desc.To, c.desc.Period, c.desc.Samples = time.Time{}, time.Time{}, 0, 0
	c.mu.Unlock()

	parallel := opt.Parallel
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}

	in := &input{capture: c, files: c.files, weight: semaphore.NewWeighted(inflightBytes)}
	defer in.close()

	for _, f := range c.files {
		if info, err := os.Stat(f); err == nil {
			in.total += info.Size()
		}
	}

	out := &output{w: writer, opt: opt, name: c.desc.Name, total: in.total}
	cache := &schemaCache{plan: func(s *Schema) *plan { return makePlan(s, opt.Want) }}
	group, ctx := errgroup.WithContext(ctx)
	workers := parallel

	if parallel > 1 {
		workers++ // a worker waiting for its turn does not decode
	}

	for range workers {
		group.Go(func() error {
			wk := &worker{in: in, out: out}
			wk.chunks.layout.cache = cache
			return wk.run(ctx)
		})
	}

	err := group.Wait()
	out.finish()
	c.mu.Lock()
	c.desc.Samples, c.desc.Period = out.samples, out.order.period()

	if out.samples > 0 {
		c.desc.From, c.desc.To = time.UnixMilli(out.first).UTC(), time.UnixMilli(out.last).UTC()
	}

	c.mu.Unlock()
	writer.Source(c.Describe())

	switch {
	// If every chunk is damaged, the first damage is the most useful error.
	case err != nil:
		return fmt.Errorf("read FTDC: %w", err)
	case out.chunks == 0 && out.firstDamage != nil:
		return fmt.Errorf("read FTDC: no samples could be read: %w", out.firstDamage)
	case out.chunks == 0:
		return fmt.Errorf("read FTDC: %s: no samples, only metadata; the server had not written any yet",
			c.desc.Name)
	}

	return nil
}

// A job is one chunk, or one damaged range, with its position.
type job struct {
	file   string
	offset int64
	date   time.Time
	data   []byte // of the chunk, in the worker's memory
	damage error  // set instead of data
	first  bool   // first chunk of its file
	end    int64  // bytes of all files up to the end of this job

	weight int64
	turn   <-chan struct{} // closed when all earlier jobs are delivered
	done   chan struct{}   // closed when this job is delivered
}

// An input provides the documents of all files, one after the other.
type input struct {
	capture *capture
	files   []string
	total   int64
	weight  *semaphore.Weighted

	mu       sync.Mutex
	next     int // file to open
	file     *os.File
	stream   *stream
	fileBase int64 // bytes of the previous files
	chunks   int   // of this file
	last     chan struct{}
}

// take returns the next job, or io.EOF after the last. The caller provides the memory for data.
func (in *input) take(ctx context.Context, data []byte) (job, error) {
	in.mu.Lock()
	defer in.mu.Unlock()

	for {
		if err := ctx.Err(); err != nil {
			return job{}, err
		}

		if in.stream == nil {
			if in.next == len(in.files) {
				return job{}, io.EOF
			}
			if err := in.open(); err != nil {
				return in.enqueue(job{file: in.files[in.next-1], damage: err}), nil
			}
		}

		d, err := in.stream.next()
		var damage *DamageError
		switch {
		case errors.Is(err, io.EOF):
			in.close()
			continue
		case errors.As(err, &damage):
			return in.enqueue(job{file: damage.File, offset: damage.Offset, damage: err}), nil
		case err != nil: // the rest of this file cannot be read
			j := job{file: in.stream.file, offset: in.stream.offset(), damage: err}
			in.close()
			return in.enqueue(j), nil
		case d.kind != docChunk:
			// Metadata come before the chunks that they describe, so they are read here, in file
			// order.
			in.capture.learn(Identify(d.payload), false)
			continue
		}

		j := job{file: in.stream.file, offset: d.offset, date: d.date, first: in.chunks == 0}
		in.chunks++
		j.data = append(data[:0], d.payload...)

		n, err := inflatedLen(j.data)
		if err != nil {
			j.damage = err
			return in.enqueue(j), nil
		}

		// Acquire before the chunk is passed on, so that waiting workers hold no inflated memory.
		if err := in.weight.Acquire(ctx, int64(n)); err != nil {
			return job{}, err
		}

		j.weight = int64(n)
		return in.enqueue(j), nil
	}
}

// enqueue gives a job its place in the delivery order.
func (in *input) enqueue(j job) job {
	j.end = in.fileBase
	if in.stream != nil {
		j.end += in.stream.offset()
	}
	j.done = make(chan struct{})
	j.turn, in.last = in.last, j.done
	return j
}

func (in *input) open() error {
	f, err := safefile.Open(in.files[in.next])
	in.next++
	if err != nil {
		return err
	}
	in.file, in.stream, in.chunks = f, newStream(f.Name(), f), 0
	return nil
}

func (in *input) close() {
	if in.file == nil {
		return
	}
	in.fileBase += in.stream.offset()
	in.file.Close()
	in.file, in.stream = nil, nil
}
