package judge

import (
	"cmp"
	"regexp"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A waitClass is what a wait event says about where a session is held up.
type waitClass int

const (
	onCPU     waitClass = iota // no wait event
	onStorage                  // this host's storage, or the queue for it
	onLock                     // another session
	onStandby                  // a synchronous standby: its storage and the network
	onClient                   // the client or the network does not take what the server sends
	onOther
)

// Wait events are those of PostgreSQL 10 to 18 (documentation, "Wait Events"): 13 renamed LWLocks
// from WALWriteLock to WALWrite. LWLock WALInsert and WALBufMapping are waits for room in the WAL
// buffers, which a write of the WAL makes. IPC BufferIO (LWLock buffer_io before 14) waits for a read
// or write of the same page.
var storageWaits = regexp.MustCompile(`^(LWLock (WALWrite(Lock)?|WALBufMapping(Lock)?|buffer_io|BufferIO)|IPC BufferI[Oo]|IO .*)$`)

// lockWaits are heavyweight locks, and BufferPin: a VACUUM or a standby's recovery that waits for a
// page that another session keeps in use.
var lockWaits = regexp.MustCompile(`^(Lock|BufferPin) `)

func classOf(kind, event string) waitClass {
	name := kind + " " + event
	switch {
	case kind == "":
		return onCPU
	case storageWaits.MatchString(name):
		return onStorage
	case lockWaits.MatchString(name):
		return onLock
	case event == "SyncRep":
		return onStandby
	case name == "Client ClientWrite":
		return onClient
	}
	return onOther
}

// waitKind is one wait event and its share of the executing sessions.
type waitKind struct {
	name  string // "IO WALSync"
	class waitClass
	share float64
}

// waiters are what executing sessions waited for in some cells.
type waiters struct {
	kinds []waitKind // most frequent first
	// known says that the source reports wait events.
	known bool
	// of is the sum of the sessions over the cells.
	of float64
}

// share is the share of a class among the executing sessions.
func (w waiters) share(class waitClass) (s float64) {
	for _, k := range w.kinds {
		if k.class == class {
			s += k.share
		}
	}
	return s
}

// first is the most frequent wait of a class; "" if there is none.
func (w waiters) first(class waitClass) string {
	for _, k := range w.kinds {
		if k.class == class {
			return k.name
		}
	}
	return ""
}

// waitsIn counts what sessions waited for in some cells.
func waitsIn(c *rules.Case, cells timeline.Mask) (out waiters) {
	for _, t := range c.Signal(Waiting) {
		kind, event := t.Labels.Get("wait_event_type"), t.Labels.Get("wait_event")
		if event == "ClientRead" {
			// PostgreSQL reads a session's state first and then its wait: this one has ended its
			// statement and waits for the next.
			continue
		}

		k := waitKind{name: "a CPU, or nothing that PostgreSQL reports", class: classOf(kind, event),
			share: timeline.Sum(timeline.At(t.Values, cells))}
		if kind != "" {
			k.name = kind + " " + event
			out.known = true
		}

		out.of += k.share
		out.kinds = append(out.kinds, k)
	}

	if !out.known || out.of == 0 {
		return waiters{}
	}

	for i := range out.kinds {
		out.kinds[i].share /= out.of
	}

	slices.SortStableFunc(out.kinds,
		func(a, b waitKind) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.name, b.name)) })
	return out
}

// leastHeldUp is the share of the executing sessions from which their waits say what a stall is.
const leastHeldUp = 0.5

// heldUp is what the executing sessions waited for in the stalled time if that was not this host's
// storage, for rules about storage: [rules.Knowledge.HeldUp].
func heldUp(c *rules.Case) (rules.HeldUp, bool) {
	w := waitsIn(c, c.Stall.Cells)
	locks, standby, client := w.share(onLock), w.share(onStandby), w.share(onClient)
	if !w.known || locks+standby+client < leastHeldUp {
		return rules.HeldUp{}, false
	}

	h := rules.HeldUp{Share: locks + standby + client}
	switch max(locks, standby, client) {
	case standby:
		h.By, h.Remote = w.first(onStandby)+", a synchronous standby's answer", true
	case client:
		h.By = w.first(onClient) + ", a client or network that does not take what the server sends"
	default:
		h.By = w.first(onLock) + ", another session's lock"
	}

	return h, true
}
