package judge

import (
	"fmt"
	"math"
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A lockedServer has clients that update one table, which another session locks for part of each period.
// Each client thinks for thinkS between two transactions of serviceS.
type lockedServer struct {
	clients         int
	heldS, periodS  float64
	serviceS        float64
	thinkS          float64
	noWaitEvents    bool // as exporters before 0.17.0
	holderIsIdle    bool // the holder is idle in its transaction, and so does not execute
	samples         int
	otherCommits    float64 // per second, of clients that do not need the table
	serialised      bool    // sessions also queue for each other's rows while the table is free
	alsoExecuting   float64 // sessions that always execute, such as workers of a queue
	alsoHeldForever float64 // sessions that always wait for an advisory lock
}

// record samples the server, out of step with the lock, and returns in which of the intervals the lock was
// held from start to end, and in which it was free.
func (s lockedServer) record() (values map[*rules.Signal][]float64, held, unheld timeline.Mask) {
	each := s.serviceS + s.thinkS
	rate := float64(s.clients) / each
	out := map[*rules.Signal][]float64{}
	add := func(sig *rules.Signal, x float64) { out[sig] = append(out[sig], x) }

	for k := range s.samples {
		to := 0.37 + float64(k+1)*1.003
		free, ended := s.freeS(to-1, to)
		commits := rate*free + float64(s.clients*ended)
		add(Commits, commits+s.otherCommits)
		since := math.Mod(to, s.periodS)
		held = append(held, free == 0 && ended == 0)
		unheld = append(unheld, free > 0.999 && since >= s.heldS)

		active, waiting, age := 1+s.alsoExecuting+s.alsoHeldForever, s.alsoHeldForever, s.serviceS
		switch {
		case since < s.heldS:
			age = since
			waiting += float64(s.clients) * min(1, since/each)
			active += waiting - s.alsoHeldForever
			if !s.holderIsIdle {
				active++
			}
		case s.serialised:
			active += float64(s.clients)
			waiting += 0.7 * float64(s.clients)
		default:
			active += math.Round(float64(s.clients) * s.serviceS / each)
		}

		add(Active, active)
		add(OldestTransaction, age)
		if !s.noWaitEvents {
			add(WaitEvents, active)
			add(Queued, waiting)
			add(HeldBack, waiting-s.alsoHeldForever)
			add(QueuedAge, age)
			if waiting == 0 {
				out[QueuedAge][k] = 0
			}
		}
	}

	return out, held, unheld
}

// freeS returns for how long the table was free between two times, and how often the lock was released.
func (s lockedServer) freeS(from, to float64) (free float64, released int) {
	for start := math.Floor(from/s.periodS) * s.periodS; start < to; start += s.periodS {
		free += max(0, min(to, start+s.periodS)-max(from, start+s.heldS))
		if end := start + s.heldS; end > from && end <= to {
			released++
		}
	}
	return free, released
}

func (s lockedServer) signals() (sig *rules.Signals, held, unheld timeline.Mask) {
	values, held, unheld := s.record()
	return everySecond(values), held, unheld
}

// However much of the time a lock is held, the seconds in which no client gets it are stalled. The usual
// level is then what the server does while the lock is free, even if that is the smaller part of the time.
func TestLockHeldMostOfTheTime(t *testing.T) {
	paused := lockedServer{serviceS: 0.005, thinkS: 0.050, samples: 118}
	loop, rows, idle, old, advisory, long := paused, paused, paused, paused, paused, paused
	loop.serviceS, loop.thinkS = 0.010, 0
	rows.serviceS, rows.thinkS, rows.serialised = 0.010, 0, true
	idle.holderIsIdle = true
	old.noWaitEvents = true
	advisory.alsoHeldForever = 3
	long.alsoExecuting = 3

	for name, of := range map[string]lockedServer{"paused": paused, "loop": loop, "rows": rows, "idle holder": idle,
		"old exporter": old, "advisory": advisory, "long": long} {
		for _, others := range []float64{0, 2, 6} {
			of.otherCommits = others
			t.Run(fmt.Sprintf("%s/%g others", name, others), of.heldForAnyShare)
		}
	}
}

// heldForAnyShare judges the server with several numbers of clients and several periods of the lock.
func (s lockedServer) heldForAnyShare(t *testing.T) {
	for _, share := range []float64{0.33, 0.5, 0.67, 0.8, 0.9} {
		for _, s.clients = range []int{4, 16, 40} {
			for _, s.periodS = range []float64{3, 10, 30} {
				s.heldS = share * s.periodS
				sig, held, free := s.signals()
				found := stalls(sig)
				if len(found) != 1 {
					t.Fatalf("%d detectors", len(found))
				}

				stalled, of := found[0].Cells, fmt.Sprintf("%d clients, held for %g of %g s", s.clients, s.heldS, s.periodS)
				if held.Count() > 0 && rules.Share(stalled, held) < 0.9 {
					t.Errorf("%s: %d of %d held seconds are stalled", of, stalled.And(held).Count(), held.Count())
				}
				if stalled.And(free).Count() > 0 {
					t.Errorf("%s: free seconds are stalled: %v", of, stalled.And(free).Episodes())
				}
			}
		}
	}
}
