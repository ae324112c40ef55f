//go:build linux

package tracer

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/trace/events"
)

// recordOf returns a record of some type, with a number to identify it.
func recordOf(kind, number uint32, alone bool) []byte {
	b := make([]byte, 112)
	binary.LittleEndian.PutUint32(b, kind)
	binary.LittleEndian.PutUint32(b[4:], number)
	if alone {
		b[requestAloneAt] = 1
	}
	return b
}

// Once a call lasts long, the records from before it began are passed on, and so are those of the
// following second. In quiet times records are dropped, except for requests that had their disk to
// themselves.
func TestHeld(t *testing.T) {
	const half = 10 * time.Millisecond
	for _, x := range []struct {
		name   string
		lasted string // one character per half second: x if a call lasts at that time
		want   string // all records passed on, by the number of the half second
	}{
		{"calm", "........", "alone 0"},
		{"a call that lasts", ".......x.....", "alone 0, 4 5 6 7 8 9"},
		{"at the beginning", "x....", "0 1 2"},
		{"two", "..x......x.", "0 1 2 3 4, 6 7 8 9 10"},
	} {
		h := held{slow: 2 * half}
		var got strings.Builder

		number, last, before := uint32(0), int64(0), -1
		for i, c := range x.lasted {
			now := int64(i)*pollCalm.Nanoseconds() + 1
			if c == 'x' {
				last = now
			}

			if h.add(recordOf(eventWait, number, false)) || h.add(recordOf(eventRequest, number, i == 0)) {
				t.Fatal("a wait or request is always wanted")
			}

			if !h.add(recordOf(eventCall, number, false)) || !h.add(recordOf(eventFile, number, false)) {
				t.Fatal("a slow call or a name is held")
			}

			number++
			h.release(now, last, func(r []byte) {
				n := int(binary.LittleEndian.Uint32(r[4:]))
				switch kind := kindOf(r); {
				case kind == eventRequest && before != n:
					fmt.Fprintf(&got, ", alone %d", n)
				case kind == eventWait && before >= 0 && n == before+1:
					fmt.Fprintf(&got, " %d", n)
				case kind == eventWait:
					fmt.Fprintf(&got, ", %d", n)
				}

				if kindOf(r) == eventWait {
					before = n
				}
			})
		}

		if s := strings.TrimPrefix(got.String(), ", "); s != x.want {
			t.Errorf("%s: %s, want %s", x.name, s, x.want)
		}
	}
}

// The amount held is limited: any excess is passed on.
func TestHeldBound(t *testing.T) {
	h := held{slow: time.Hour}
	n, most := 0, 0
	for i := range int64(2_000) {
		for range 1_000 {
			h.add(recordOf(eventWait, 0, false))
		}
		h.release(i+1, 0, func([]byte) { n++ })
		most = max(most, len(h.records))
	}
	if n < 1_000_000 || most > heldMost || cap(h.records) > 2*heldMost {
		t.Errorf("%d passed on; at most %d bytes held, in %d", n, most, cap(h.records))
	}
}

// The offset of the "alone" field agrees with the decoder.
func TestRequestAloneAt(t *testing.T) {
	for _, alone := range []bool{false, true} {
		d := decoder{texts: namer{}}
		b := recordOf(eventRequest, 0, alone)
		var to events.Batch
		d.add(b, &to)
		if to.Requests[0].Alone != alone || hadItsDisk(b) != alone {
			t.Errorf("%v: decoded %v, read at the offset %v", alone, to.Requests[0].Alone, hadItsDisk(b))
		}
	}
}
