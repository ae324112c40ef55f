package ftdc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"plimsoll/internal/record/recording"
)

const (
	// blockValues is how many samples the first block of a worker's memory holds (512 KB).
	blockValues = 64 << 10
	// heldValues is how many samples of one chunk a worker holds before it delivers them (8 MB). A
	// typical chunk of all metrics has a quarter of that.
	heldValues = 1 << 20
	// timeMax is the last millisecond of the year 9999, the limit of text formats.
	timeMax = 253402300799999
)

// An arena is memory for samples, reused for each batch.
type arena struct {
	block []float64 // its length is what is in use
	held  int       // samples in it and in earlier, smaller blocks of the batch
}

func (a *arena) reset() { a.block, a.held = a.block[:0], 0 }

// take returns memory for n samples; its content is undefined.
func (a *arena) take(n int) []float64 {
	at := len(a.block)
	if at+n > cap(a.block) {
		at, a.block = 0, make([]float64, 0, max(blockValues, 2*cap(a.block), n))
	}
	a.block = a.block[:at+n]
	a.held += n
	return a.block[at : at+n : at+n]
}

// A worker decodes chunks.
type worker struct {
	in     *input
	out    *output
	chunks chunkReader
	data   []byte
	times  []int64
	arena  arena
	batch  recording.Batch
	shift  []int64 // buffer of output
}

func (wk *worker) run(ctx context.Context) error {
	for {
		j, err := wk.in.take(ctx, wk.data)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		if j.data != nil {
			wk.data = j.data
		}

		if err := wk.do(ctx, j); err != nil {
			return err
		}
	}
}

// do decodes and delivers a job. An error ends the reading: it comes from the writer or the
// context.
func (wk *worker) do(ctx context.Context, j job) error {
	defer func() {
		if j.weight > 0 {
			wk.in.weight.Release(j.weight)
		}
		close(j.done)
	}()

	d := delivery{job: j}
	damage := j.damage
	if damage == nil {
		var err error
		if damage, err = wk.decode(ctx, &d); err != nil {
			return err
		}
	}

	if err := d.await(ctx); err != nil {
		return err
	}

	if damage != nil {
		wk.out.damaged(j, damage)
	}

	wk.out.progress(j.end)
	return nil
}

// decode decodes a chunk's wanted columns and delivers them. damage means that the chunk is
// damaged.
func (wk *worker) decode(ctx context.Context, batch *delivery) (damage, err error) {
	chunk, damage := wk.chunks.read(batch.job.data)
	if damage != nil {
		return damage, nil
	}

	if wk.times, damage = chunk.times(wk.times); damage != nil {
		return damage, nil
	}

	// A chunk's own facts stand in for missing metadata.
	if batch.job.first {
		wk.in.capture.learn(Identify(chunk.Reference), true)
	}

	batch.times = wk.times
	if i := chunk.Schema.uptimeAt; i >= 0 {
		batch.uptime = chunk.first[i]
	}

	wk.arena.reset()
	wk.batch.Columns = wk.batch.Columns[:0]

	n := chunk.samples
	for _, st := range chunk.Schema.plan.steps {
		// Columns before the damage are intact, so they are still delivered.
		if damage := chunk.deltas.skip(uint64(st.skip) * uint64(n-1)); damage != nil {
			return columnDamage(st.metric, damage), wk.deliver(ctx, batch)
		}

		var values []float64
		if chunk.deltas.constant(n - 1) {
			values = wk.arena.take(1)
			values[0] = float64(chunk.first[st.metric])
		} else {
			if wk.arena.held+n > heldValues {
				if err := wk.deliver(ctx, batch); err != nil {
					return nil, err
				}
			}
			values = wk.arena.take(n)
			if damage := column(&chunk.deltas, chunk.first[st.metric], values); damage != nil {
				return columnDamage(st.metric, damage), wk.deliver(ctx, batch)
			}
		}

		wk.batch.Columns = append(wk.batch.Columns, recording.Column{Labels: st.labels, Values: values})
	}

	batch.collisions = chunk.collisions()
	return nil, wk.deliver(ctx, batch)
}

func columnDamage(metric int, err error) error {
	return fmt.Errorf("metric %d and those after it: %w", metric+1, err)
}

// collisions returns the metrics that have the same labels as another.
func (c *Chunk) collisions() (names [][]string) {
	for _, i := range c.Schema.plan.collisions {
		names = append(names, c.Schema.Path(i))
	}
	return names
}

// times decodes the sample times ahead of the columns, reusing buf if it is large enough.
func (c *Chunk) times(buf []int64) ([]int64, error) {
	at := c.Schema.timeAt
	if at < 0 {
		return buf, errNoTime
	}

	n := c.samples
	if cap(buf) < n {
		buf = make([]int64, n)
	}

	buf = buf[:n]
	d := c.deltas
	if err := d.skip(uint64(at) * uint64(n-1)); err != nil {
		return buf, err
	}

	if d.constant(n - 1) {
		fill(buf, c.first[at])
	} else if err := column(&d, c.first[at], buf); err != nil {
		return buf, err
	}

	for i, t := range buf {
		if t < 0 || t > timeMax {
			return buf, fmt.Errorf("sample %d has the impossible time %d ms since 1970", i+1, t)
		}
	}

	return buf, nil
}

// deliver writes the columns decoded so far when it is the job's turn.
func (wk *worker) deliver(ctx context.Context, d *delivery) error {
	if err := d.await(ctx); err != nil {
		return err
	}
	if err := wk.out.append(ctx, d, wk); err != nil {
		return err
	}
	wk.arena.reset()
	wk.batch.Columns = wk.batch.Columns[:0]
	return nil
}
