//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/ioloop"
)

// samplesMax bounds how many operations of a stream are kept individually in a stage, 16 bytes
// each.
const samplesMax = 8_000_000

// A sample is one operation: its due time, and how long it took from then, in ns.
type sample struct{ due, took int64 }

// An interval is an on-time of a stream.
type interval struct{ from, to int64 }

// A job is a stream running in a stage, with its counters.
type job struct {
	*Stream
	file   *os.File
	clock  clock
	chance *random.Stream
	keep   bool // keep samples, for the measured stream

	loop    func(ctx context.Context, from, to int64) error
	release func() error

	begin, end int64 // of the stage
	at         units.Size
	writes     int

	all     latency.Distribution
	served  latency.Distribution
	syncs   latency.Distribution
	samples []sample
	on      []interval
	bytes   units.Size
	missed  int64
	// Sums over operations, in ns: waiting for the stream's own backlog, reading or writing, and in
	// fdatasync.
	waited, moved, synced int64
}

// prepare does a stream's slow preparations before the stage begins. run must follow.
func (j *job) prepare() error {
	if j.Depth > 1 {
		q, err := newQueue(j.Depth, int(j.Size))
		if err != nil {
			return err
		}

		// Generating random data is slow, so one buffer is filled and copied.
		stride := len(q.memory) / j.Depth
		fill(q.memory[:stride], j.chance)

		for at := stride; at < len(q.memory); at += stride {
			copy(q.memory[at:], q.memory[:stride])
		}

		a := &deepLoop{job: j, queue: q, due: make([]int64, j.Depth), begun: make([]int64, j.Depth)}
		for i := range j.Depth {
			a.free = append(a.free, i)
		}

		j.loop, j.release = a.run, q.close
		return nil
	}

	b, err := ioloop.Buffer(int64(j.Size))
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}

	fill(b, j.chance)
	s := &singleLoop{job: j, buffer: b}
	j.loop, j.release = s.run, func() error { return unix.Munmap(b) }

	return nil
}

// run works until the stage's end.
func (j *job) run(ctx context.Context) error {
	punctual()
	return errors.Join(j.phases(ctx), j.release())
}

// phases calls the loop for each on-time of the stream.
func (j *job) phases(ctx context.Context) error {
	for from := j.begin + int64(j.Off); from < j.end; from += int64(j.On + j.Off) {
		to := j.end
		if j.On > 0 {
			to = min(from+int64(j.On), j.end)
		}

		if !j.clock.wait(ctx, from) {
			return ctx.Err()
		}

		// A slow device may make an on-time, with its final fdatasync, run past the next one.
		if j.On > 0 && j.clock.now() >= to {
			continue
		}

		// The on-time includes the final fdatasync, and may begin late if the thread was.
		started := j.clock.now()
		err := j.loop(ctx, from, to)
		if err == nil && j.SyncAtEnd {
			before := j.clock.now()
			err = fdatasync(j.file)
			j.syncs.Add(j.clock.now() - before)
			j.synced += j.clock.now() - before
		}

		j.on = append(j.on, interval{started, j.clock.now()})
		if err != nil {
			return err
		}
		if j.On == 0 {
			return nil
		}
	}
	return nil
}

func fdatasync(f *os.File) error {
	for {
		_, err := raw(unix.SYS_FDATASYNC, int(f.Fd()), nil, 0)
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// due generates the due times of an open loop.
type due struct {
	j    *job
	from int64
	n    int64
	last int64
}

// next returns the next due time; without a rate, that is now.
func (d *due) next() int64 {
	switch {
	case d.j.Rate == 0:
		return d.j.clock.now()
	case d.j.Poisson:
		d.last += int64(d.j.chance.Exponential(time.Duration(1e9 / float64(d.j.Rate))))
		return d.from + d.last
	}
	// Computed from the count, not by adding periods, so that rounding errors do not accumulate.
	d.n++
	return d.from + int64(math.Round(float64(d.n-1)*1e9/float64(d.j.Rate)))
}

// place returns the offset of the next operation.
func (j *job) place() int64 {
	if j.Kind == Append {
		if j.at+j.Size > j.File {
			j.at = 0
		}
		at := j.at
		j.at += j.Size
		return int64(at)
	}
	return int64(units.Size(j.chance.Below(uint64(j.File/j.Size))) * j.Size)
}

// count records a finished operation.
func (j *job) count(due, done int64) {
	took := done - due
	j.all.Add(took)
	j.bytes += j.Size
	if j.keep && len(j.samples) < samplesMax {
		j.samples = append(j.samples, sample{due, took})
	}
}

// miss counts operations that were due but not started when the on-time ended: they waited at least
// until then.
func (j *job) miss(d *due, next, to int64) {
	if j.Rate == 0 {
		return
	}
	// A burst that ended because of its byte limit is not late.
	now := max(j.clock.now(), to)
	for ; next < to && j.missed < samplesMax; next = d.next() {
		j.missed++
		j.all.Add(now - next)
		if j.keep && len(j.samples) < samplesMax {
			j.samples = append(j.samples, sample{next, now - next})
		}
	}
}

// A singleLoop has one operation in flight.
type singleLoop struct {
	*job
	buffer []byte
}

func (s *singleLoop) run(ctx context.Context, from, to int64) error {
	d := &due{j: s.job, from: from}
	fd := int(s.file.Fd())
	for moved := units.Size(0); s.Burst == 0 || moved+s.Size <= s.Burst; moved += s.Size {
		at := d.next()
		if at >= to {
			return nil
		}

		// The device is behind schedule: everything still due in this on-time is missed.
		if s.clock.now() >= to {
			s.miss(d, at, to)
			return nil
		}

		if s.Rate > 0 && !s.clock.wait(ctx, at) {
			return ctx.Err()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}

		if err := s.one(fd, at); err != nil {
			return err
		}
	}

	return nil
}

func (s *singleLoop) one(fd int, at int64) error {
	began := s.clock.now()
	place := s.place()
	if err := s.move(fd, place); err != nil {
		return fmt.Errorf("probe: %s at %d: %w", s.Name, place, err)
	}

	moved := s.clock.now()
	done := moved
	if s.Sync > 0 {
		if s.writes++; s.writes%s.Sync == 0 {
			if err := fdatasync(s.file); err != nil {
				return fmt.Errorf("probe: %s: %w", s.Name, err)
			}
			done = s.clock.now()
			s.syncs.Add(done - moved)
		}
	}

	// Divided three ways: waiting for the stream's own backlog, moving data, and syncing.
	s.waited += began - at
	s.moved += moved - began
	s.synced += done - moved
	s.served.Add(done - began)
	s.count(at, done)

	return nil
}

func (s *singleLoop) move(fd int, place int64) error {
	for {
		var n int
		var err error
		if s.Writes() {
			n, err = raw(unix.SYS_PWRITE64, fd, s.buffer[:s.Size], place)
		} else {
			n, err = raw(unix.SYS_PREAD64, fd, s.buffer[:s.Size], place)
		}

		if errors.Is(err, unix.EINTR) {
			continue
		}

		if err == nil && n != int(s.Size) {
			err = fmt.Errorf("%d of %d bytes: is the device full?", n, int(s.Size))
		}

		return err
	}
}

// A deepLoop keeps several operations in flight from one thread.
type deepLoop struct {
	*job
	queue *queue
	due   []int64 // by slot
	begun []int64
	free  []int
}

func (a *deepLoop) run(ctx context.Context, from, to int64) error {
	pace := &due{j: a.job, from: from}
	next, moved, fd := pace.next(), units.Size(0), int(a.file.Fd())
	op := uint16(aioRead)

	if a.Writes() {
		op = aioWrite
	}

	for {
		now := a.clock.now()
		if a.Rate == 0 {
			next = now
		}

		over := now >= to || next >= to || a.Burst > 0 && moved+a.Size > a.Burst
		for !over && len(a.free) > 0 && next <= now {
			i := a.free[len(a.free)-1]
			a.free = a.free[:len(a.free)-1]
			a.due[i], a.begun[i] = next, now
			a.waited += now - next
			a.queue.add(i, fd, op, a.place())
			moved += a.Size
			next = pace.next()
			if a.Rate == 0 {
				next = now // a closed loop may send more immediately
			}
			over = next >= to || a.Burst > 0 && moved+a.Size > a.Burst
		}

		if err := a.queue.send(); err != nil {
			return err
		}

		// The kernel still writes to the buffers of operations in flight, so the loop must not end
		// before they have.
		flying := len(a.free) < a.Depth
		switch {
		case !flying && (over || ctx.Err() != nil):
			if ctx.Err() == nil && a.Burst == 0 {
				a.miss(pace, next, to)
			}
			return ctx.Err()
		case !flying:
			a.clock.wait(ctx, next)
			continue
		}

		if err := a.reap(next, over || ctx.Err() != nil); err != nil {
			return err
		}

		if ctx.Err() != nil {
			to = 0 // start no more operations, but wait for those in flight
		}
	}
}

// reap processes finished operations. It waits at most until the next one is due, if a slot is free
// for it.
func (a *deepLoop) reap(next int64, over bool) error {
	// Never wait longer than a slice, so that the end of the context is noticed.
	timeout := slice
	if !over && len(a.free) > 0 {
		timeout = min(slice, time.Duration(max(next-a.clock.now(), 0)))
	}

	events, err := a.queue.reap(timeout)
	if err != nil {
		return err
	}

	done := a.clock.now()
	for _, e := range events {
		if e.result != int64(a.Size) {
			if e.result < 0 {
				return fmt.Errorf("probe: %s: %w", a.Name, unix.Errno(-e.result))
			}
			return fmt.Errorf("probe: %s: %d of %d bytes: is the device full?", a.Name, e.result, int(a.Size))
		}
		i := int(e.data)
		a.count(a.due[i], done)
		a.moved += done - a.begun[i]
		a.served.Add(done - a.begun[i])
		a.free = append(a.free, i)
	}

	return nil
}
