package volume

import "plimsoll/internal/base/units"

const (
	// lengthMax is the longest accepted request, far over the 1 MiB or so at which a block layer
	// splits.
	lengthMax units.Size = 1 << 30
	// paced is the size of the pieces in which a request passes if an operation may have any
	// length.
	paced units.Size = 256 << 10
)

// clamped returns the request with all fields within their bounds.
func (r Request) clamped() Request {
	if r.Op >= Ops {
		r.Op = Write
	}
	r.Length = min(max(r.Length, 0), lengthMax)
	return r
}

// A charge is the cost of a request. Its head is everything but the last part, which passes once
// the head has passed.
type charge struct {
	operations, bytes         int64
	headOperations, headBytes int64
	joins                     bool // it begins in the previous operation
}

func (c charge) lastOperations() int64 { return c.operations - c.headOperations }
func (c charge) lastBytes() int64      { return c.bytes - c.headBytes }

// of returns the charge for a meter: the total and the head.
func (c *charge) of(m *meter) (all, head int64) {
	if m.bytes {
		return c.bytes, c.headBytes
	}
	return c.operations, c.headOperations
}

// An account counts a request's operations: parts that fit into the previous one, and parts that
// need several.
type account struct {
	carries units.Size // bytes per operation, 0 for any
	merge   bool

	op   Op         // of the request before
	end  units.Size // where it ended
	room units.Size // room left in its last operation
}

// charge writes the cost of a request to cost, which is empty. live says whether the previous operation
// may still grow.
func (a *account) charge(cost *charge, request Request, live bool) {
	cost.operations, cost.bytes = 1, int64(request.Length)
	if a.carries == 0 {
		// A long request trickles through in pieces, and its last piece passes when the rest has.
		if request.Length > paced {
			cost.headBytes = int64((request.Length - 1) / paced * paced)
		}
		return
	}

	// The common case on volumes without merging: one operation, all of it in the last part.
	if !a.merge && request.Length <= a.carries {
		return
	}

	rest := request.Length
	cost.operations = 0

	// Only a request that continues the previous one sequentially, while that one is in flight, can
	// merge.
	if live && a.merge && request.Length > 0 && a.room > 0 && request.Op == a.op && request.Offset == a.end {
		joined := min(rest, a.room)
		rest -= joined
		a.room -= joined
		cost.headBytes, cost.joins = int64(joined), true
	} else {
		a.room = 0
	}

	if rest > 0 || request.Length == 0 {
		n := units.Size(1)
		if rest > a.carries {
			n = (rest + a.carries - 1) / a.carries
		}
		cost.operations = int64(n)
		cost.headOperations = int64(n - 1)
		cost.headBytes += int64((n - 1) * a.carries)
		// The last operation may still grow to its full size.
		a.room = n*a.carries - rest
	} else {
		cost.headBytes = 0 // it is itself the last part
	}

	a.op, a.end = request.Op, request.Offset+request.Length
}
