package judge

import (
	"cmp"
	"regexp"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A waitClass is what blocks a session, according to its wait event.
type waitClass int

const (
	onCPU     waitClass = iota // no wait event
	onStorage                  // this host's storage, or the queue for it
	onLock                     // another session
	onStandby                  // a synchronous standby: its storage and the network
	onClient                   // the client or the network, which does not accept what the server sends
	onOther
)

// The wait events are those of PostgreSQL 10 to 18 (documentation, "Wait Events"). 13 renamed
// LWLocks, for example from WALWriteLock to WALWrite. LWLock WALInsert and WALBufMapping wait for
// room in the WAL buffers, which a WAL write frees. IPC BufferIO (LWLock buffer_io before 14) waits
// for another session's read or write of the same page.
var storageWaits = regexp.MustCompile(`^(LWLock (WALWrite(Lock)?|WALBufMapping(Lock)?|buffer_io|BufferIO)|IPC BufferI[Oo]|IO .*)$`)

// lockWaits are heavyweight locks and BufferPin: a VACUUM, or recovery on a standby, waiting for a
// page that another session has pinned.
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

// waiters are the executing sessions of some cells, by what they waited for.
type waiters struct {
	kinds []waitKind // most frequent first
	// known is true if the source reports wait events.
	known bool
	// of is the sum of sessions over the cells, the denominator of all shares.
	of float64
}

// share returns a class's share of the executing sessions.
func (w waiters) share(class waitClass) (s float64) {
	for _, k := range w.kinds {
		if k.class == class {
			s += k.share
		}
	}
	return s
}

// byKind returns the shares of a class by what sessions wait for. A session that needs a row waits for the
// transaction that has locked it, or for its turn in the row's queue.
func (w waiters) byKind(class waitClass) map[string]float64 {
	out := map[string]float64{}
	for _, k := range w.kinds {
		switch {
		case k.class != class:
		case k.name == "Lock tuple":
			out["Lock transactionid"] += k.share
		default:
			out[k.name] += k.share
		}
	}
	return out
}

// first returns the most frequent wait of a class; "" if there is none.
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
			// PostgreSQL reads a session's state first and its wait event later: this session has
			// finished its statement and waits for the next one.
			continue
		}

		k := waitKind{name: "a CPU or something PostgreSQL does not report", class: classOf(kind, event),
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

// minHeldUp is the share of executing sessions above which their waits explain a stall.
const minHeldUp = 0.5

// heldUp returns what blocked the executing sessions during stalls if it was not this host's
// storage. Rules about storage use it: [rules.Knowledge.HeldUp].
func heldUp(c *rules.Case) (rules.HeldUp, bool) {
	w := waitsIn(c, c.Stall.Cells)
	locks, standby, client := w.share(onLock), w.share(onStandby), w.share(onClient)
	if !w.known || locks+standby+client < minHeldUp {
		return rules.HeldUp{}, false
	}

	h := rules.HeldUp{Share: locks + standby + client}
	switch max(locks, standby, client) {
	case standby:
		h.By, h.Remote = w.first(onStandby)+", a synchronous standby's acknowledgement", true
	case client:
		h.By = w.first(onClient) + ", a client or network that does not accept what the server sends"
	default:
		h.By = w.first(onLock) + ", another session's lock"
	}

	return h, true
}

// leastListed is the share of executing sessions above which the account lists a wait event.
const leastListed = 0.05

// waited divides the stalled time by what the executing sessions waited for. Without wait events, it
// is the time in which a slow WAL fsync was in progress.
func waited(c *rules.Case) (out []rules.Spent) {
	if c.Stall.Class != rules.Committing {
		return nil
	}

	of := c.Seconds(c.Stall.Cells)
	w := waitsIn(c, c.Stall.Cells)
	for _, k := range w.kinds {
		if k.class != onCPU && k.share >= leastListed {
			out = append(out, rules.Spent{Share: "waiting for " + k.name, Seconds: k.share * of, Of: of,
				Overlaps: true, Note: "of the executing sessions"})
		}
	}

	if !w.known && meanSync(c, c.Stall.Cells) >= slowSyncS {
		syncing := c.Credited(c.One(WALSyncTime))
		in := min(1, timeline.Mean(timeline.At(syncing, c.Stall.Cells)))
		out = append(out, rules.Spent{Share: "a WAL fsync in progress", Seconds: in * of, Of: of, Overlaps: true,
			Note: "of the wall clock", Otherwise: timeline.Mean(timeline.At(syncing, c.NotStalled()))})
	}

	return out
}
