//go:build linux

package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// bubble is the clock of a synctest bubble, which advances once all goroutines wait.
type bubble struct{ start time.Time }

func (b bubble) Now() vtime.Instant { return vtime.Instant(time.Since(b.start)) }
func (b bubble) Punctual()          {}

func (b bubble) Wait(ctx context.Context, until vtime.Instant) {
	select {
	case <-ctx.Done():
	case <-time.After(until.Sub(b.Now())):
	}
}

// A server is a Doer made of a function.
type server func(ctx context.Context, conn int, op *lab.Op) error

func (s server) Do(ctx context.Context, conn int, op *lab.Op) error { return s(ctx, conn, op) }

// takes returns a server on which every operation takes this long, on any number of connections.
func takes(d time.Duration) server {
	return func(ctx context.Context, _ int, _ *lab.Op) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
}

func resolve(t testing.TB, spec workload.Spec) *workload.Workload {
	t.Helper()
	w, problems := spec.Resolve(nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return w
}

// every returns an open loop that inserts at this rate.
func every(t testing.TB, rate units.Frequency, connections int) *workload.Workload {
	return resolve(t, workload.Spec{
		Arrivals: &workload.Arrivals{Constant: &rate}, Mix: &workload.Mix{Insert: 1}, Connections: connections,
		Document: &workload.Document{Size: 100},
	})
}

func began(cfg Config) *Generator {
	cfg.clock = bubble{time.Now()}
	return New(cfg)
}

func result(t *testing.T, d *Generator) *Result {
	t.Helper()
	r, err := d.Result()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func at(seconds float64) vtime.Instant { return vtime.Instant(seconds * 1e9) }

// TestQueuedFromTheIntendedStart: one connection takes 20 ms per operation, and one is due every 10
// ms. Each waits for its predecessors, and half are never answered.
func TestQueuedFromTheIntendedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := began(Config{Server: takes(20 * time.Millisecond), Workload: every(t, 100, 1), From: at(1), End: at(3)})
		if err := d.Run(t.Context(), at(3), nil); err != nil {
			t.Fatal(err)
		}

		r := result(t, d)
		for i, op := range r.Operations {
			if want := int64(20e6) * int64(i+1); int64(op.At-r.Operations[0].At)+op.Took != want {
				t.Fatalf("operation %d, due at %v, took %d: it was answered out of order", i, op.At, op.Took)
			}
		}

		first := r.Operations[0].At
		if n := int64(len(r.Operations)); n != int64(at(3)-first-1)/20e6 || r.Asked < 199 || r.Asked > 201 || r.Refused != 0 {
			t.Errorf("%d answered, %d due in the measured time, %d refused", n, r.Asked, r.Refused)
		}

		if r.LateMax != 0 || r.Behind {
			t.Errorf("began late by %v: waiting for a connection does not count as the load generator's lateness", r.LateMax)
		}

		if x := d.Totals(); x.Waiting != x.Asked-x.Done || x.Writes.Done != x.Done || x.Writes.Max.Std() < time.Second || x.P99 == 0 || x.At != at(3) {
			t.Errorf("%+v", x)
		}
	})
}

// TestStallIsFelt: a server that stalls for two seconds still receives its load, and every latency
// counts.
func TestStallIsFelt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := server(func(context.Context, int, *lab.Op) error {
			if since := time.Since(begin); since >= time.Second && since < 3*time.Second {
				time.Sleep(3*time.Second - since)
			}
			return nil
		})

		d := began(Config{Server: s, Workload: every(t, 50, 4), End: at(5)})
		if err := d.Run(t.Context(), at(5), nil); err != nil {
			t.Fatal(err)
		}

		slow := 0
		for _, op := range result(t, d).Operations {
			if op.Took > 0 {
				slow++
				if want := int64(at(3) - op.At); op.Took != want {
					t.Errorf("due at %v, took %v, want %v", op.At, op.Took, want)
				}
			}
		}

		if slow < 99 || slow > 101 {
			t.Errorf("%d operations were delayed by the stall, want 100", slow)
		}
	})
}

// TestClosedLoop: three clients of a server that takes 10 ms send 300 operations per second, each
// only after its previous answer.
func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under := map[int]int{}
		s := server(func(_ context.Context, conn int, _ *lab.Op) error {
			mu.Lock()
			under[conn]++
			if under[conn] != 1 {
				t.Errorf("client %d has two operations in flight", conn)
			}
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			under[conn]--
			mu.Unlock()
			return nil
		})

		w := resolve(t, workload.Spec{
			Arrivals: &workload.Arrivals{Clients: 3}, Mix: &workload.Mix{Insert: 1}, Document: &workload.Document{Size: 100},
		})
		d := began(Config{Server: s, Workload: w, End: at(1)})
		if err := d.Run(t.Context(), at(1), nil); err != nil {
			t.Fatal(err)
		}

		r := result(t, d)
		if n := len(r.Operations); n < 295 || n > 300 || len(under) != 3 {
			t.Errorf("%d operations of %d clients", n, len(under))
		}

		for _, op := range r.Operations {
			if op.Took != 10e6 {
				t.Fatalf("took %d", op.Took)
			}
		}
	})
}

// TestErrors: a few errors are counted by text; many end the run with the first one.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		each int
		want string
	}{"few": {200, ""}, "many": {20, "of"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				var mu sync.Mutex
				s := server(func(context.Context, int, *lab.Op) error {
					mu.Lock()
					defer mu.Unlock()
					if n++; n%c.each == 0 {
						return fmt.Errorf("failure %d", n)
					}
					return nil
				})

				d := began(Config{Server: s, Workload: every(t, 1000, 1), End: at(30)})
				err := d.Run(t.Context(), at(30), nil)
				r, last := d.Result()

				if c.want == "" {
					if err != nil || last != nil || r.Failed != 150 || len(r.Errors) != errorsMax+1 || r.Errors["others"] != 150-errorsMax {
						t.Errorf("%v, %v, %d failed: %v", err, last, r.Failed, r.Errors)
					}
					return
				}

				if err == nil || last == nil || !strings.Contains(err.Error(), "failure 20") || r.Failed != errorsLeast {
					t.Errorf("%v, %v, %d failed", err, last, r.Failed)
				}

				if d.Totals().At >= at(30) && len(r.Operations) > 28_000 {
					t.Errorf("it continued to the end: %d operations", len(r.Operations))
				}
			})
		})
	}
}

// TestEndsWithTheContext: a cancelled run ends and returns the context's error.
func TestEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d := began(Config{Server: takes(time.Hour), Workload: every(t, 10, 3), End: at(3600)})
		if err := d.Run(ctx, at(3600), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if r := result(t, d); len(r.Operations) != 0 || r.Failed != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// TestPatience: a run does not wait forever for a server that does not answer.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		d := began(Config{Server: takes(time.Hour), Workload: every(t, 10, 3), End: at(1), Patience: 5 * time.Second})
		if err := d.Run(t.Context(), at(1), nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 6*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}

// TestContinuesAfterPowerLoss: workload time stops while the server is down, no operation is skipped,
// and the remembered writes are the acknowledged ones.
func TestContinuesAfterPowerLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		alive, stored := true, map[uint64]uint64{} // Seq by key
		busy := map[uint64]bool{}
		s := server(func(ctx context.Context, _ int, op *lab.Op) error {
			mu.Lock()
			if busy[op.Key] {
				t.Errorf("two concurrent writes of key %d", op.Key)
			}

			if op.Seq <= stored[op.Key] {
				t.Errorf("key %d went back from %d to %d", op.Key, stored[op.Key], op.Seq)
			}

			busy[op.Key] = true
			mu.Unlock()
			err := takes(7*time.Millisecond)(ctx, 0, op)
			mu.Lock()
			defer mu.Unlock()
			busy[op.Key] = false

			if !alive {
				return errors.New("connection refused")
			}

			if err == nil {
				stored[op.Key] = op.Seq
			}

			return err
		})

		rate := units.Frequency(500)
		w := resolve(t, workload.Spec{
			Arrivals: &workload.Arrivals{Constant: &rate}, Mix: &workload.Mix{Update: 1}, Keys: &workload.Keys{Count: 20},
			Document: &workload.Document{Size: 100}, Connections: 5,
		})

		d := began(Config{Server: s, Workload: w, End: at(2), Remember: true})
		down := func() error {
			mu.Lock()
			defer mu.Unlock()
			alive = false
			return nil
		}

		before := time.Now()
		if err := d.Run(t.Context(), at(1), down); err != nil {
			t.Fatal(err)
		}

		for key, k := range d.Known() {
			if s := stored[key]; s < k.Acknowledged || s > k.Issued {
				t.Errorf("key %d holds %d, acknowledged %d, issued %d", key, s, k.Acknowledged, k.Issued)
			}
			d.Found(key, stored[key])
		}

		time.Sleep(time.Minute)
		alive = true
		if err := d.Run(t.Context(), at(2), nil); err != nil {
			t.Fatal(err)
		}

		r := result(t, d)
		if r.Failed != 0 || r.Asked < 999 || r.Asked > 1000 || len(r.Operations) < 980 {
			t.Errorf("%d due, %d answered, %d failed", r.Asked, len(r.Operations), r.Failed)
		}

		if len(d.Known()) != 20 {
			t.Errorf("%d keys known", len(d.Known()))
		}

		for since, want := range map[time.Duration]vtime.Instant{
			500 * time.Millisecond: at(.5), 30 * time.Second: at(1), 61500 * time.Millisecond: at(1.5), time.Hour: at(2),
		} {
			// The power was cut at 1 s, with nothing in flight for longer than 10 ms.
			if got := d.At(before.Add(since)); math.Abs(float64(got-want)) > 10e6 {
				t.Errorf("%v after the start, workload time is %v, want %v", since, got, want)
			}
		}
	})
}

// TestReal uses the real clock. It asserts nothing about lateness; -v prints it.
func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second of real time")
	}

	rate := units.Frequency(2000)
	rates := workload.Arrivals{Poisson: &rate}
	w := resolve(t, workload.Spec{Arrivals: &rates, Mix: &workload.Mix{Update: .5, Read: .5}, Keys: &workload.Keys{Count: 1000}, Document: &workload.Document{Size: 100}})
	d := New(Config{Server: server(func(context.Context, int, *lab.Op) error { return nil }), Workload: w, Seed: 1, From: at(.2), End: at(1)})

	if err := d.Run(t.Context(), at(1), nil); err != nil {
		t.Fatal(err)
	}

	r := result(t, d)
	var asked int
	for op, s := (workload.Op{}), w.Open(1); s.Next(&op) && op.At < at(1); {
		asked++
	}

	// On a busy machine, the last operations may be late.
	if len(r.Operations) > asked || len(r.Operations) < asked/2 {
		t.Errorf("%d of %d operations were answered", len(r.Operations), asked)
	}

	if !slices.ContainsFunc(r.Operations, func(o latency.Operation) bool { return !o.Write }) {
		t.Error("no read was sent")
	}

	t.Logf("began late by: p50 %v, p99 %v, max %v; behind %v", r.LateP50, r.LateP99, r.LateMax, r.Behind)
}

// TestLateness prints how late operations begin on this machine, by rate. It is a measurement:
// PLIMSOLL_LATENESS=1 go test -v.
func TestLateness(t *testing.T) {
	if os.Getenv("PLIMSOLL_LATENESS") == "" {
		t.Skip("a measurement, not a test: PLIMSOLL_LATENESS=1")
	}
	for _, procs := range []int{runtime.NumCPU(), max(4, runtime.NumCPU()+1)} {
		old := runtime.GOMAXPROCS(procs)
		for _, rate := range []units.Frequency{100, 1000, 5000, 20000} {
			w := resolve(t, workload.Spec{Arrivals: &workload.Arrivals{Poisson: &rate}, Mix: &workload.Mix{Insert: 1}, Document: &workload.Document{Size: 100}})
			d := New(Config{Server: server(func(context.Context, int, *lab.Op) error { return nil }), Workload: w, Seed: 1, End: at(3)})
			if err := d.Run(t.Context(), at(3), nil); err != nil {
				t.Fatal(err)
			}
			r := result(t, d)
			t.Logf("GOMAXPROCS %d, %6.0f/s: p50 %v, p99 %v, max %v; behind %v", procs, float64(rate), r.LateP50, r.LateP99, r.LateMax, r.Behind)
		}
		runtime.GOMAXPROCS(old)
	}
}

// TestBehind: lateness counts if it is a significant part of the latencies.
func TestBehind(t *testing.T) {
	of := func(us ...int64) *latency.Distribution {
		var d latency.Distribution
		for _, x := range us {
			for range 10 {
				d.Add(1000 * x)
			}
		}
		return &d
	}
	for name, c := range map[string]struct {
		late, all *latency.Distribution
		want      bool
	}{
		"punctual":                       {of(60, 60, 90), of(700, 800, 900), false},
		"late by half the median":        {of(400, 400, 400), of(700, 800, 900), true},
		"a bad p99 of short latencies":   {of(60, 60, 3000), of(700, 800, 4000), true},
		"the same p99 of long latencies": {of(60, 60, 3000), of(700, 800, 400_000), false},
		"no operations":                  {of(), of(), false},
	} {
		if got := behind(c.late, c.all); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
