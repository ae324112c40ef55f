package simulate

import (
	"sort"

	"plimsoll/internal/base/vtime"
)

// unanswered holds the unanswered operations of the measured time in the order of their intended
// start. An answered one stays until nothing older is waiting.
type unanswered struct {
	ops  []waiting
	head int
}

type waiting struct {
	at       vtime.Instant
	write    bool
	answered bool
}

// add appends an operation that has been sent.
func (u *unanswered) add(at vtime.Instant, write bool) {
	// Reuse the answered half instead of growing. Each copy moves less than half, so the
	// amortized cost is constant.
	if u.head > len(u.ops)/2 && len(u.ops) == cap(u.ops) {
		u.ops = u.ops[:copy(u.ops, u.ops[u.head:])]
		u.head = 0
	}
	u.ops = append(u.ops, waiting{at: at, write: write})
}

func (u *unanswered) answer(at vtime.Instant) {
	i := u.head + sort.Search(len(u.ops)-u.head, func(i int) bool { return u.ops[u.head+i].at >= at })
	for i < len(u.ops) && u.ops[i].answered && u.ops[i].at == at {
		i++
	}
	if i == len(u.ops) || u.ops[i].at != at {
		return // refused, so it does not wait
	}
	u.ops[i].answered = true
	// Answers come out of order. The head moves only past a prefix that is fully answered.
	for u.head < len(u.ops) && u.ops[u.head].answered {
		u.head++
	}
}

// older calls f for each unanswered operation that came before an instant, the oldest first.
func (u *unanswered) older(than vtime.Instant, f func(at vtime.Instant, write bool)) {
	for _, w := range u.ops[u.head:] {
		if w.at >= than {
			return
		}
		if !w.answered {
			f(w.at, w.write)
		}
	}
}

// refuse removes the newest operation, which will never be answered.
func (u *unanswered) refuse(at vtime.Instant) {
	if n := len(u.ops); n > u.head && u.ops[n-1].at == at {
		u.ops = u.ops[:n-1]
	}
}
