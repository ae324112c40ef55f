package tracer

import (
	"bytes"
	"encoding/binary"
	"slices"

	"plimsoll/internal/trace/events"
)

// Event types and sizes; bpf/events.h defines the structures.
const (
	eventCall = 1 + iota
	eventWait
	eventRequest
	eventCommit
	eventHandle
	eventFile

	commBytes = 16
	stackMax  = 24
	namesMax  = 6
	nameBytes = 48

	blockDeviceMagic = 0x62646576 // file system that holds the block devices' own pages
)

// A record reads fields one after another. Reading past its end yields zeros.
type record struct {
	b     []byte
	at    int
	names namer
}

func (r *record) bytes(n int) []byte {
	if r.at+n > len(r.b) {
		r.at = len(r.b)
		return make([]byte, n)
	}
	out := r.b[r.at : r.at+n]
	r.at += n
	return out
}

func (r *record) u32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }
func (r *record) u64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }
func (r *record) ns() int64   { return int64(r.u64()) }

func (r *record) text(n int) string {
	b := r.bytes(n)
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return r.names.of(b)
}

// A namer interns strings: the same few names occur in all records.
type namer map[string]string

func (n namer) of(b []byte) string {
	if s, ok := n[string(b)]; ok {
		return s
	}
	if len(n) >= symbolsMax {
		clear(n)
	}
	s := string(b)
	n[s] = s
	return s
}

// A decoder converts records into events.
type decoder struct {
	symbol func(address uint64) string
	// names caches the name of each address: stacks repeat.
	names map[uint64]string
	texts namer
	stack []string // preallocated space for stacks
}

// symbolsMax bounds the cached names. The kernel has some 100,000 functions; traces see hundreds.
const symbolsMax = 20_000

func (d *decoder) add(b []byte, to *events.Batch) {
	r := &record{b: b, names: d.texts}
	switch r.u32() {
	case eventCall:
		to.Calls = append(to.Calls, call(r))
	case eventWait:
		to.Waits = append(to.Waits, d.wait(r))
	case eventRequest:
		to.Requests = append(to.Requests, request(r))
	case eventCommit:
		to.Commits = append(to.Commits, events.Commit{Dev: r.u32(), Transaction: r.u32(), TID: r.u32(),
			Start: r.ns(), Locking: r.ns(), Flushing: r.ns(), Logging: r.ns(), End: r.ns()})
	case eventHandle:
		h := events.Handle{Dev: r.u32(), Transaction: r.u32(), Jiffies: r.u32()}
		h.PID, h.TID, h.End, h.Comm = r.u32(), r.u32(), r.ns(), r.text(commBytes)
		to.Handles = append(to.Handles, h)
	case eventFile:
		to.Files = append(to.Files, file(r))
	}
}

// kindOf returns a record's type; 0 if it is too short to have one.
func kindOf(b []byte) uint32 {
	r := record{b: b}
	return r.u32()
}

// requestAloneAt is the offset of the field that says whether a request had its disk to itself.
const requestAloneAt = 92

// hadItsDisk reports whether a record is such a request, without decoding it.
func hadItsDisk(b []byte) bool {
	r := record{b: b, at: requestAloneAt}
	return kindOf(b) == eventRequest && r.u32() != 0
}

func call(r *record) events.Call {
	c := events.Call{Kind: events.Kind(r.u32())}
	c.PID, c.TID = r.u32(), r.u32()
	c.Enter, c.Exit, c.Result = r.ns(), r.ns(), r.ns()
	c.File.Inode = r.u64()
	c.File.Dev, c.FD = r.u32(), int32(r.u32())
	c.Flags, c.Magic = r.u32(), r.u32()
	c.Comm = r.text(commBytes)
	return c
}

func (d *decoder) wait(r *record) events.Wait {
	w := events.Wait{Kernel: r.u32() != 0}
	w.PID, w.TID = r.u32(), r.u32()
	w.Out, w.Wake, w.In, w.Request = r.ns(), r.ns(), r.ns(), r.ns()
	w.Waker.PID, w.Waker.TID = r.u32(), r.u32()
	w.Preempted = r.u32() != 0
	frames := min(int(r.u32())/8, stackMax)
	w.Comm, w.Waker.Comm = r.text(commBytes), r.text(commBytes)

	// Stacks of many waits share one allocation. A full one stays alive as long as any of its
	// stacks.
	if len(d.stack)+frames > cap(d.stack) {
		d.stack = make([]string, 0, 128*stackMax)
	}

	from := len(d.stack)
	for range frames {
		if a := r.u64(); a != 0 {
			d.stack = append(d.stack, d.name(a))
		}
	}

	w.Stack = slices.Clip(d.stack[from:])
	return w
}

func (d *decoder) name(address uint64) string {
	if s, ok := d.names[address]; ok {
		return s
	}
	s := d.symbol(address)
	if len(d.names) < symbolsMax {
		d.names[address] = s
	}
	return s
}

func request(r *record) events.Request {
	q := events.Request{Dev: r.u32(), Sector: r.u64(), Bytes: r.u32(), Flags: r.u32(),
		Alloc: r.ns(), First: r.ns(), Issue: r.ns(), Done: r.ns()}
	inode, dev, magic := r.u64(), r.u32(), r.u32()
	// Pages of the block device's own inode are file system metadata, not those of a file.
	if magic == blockDeviceMagic {
		q.Metadata = true
	} else {
		q.File = events.FileID{Dev: dev, Inode: inode}
	}
	q.PID, q.TID = r.u32(), r.u32()
	q.Reason = events.Reason(r.u32())
	q.Requeues, q.Kernel, q.Alone = r.u32(), r.u32() != 0, r.u32() != 0
	q.Comm = r.text(commBytes)
	return q
}

func file(r *record) events.File {
	f := events.File{ID: events.FileID{Dev: r.u32(), Inode: r.u64()}, At: r.ns()}
	f.PID, f.TID = r.u32(), r.u32()
	f.Dirtied, f.Magic = r.u32() != 0, r.u32()
	f.Comm = r.text(commBytes)
	for range namesMax {
		f.Names = append(f.Names, r.text(nameBytes))
	}
	if i := slices.Index(f.Names, ""); i >= 0 {
		f.Names = f.Names[:i]
	}
	return f
}
