//go:build linux

package probe

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
	Slower time.Duration // calls that took less are only counted
	// ByDevice traces the calls of all processes on the watched file systems, not those of chosen
	// processes.
	ByDevice bool
	// RingBytes is the size of the ring between the kernel and this process, a power of two; 0 is
	// 16 MiB.
	RingBytes int
	// All hands over everything that the programs do. Otherwise it is what calls that last for half of
	// what makes them slow may wait for, and, while there are none, the names of files and how long
	// disks take.
	All bool
	// checkStacks has the kernel read the stacks that the programs know, too, and counts those that differ.
	checkStacks bool
}

const (
	ringDefault = 16 << 20
	pollEvery   = 100 * time.Millisecond
	// While little comes, this process looks less often: much of what a look costs are Go's own threads that
	// wake up. At that pace it fills a calmShare of the ring until the next one.
	pollCalm  = 500 * time.Millisecond
	calmShare = 8
	// A wait that took less is part of the time around it.
	waitLeast = 50 * time.Microsecond
	waitMost  = time.Millisecond
	// Waits at the beginning of a call are left out until it has taken a tenth of what makes it slow:
	// most calls never do.
	earlyShare = 10
)

func (c *Config) minWait() time.Duration { return min(max(c.Slower/200, waitLeast), waitMost) }

// early is the age from which a call may become slow.
func (c *Config) early() uint64 { return max(uint64(c.Slower)/earlyShare, 2) }

// spanBits is the power of two by which the programs tell ages apart, of a quarter to half of that age.
func (c *Config) spanBits() int { return bits.Len64(c.early()) - 2 }

// earlySpans is how many of these a call may have begun in that is not as old: the one that has
// just begun is in part over.
func (c *Config) earlySpans() uint32 { return uint32((c.early()-1)>>c.spanBits()) + 2 }

func (c *Config) ringBytes() uint32 {
	n := c.RingBytes
	if n <= 0 {
		n = ringDefault
	}
	n = max(n, os.Getpagesize())
	return 1 << (bits.Len(uint(n)) - 1)
}

// A Probe is loaded programs, which are attached unless [Probe.Detach] was called.
type Probe struct {
	coll   *ebpf.Collection
	links  []link.Link
	wakers wakers
	every  time.Duration // after which Run looks at the latest
	reader *ringbuf.Reader
	held   held
	bell   *bell
	decode decoder
	// What [Probe.Watch] filled: entries of each map, and the elements that the programs look at before
	// they do at a map.
	known map[string]int
	marks map[string]*[1024]uint8
	none  *nothing // nil until [Probe.Attach] is called
	// Missing is what this kernel cannot show.
	Missing []string
}

// Start loads the programs. They see nothing until there are targets and disks.
func Start(c Config) (*Probe, error) {
	syms, err := readSymbols()
	if err != nil {
		if aerr := Available(); aerr != nil {
			return nil, aerr
		}
		return nil, &UnavailableError{err.Error(), withoutRights}
	}

	coll, missing, err := load(&c)
	if err != nil {
		return nil, err
	}

	r, err := ringbuf.NewReader(coll.Maps["events"])
	if err != nil {
		coll.Close()
		return nil, fmt.Errorf("trace: the ring of events: %w", err)
	}

	rings, err := newBell(coll.Maps["events"])
	if err != nil {
		coll.Close()
		return nil, errors.Join(err, r.Close())
	}

	p := &Probe{coll: coll, reader: r, bell: rings, every: pollEvery, held: held{all: c.All, slow: c.Slower},
		Missing: missing, known: map[string]int{},
		marks:  map[string]*[1024]uint8{"targets": {}, "fsdevs": {}, "devs": {}},
		decode: decoder{symbol: syms.name, names: map[uint64]string{}, texts: namer{}}}

	p.wakers = wakers{program: coll.Programs[wakersProgram], progress: coll.Variables["in_progress"],
		began: coll.Variables["began"], last: coll.Variables["last_lasted"],
		watched: coll.Variables["wakers_watched"],
		shift:   c.spanBits(), slow: c.Slower}

	err = p.attach()
	if err == nil {
		now := Clock()
		err = p.wakers.look(now, now) // the beginning of a trace may be within a stall
	}

	if err != nil {
		_ = p.Close() // err is the reason
		return nil, err
	}

	return p, nil
}

// Attach attaches the programs again after [Probe.Detach], as if they had seen nothing before. It must
// not run beside Close.
func (p *Probe) Attach() error {
	if err := p.forget(); err != nil {
		return err
	}
	return p.attach()
}

// forget removes what the programs know of calls: those that were under way as they were detached would
// seem to last until now.
func (p *Probe) forget() error {
	threads, state := p.coll.Maps["threads"], p.coll.Maps[".bss"]
	if p.none == nil {
		n := threads.MaxEntries()
		p.none = &nothing{keys: make([]uint32, n), values: make([][threadBytes]byte, n),
			state: make([]byte, state.ValueSize())}
		for i := range p.none.keys {
			p.none.keys[i] = uint32(i)
		}
	}

	// One call for all: what tens of thousands leave behind would be collected while others are measured.
	_, err := threads.BatchUpdate(p.none.keys, p.none.values, nil)
	if err := errors.Join(err, state.Put(uint32(0), p.none.state)); err != nil {
		return fmt.Errorf("trace: forgetting calls: %w", err)
	}

	if err := p.coll.Variables["watched_since"].Set(uint64(Clock())); err != nil {
		return fmt.Errorf("trace: the time: %w", err)
	}

	return p.Watch(nil, nil, nil) // the marks
}

// nothing is what the programs know of calls at first.
type nothing struct {
	keys   []uint32
	values [][threadBytes]byte
	state  []byte
}

// threadBytes is the size of the programs' struct thread.
const threadBytes = 112

func (p *Probe) attach() error {
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

// Detach leaves the programs loaded, but the kernel no longer runs them. Calls that are under way are
// lost. It must not run beside Close.
func (p *Probe) Detach() {
	_ = p.wakers.allow(Clock(), false) // it attaches nothing
	for _, l := range p.links {
		_ = l.Close() // the program goes with the process at the latest
	}
	p.links = nil
}

// Close detaches the programs and removes them from the kernel.
func (p *Probe) Close() error {
	err := errors.Join(p.reader.Close(), p.bell.file.Close())
	p.Detach()
	p.coll.Close()
	return err
}

// Watch adds processes, disks and file systems by their numbers. It may be called again.
func (p *Probe) Watch(processes, disks, fileSystems []uint32) error {
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
				return fmt.Errorf("trace: more than %d %s: %w", m.MaxEntries(), x.name, err)
			}
			p.marks[x.name][markOf(k)] = 1
			p.known[x.name]++
			more = true
		}
	}

	if more {
		if err := p.coll.Variables["watched_since"].Set(uint64(Clock())); err != nil {
			return fmt.Errorf("trace: the time: %w", err)
		}
	}

	for variable, of := range map[string]string{"marks": "fsdevs", "process_marks": "targets"} {
		if err := p.coll.Variables[variable].Set(p.marks[of]); err != nil {
			return fmt.Errorf("trace: %s: %w", variable, err)
		}
	}

	return nil
}

// markOf is the element of a device or process in the programs' marks: their function mix.
func markOf(key uint32) uint32 { return uint32(uint64(key)*0x9e3779b97f4a7c15>>40) % 1024 }

// CountsRings reports whether this kernel shows what programs hand over to io_uring.
func (p *Probe) CountsRings() bool {
	for _, name := range []string{"ring_request", "ring_entry", "ring_510"} {
		if p.coll.Programs[name] != nil {
			return true
		}
	}
	return false
}

// Run hands over batches of events until the context ends, each 100 ms, or 500 ms while there are few, and
// what is left in the ring then. The programs wake this process up only for what attaches the [wakers]: each
// time that it runs takes some 0.3 ms of a processor (docs/trace.md).
func (p *Probe) Run(ctx context.Context, to func(*events.Batch)) error {
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
		if err := p.wakers.look(now, lasted); err != nil {
			return err
		}

		p.held.release(now, lasted, func(record []byte) { p.decode.add(record, b) })
		to(b)

		switch {
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

// drain takes what is in the ring, in bytes, and adds to a batch what is wanted whatever comes. It
// is full if there is more.
func (p *Probe) drain(rec *ringbuf.Record, b *events.Batch) (bytes int, full bool, err error) {
	for range batchEvents {
		err := p.reader.ReadInto(rec)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return bytes, false, nil
		}
		if err != nil {
			return bytes, false, fmt.Errorf("trace: the ring of events: %w", err)
		}
		bytes += len(rec.RawSample)
		if p.held.add(rec.RawSample) {
			p.decode.add(rec.RawSample, b)
		}
	}
	return bytes, true, nil
}

// batchEvents bounds what is taken from the ring at once.
const batchEvents = 65536

// Totals are the counts until now.
func (p *Probe) Totals() (events.Totals, error) {
	var t events.Totals
	m := p.coll.Maps["counts"]
	for kind := range events.Kinds {
		var each []struct{ Calls, Ns, Most, Lost, Rings uint64 }
		if err := m.Lookup(uint32(kind), &each); err != nil {
			return t, fmt.Errorf("trace: the counts: %w", err)
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

// Clock is the time now, of the kernel's monotonic clock that events have.
func Clock() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
