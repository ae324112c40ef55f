//go:build linux

package trace_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

var (
	savedTrace = flag.String("saved", "", "print what slow syncs and reads in this saved trace queued behind")
	savedFile  = flag.String("of", "WiredTigerLog", "only files whose names contain this")
	savedFrom  = flag.Duration("from", 0, "only calls that begin at least this long after the start of the trace")
	savedTo    = flag.Duration("to", time.Hour, "only calls that end at most this long after the start of the trace")
)

// TestInFront prints what slow syncs of a file, and slow reads of all files, waited for, and which
// requests the device completed in that time, by the flags that decide how writeback throttling
// treats them. It asserts nothing.
//
// \tsudo plimsoll trace --command mongod --for 82s --slower-than 50ms --save mongod.trace
// \tgo test ./internal/trace -run InFront -saved mongod.trace -v
func TestInFront(t *testing.T) {
	if *savedTrace == "" {
		t.Skip("a measurement, not a test: -saved FILE")
	}

	h, b, err := events.LoadFile(*savedTrace)
	if err != nil {
		t.Fatal(err)
	}

	w := chain.NewWindow(h)
	w.Add(b)

	syncs, reads := newFront(), newFront()
	for i := range b.Calls {
		if b.Calls[i].Enter < h.BeganNs+savedFrom.Nanoseconds() || b.Calls[i].Exit > h.BeganNs+savedTo.Nanoseconds() {
			continue
		}
		c := w.Explain(&b.Calls[i])
		switch {
		case c.Call.Kind == events.Read:
			reads.add(w, &c)
		case (c.Call.Kind == events.Fsync || c.Call.Kind == events.Fdatasync) && strings.Contains(filepath.Base(c.File), *savedFile):
			syncs.add(w, &c)
		}
	}

	syncs.print("syncs of "+*savedFile, h.Slower)
	reads.print("reads", h.Slower)
}

// A front sums up what slow calls waited for.
type front struct {
	calls    int
	time     time.Duration
	most     time.Duration
	stages   map[string]time.Duration
	requests map[string]*ahead
	waits    int // segments queued behind other requests
}

type ahead struct {
	count, bytes int
	who          map[string]int
}

func newFront() *front {
	return &front{stages: map[string]time.Duration{}, requests: map[string]*ahead{}}
}

func (f *front) add(w *chain.Window, c *chain.Chain) {
	f.calls++
	f.time += c.Took()
	f.most = max(f.most, c.Took())

	around := w.Around(&c.Call)
	for i := range c.Segments {
		s := &c.Segments[i]
		f.stages[fmt.Sprintf("%s %s", s.Place, s.Stage)] += s.Took()
		if s.Stage != chain.DeviceQueue {
			continue
		}

		f.waits++
		for j := range around {
			q := &around[j]
			if q.Done <= s.From || q.Done > s.To || c.Call.Kind != events.Read && q.File == c.Call.File {
				continue
			}

			a := f.requests[flagNames(q)]
			if a == nil {
				a = &ahead{who: map[string]int{}}
				f.requests[flagNames(q)] = a
			}

			a.count++
			a.bytes += int(q.Bytes)
			a.who[w.Label(q)]++
		}
	}
}

func (f *front) print(what string, slower time.Duration) {
	fmt.Printf("%s: %d over %v, %v in total, longest %v\n", what, f.calls, slower, f.time.Round(time.Millisecond), f.most.Round(time.Millisecond))
	if f.calls == 0 {
		return
	}

	for _, s := range slices.SortedFunc(maps.Keys(f.stages), func(a, b string) int { return cmp.Compare(f.stages[b], f.stages[a]) }) {
		if share := float64(f.stages[s]) / float64(f.time); share > 0.005 {
			fmt.Printf("  %5.1f %%  %s\n", 100*share, s)
		}
	}

	fmt.Printf("  completed on average during each of %d waits behind others:\n", f.waits)
	for _, k := range slices.SortedFunc(maps.Keys(f.requests), func(a, b string) int { return cmp.Compare(f.requests[b].bytes, f.requests[a].bytes) }) {
		a := f.requests[k]
		fmt.Printf("  %6.1f of %4d KiB: %s\n", float64(a.count)/float64(f.waits), a.bytes/1024/a.count, k)
		who := slices.SortedFunc(maps.Keys(a.who), func(x, y string) int { return cmp.Compare(a.who[y], a.who[x]) })
		for _, x := range who[:min(3, len(who))] {
			fmt.Printf("           %5.1f %%  %s\n", 100*float64(a.who[x])/float64(a.count), x)
		}
	}
}

// flagNames describes a request by its operation and flags.
func flagNames(q *events.Request) string {
	out := []string{map[uint32]string{events.OpRead: "read", events.OpWrite: "write", events.OpFlush: "flush"}[q.Op()]}
	for _, f := range []struct {
		bit  uint32
		name string
	}{
		{events.FlagSync, "SYNC"}, {events.FlagMeta, "META"}, {events.FlagIdle, "IDLE"}, {events.FlagFUA, "FUA"},
		{events.FlagPreflush, "PREFLUSH"}, {events.FlagBackground, "BACKGROUND"},
	} {
		if q.Flags&f.bit != 0 {
			out = append(out, f.name)
		}
	}
	return strings.Join(out, " ")
}
