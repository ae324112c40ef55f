//go:build linux

package tracer

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/events"
)

// A Config says what to trace.
type Config struct {
	Slower time.Duration // faster calls are only counted
	// ByDevice traces calls of all processes on the watched file systems, instead of calls of
	// chosen processes.
	ByDevice bool
	// All passes on all events. Otherwise Run passes on only what calls that reached half the
	// threshold may have waited for, and, while there are no such calls, file names and the
	// latencies of idle disks.
	All bool
	// checkStacks makes the programs read the stacks they have cached as well, and count those that
	// differ.
	checkStacks bool
	// ringBytes is the size of the ring between kernel and this process, a power of two of at least a page; 0
	// means 16 MiB.
	ringBytes uint32
}

const (
	ringDefault = 16 << 20
	pollEvery   = 100 * time.Millisecond
	// While few events arrive, this process polls less often: much of the cost of polling is Go's
	// own threads waking up. "Few" means that the ring would be filled by less than 1/calmShare
	// until the next poll.
	pollCalm  = 500 * time.Millisecond
	calmShare = 8
	// Shorter waits are merged into the time around them.
	waitLeast = 50 * time.Microsecond
	waitMost  = time.Millisecond
	// Waits at the beginning of a call are dropped until the call has taken a tenth of the
	// threshold: most calls never get there.
	earlyShare = 10
)

func (c *Config) minWait() time.Duration { return min(max(c.Slower/200, waitLeast), waitMost) }

// early is the age in nanoseconds from which a call may become slow.
func (c *Config) early() uint64 { return max(uint64(c.Slower)/earlyShare, 2) }

// spanBits is the binary logarithm of the resolution at which the programs track the ages of calls:
// a quarter to half of early.
func (c *Config) spanBits() int { return bits.Len64(c.early()) - 2 }

// earlySpans is the number of spans in which a younger call may have begun. The extra one accounts
// for the current span, which is not over yet.
func (c *Config) earlySpans() uint32 { return uint32((c.early()-1)>>c.spanBits()) + 2 }

// A Tracer holds the loaded programs. They are attached unless [Tracer.Detach] was called.
type Tracer struct {
	coll   *ebpf.Collection
	links  []link.Link
	wakers wakers
	every  time.Duration // maximum interval between two polls of Run
	reader *ringbuf.Reader
	held   held
	bell   *bell
	decode decoder
	// State filled by [Tracer.Watch]: the number of entries in each map, and the filter arrays that
	// the programs check before the maps themselves.
	known map[string]int
	marks map[string]*[1024]uint8
	none  *emptyState // nil until [Tracer.Attach] is called
	// Missing lists what this kernel cannot show.
	Missing []string
}

// Start loads and attaches the programs. They see nothing until there are targets and disks.
func Start(config Config) (*Tracer, error) {
	syms, err := readSymbols()
	if err != nil {
		// Missing privileges explain the failure better than the unreadable file does.
		if aerr := Available(); aerr != nil {
			return nil, aerr
		}
		return nil, &UnavailableError{err.Error(), withoutRights}
	}

	coll, missing, err := load(&config)
	if err != nil {
		return nil, err
	}

	r, err := ringbuf.NewReader(coll.Maps["events"])
	if err != nil {
		coll.Close()
		return nil, fmt.Errorf("trace: cannot read the event ring: %w", err)
	}

	rings, err := newBell(coll.Maps["events"])
	if err != nil {
		coll.Close()
		return nil, errors.Join(err, r.Close())
	}

	p := &Tracer{coll: coll, reader: r, bell: rings, every: pollEvery,
		held:    held{all: config.All, slow: config.Slower},
		Missing: missing, known: map[string]int{},
		marks:  map[string]*[1024]uint8{"targets": {}, "fsdevs": {}, "devs": {}},
		decode: decoder{symbol: syms.name, names: map[uint64]string{}, texts: namer{}}}

	p.wakers = wakers{program: coll.Programs[wakersProgram], progress: coll.Variables["in_progress"],
		began: coll.Variables["began"], last: coll.Variables["last_lasted"],
		watched: coll.Variables["wakers_watched"],
		shift:   config.spanBits(), slow: config.Slower}

	err = p.attach()
	if err == nil {
		now := Clock()
		err = p.wakers.update(now, now) // the trace may start in the middle of a stall
	}

	if err != nil {
		_ = p.Close() // err is the cause
		return nil, err
	}

	return p, nil
}

// Attach reattaches the programs after [Tracer.Detach], with no memory of earlier calls. It must not
// run concurrently with Close.
func (p *Tracer) Attach() error {
	if err := p.forget(); err != nil {
		return err
	}
	return p.attach()
}

// forget clears the programs' state of calls. Otherwise, calls in progress at detach would seem to
// last until now.
func (p *Tracer) forget() error {
	threads, state := p.coll.Maps["threads"], p.coll.Maps[".bss"]
	if p.none == nil {
		n := threads.MaxEntries()
		p.none = &emptyState{keys: make([]uint32, n), values: make([][threadBytes]byte, n),
			state: make([]byte, state.ValueSize())}
		for i := range p.none.keys {
			p.none.keys[i] = uint32(i)
		}
	}

	// A single batch call: the garbage of tens of thousands of calls would be collected during the
	// next measurement.
	_, err := threads.BatchUpdate(p.none.keys, p.none.values, nil)
	if err := errors.Join(err, state.Put(uint32(0), p.none.state)); err != nil {
		return fmt.Errorf("trace: cannot clear the state of calls: %w", err)
	}

	if err := p.coll.Variables["watched_since"].Set(uint64(Clock())); err != nil {
		return fmt.Errorf("trace: cannot set the start time: %w", err)
	}

	return p.Watch(nil, nil, nil) // restores the marks, which were cleared with the rest
}

// emptyState is the initial state of the programs' maps.
type emptyState struct {
	keys   []uint32
	values [][threadBytes]byte
	state  []byte
}

// threadBytes is the size of struct thread in the programs.
const threadBytes = 112

func (p *Tracer) attach() error {
	for _, x := range programs {
		prog := p.coll.Programs[x.name]
		if prog == nil || x.name == wakersProgram {
			continue
		}
		l, err := link.AttachTracing(link.TracingOptions{Program: prog})
		if err != nil {
			p.Detach()
			return refused("attach to "+x.tracepoint, err)
		}
		p.links = append(p.links, l)
	}
	return p.wakers.allow(Clock(), true)
}

// Detach detaches the programs but keeps them loaded. Calls in progress are lost. It must not run
// concurrently with Close.
func (p *Tracer) Detach() {
	_ = p.wakers.allow(Clock(), false) // detaching cannot fail
	for _, l := range p.links {
		_ = l.Close() // the kernel removes it at the latest when the process exits
	}
	p.links = nil
}

// Close detaches the programs and removes them from the kernel.
func (p *Tracer) Close() error {
	err := errors.Join(p.reader.Close(), p.bell.file.Close())
	p.Detach()
	p.coll.Close()
	return err
}

// Watch adds processes, disks and file systems by number. It may be called repeatedly.
func (p *Tracer) Watch(processes, disks, fileSystems []uint32) error {
	more := false
	for _, x := range []struct {
		name string
		keys []uint32
	}{{"targets", processes}, {"devs", disks}, {"fsdevs", fileSystems}} {
		m := p.coll.Maps[x.name]
		for _, k := range x.keys {
			if err := m.Update(k, uint8(p.known[x.name]), ebpf.UpdateNoExist); errors.Is(err, ebpf.ErrKeyExist) {
				continue
			} else if err != nil {
				return fmt.Errorf("trace: cannot watch more than %d %s: %w", m.MaxEntries(), x.name, err)
			}
			// The programs check this array first, which is cheaper than a map lookup for each
			// event of a process that is not traced.
			p.marks[x.name][markOf(k)] = 1
			p.known[x.name]++
			more = true
		}
	}

	if more {
		if err := p.coll.Variables["watched_since"].Set(uint64(Clock())); err != nil {
			return fmt.Errorf("trace: cannot set the start time: %w", err)
		}
	}

	for variable, of := range map[string]string{"marks": "fsdevs", "process_marks": "targets"} {
		if err := p.coll.Variables[variable].Set(p.marks[of]); err != nil {
			return fmt.Errorf("trace: cannot set %s: %w", variable, err)
		}
	}

	return nil
}

// markOf returns a device's or process's index in the programs' marks. It must match their function
// mix.
func markOf(key uint32) uint32 { return uint32(uint64(key)*0x9e3779b97f4a7c15>>40) % 1024 }

// CountsRings reports whether this kernel shows what programs submit through io_uring.
func (p *Tracer) CountsRings() bool {
	for _, name := range []string{"ring_request", "ring_entry", "ring_510"} {
		if p.coll.Programs[name] != nil {
			return true
		}
	}
	return false
}

// Run passes on batches of events until the context ends: every 100 ms, every 500 ms while there
// are few, and finally whatever is left in the ring. The programs wake this process early only to
// have the [wakers] attached: each wakeup takes some 0.3 ms of CPU time (docs/trace.md).
func (p *Tracer) Run(ctx context.Context, to func(*events.Batch)) error {
	p.reader.SetDeadline(time.Now()) // a read never waits
	ended := func() bool { return ctx.Err() != nil }

	var rec ringbuf.Record
	for looked := Clock(); ; {
		last := ended()
		b := &events.Batch{}
		n, full, err := p.drain(&rec, b)
		if err != nil {
			return err
		}

		now := Clock()
		lasted := p.wakers.lasted(now)
		if err := p.wakers.update(now, lasted); err != nil {
			return err
		}

		p.held.release(now, lasted, func(record []byte) { p.decode.add(record, b) })
		to(b)

		switch {
		// There is more in the ring, or the context ended while this batch was processed: drain it
		// again without waiting.
		case full, !last && ended():
		case last:
			return nil
		default:
			after := p.every
			if calm := int64(p.reader.BufferSize() / calmShare); int64(n)*pollCalm.Nanoseconds() < calm*(now-looked) {
				after = max(after, pollCalm)
			}
			if err := p.bell.wait(time.Now().Add(after)); err != nil {
				return err
			}
		}

		looked = now
	}
}

// drain reads the ring and adds records that are always wanted to a batch. It returns the bytes
// read, and whether there may be more.
func (p *Tracer) drain(rec *ringbuf.Record, b *events.Batch) (bytes int, full bool, err error) {
	for range batchEvents {
		err := p.reader.ReadInto(rec)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return bytes, false, nil
		}
		if err != nil {
			return bytes, false, fmt.Errorf("trace: cannot read the event ring: %w", err)
		}
		bytes += len(rec.RawSample)
		if p.held.add(rec.RawSample) {
			p.decode.add(rec.RawSample, b)
		}
	}
	return bytes, true, nil
}

// batchEvents bounds the number of events read from the ring before they are passed on.
const batchEvents = 65536

// Totals returns the counts so far.
func (p *Tracer) Totals() (events.Totals, error) {
	var t events.Totals
	m := p.coll.Maps["counts"]
	for kind := range events.Kinds {
		// The counters are per CPU.
		var each []struct{ Calls, Ns, Most, Lost, Rings uint64 }
		if err := m.Lookup(uint32(kind), &each); err != nil {
			return t, fmt.Errorf("trace: cannot read the counts: %w", err)
		}

		for _, c := range each {
			at := &t.Counts[kind]
			at.Calls += c.Calls
			at.Time += time.Duration(c.Ns)
			at.Most = max(at.Most, time.Duration(c.Most))
			at.Rings += c.Rings
			t.Lost += c.Lost
		}
	}

	return t, nil
}

// Clock returns the current time of the kernel's monotonic clock, which the events use.
func Clock() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
