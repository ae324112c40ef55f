// Package enginetest is the contract of every engine, whatever it models: one suite that each
// engine's own tests run.
//
// The contract is small. An engine acknowledges each operation exactly once, not before it was
// submitted, and eventually all of them. The waits that it reports for an operation do not exceed
// the operation's latency. Its counters do not decrease, its series keep their names, and sampling
// changes nothing. Its checkpoints do not overlap. And the same seed gives the same bytes.
//
//	func TestConformance(t *testing.T) {
//		enginetest.Run(t, enginetest.Case{
//			Volumes: []string{"data", "wal"},
//			New:     func(env engine.Env) (engine.Model, error) { return postgres.New(postgres.Defaults(), env) },
//			Op: func(n uint64, chance *random.Stream) workload.Op {
//				return workload.Op{Kind: workload.Update, Key: chance.Below(1000)}
//			},
//		})
//	}
package enginetest

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// A Case is an engine and its workload.
type Case struct {
	// Volumes are the names of its volumes, which are all separate.
	Volumes []string
	// New makes the engine.
	New func(env database.Env) (database.Model, error)
	// Op makes the n-th operation, except for its time.
	Op func(n uint64, chance *random.Stream) workload.Op
	// For is the duration of the load (90 s).
	For time.Duration
}

const (
	// rate is the number of operations per second.
	rate = 200
	// drain is the time limit for acknowledging all operations afterwards: the slowest volume allows 150
	// operations per second. Virtual time costs nothing, so the limit only has to catch an engine that
	// never finishes.
	drain = 30 * time.Minute
)

// volumes are the kinds of volumes that the suite uses.
func volumes() map[string]volume.Config {
	ms := func(x int) units.Duration { return units.Duration(x) * units.Duration(time.Millisecond) }
	fixed := func(d units.Duration) (out [volume.Ops]volume.Latency) {
		l, err := volume.NewLatency(volume.Quantile{Share: 0, Takes: d}, volume.Quantile{Share: 1, Takes: 2 * d})
		if err != nil {
			panic(err) // two ascending quantiles are a distribution
		}
		return [volume.Ops]volume.Latency{l, l, l}
	}

	return map[string]volume.Config{
		"fast": {},
		"usual": {Sustained: volume.Rate{IOPS: 3000, Throughput: 125 * units.MiBps}, Operation: 256 * units.KiB,
			Latency: fixed(ms(1) / 2)},
		"slow":  {Sustained: volume.Rate{IOPS: 150, Throughput: 20 * units.MBps}, Latency: fixed(ms(5))},
		"slots": {Sustained: volume.Rate{IOPS: 1000, Throughput: 20 * units.MBps}, Latency: fixed(ms(1)), Slots: 8},
	}
}

// Run checks an engine against the contract, on volumes of several kinds, with an open and a closed
// loop.
func Run(t *testing.T, c Case) {
	t.Helper()
	all := volumes()
	for _, name := range []string{"fast", "usual", "slow", "slots"} {
		t.Run(name, func(t *testing.T) {
			for _, text := range Check(c, all[name]) {
				t.Error(text)
			}
		})
	}
}

// Check runs an engine on volumes of one kind and returns the violations, at most twenty of each
// kind.
func Check(c Case, v volume.Config) []string {
	c.For = cmp.Or(c.For, 90*time.Second)
	first, err := c.open(v, 1, time.Second)
	if err != nil {
		return []string{err.Error()}
	}

	again, _ := c.open(v, 1, 7*time.Second) // sampled less often, because sampling must change nothing
	closed, _ := c.open(v, 2, time.Second)
	first.openLoop()
	again.openLoop()
	closed.closedLoop(8)
	out := slices.Concat(first.problems(), closed.problems())

	if !slices.Equal(first.log, again.log) {
		out = append(out, "two runs with the same seed, sampled at different times, acknowledge differently")
	}

	if !same(first.sample(), again.sample()) {
		out = append(out, "two runs with the same seed, sampled at different times, end with different metrics")
	}

	return out
}

// answer is the part of an acknowledgement that is compared between runs.
type answer struct {
	given, done vtime.Instant
	waits       database.Waits
}

// run is an engine under load.
type run struct {
	Case
	clock   vtime.Clock
	engine  database.Model
	chance  *random.Stream
	period  time.Duration // of sampling
	until   vtime.Instant // end of the load
	closed  bool
	sent    uint64
	most    uint64 // limit for a closed loop, which would never end on a fast volume
	last    vtime.Instant
	open    map[vtime.Instant]workload.Op // by submission time, which is unique
	log     []answer
	wrong   map[string]int
	texts   []string
	metrics []database.Metric
	values  []float64
	cycles  []database.Cycle
}

func (c Case) open(v volume.Config, seed random.Seed, period time.Duration) (*run, error) {
	r := &run{Case: c, chance: seed.Stream("enginetest"), period: period, until: vtime.At(c.For),
		open: map[vtime.Instant]workload.Op{}, wrong: map[string]int{}}
	host := kernel.NewHost(kernel.Defaults(), &r.clock, seed)

	var devices []*kernel.Device
	for _, name := range c.Volumes {
		v.Name = name
		q, err := volume.New(v, seed, nil)
		if err != nil {
			return nil, err
		}
		devices = append(devices, host.Attach(name, q))
	}

	e, err := c.New(database.Env{Clock: &r.clock, Host: host, Seed: seed, Client: r, Volumes: devices})
	if err != nil {
		return nil, err
	}

	r.engine = e
	r.metrics = slices.Clone(e.Metrics())
	return r, nil
}

// fail records a violation, at most twenty of each kind.
func (r *run) fail(sort, format string, args ...any) {
	if r.wrong[sort]++; r.wrong[sort] <= 20 {
		r.texts = append(r.texts, sort+": "+fmt.Sprintf(format, args...))
	}
}

// send submits an operation now. Its time is unique: a nanosecond after the last one's if they
// arrive together.
func (r *run) send(now vtime.Instant) {
	op := r.Op(r.sent, r.chance)
	r.sent++
	r.last = max(now, r.last+1)
	op.At = r.last
	r.open[op.At] = op
	if op.At == now {
		r.engine.Do(op)
		return
	}
	r.clock.At(op.At, vtime.HandlerFunc(func(vtime.Instant, uint64) { r.engine.Do(op) }), 0)
}

// Fire submits the next operation of an open loop.
func (r *run) Fire(now vtime.Instant, _ uint64) {
	if now < r.until {
		r.send(now)
		r.clock.After(r.chance.Exponential(time.Second/rate)+1, r, 0)
	}
}

// Done checks an acknowledgement.
func (r *run) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	given, ok := r.open[op.At]
	// The key is the time of arrival, which the test makes unique.
	if !ok {
		r.fail(
			"acknowledged", "an operation submitted at %d that is not open: never submitted, or already acknowledged",
			op.At)
		return
	}

	delete(r.open, op.At)
	if given != *op {
		r.fail("changed", "%+v is returned as %+v", given, *op)
	}

	if now != r.clock.Now() || now < op.At {
		r.fail("time", "an operation submitted at %d is acknowledged at %d, while the clock is at %d", op.At, now,
			r.clock.Now())
	}

	sum, latency := int64(0), int64(now.Sub(op.At))
	for k, x := range w {
		sum += x
		if x < 0 {
			r.fail("waits", "%s is %d ns", database.Wait(k), x)
		}
	}

	// Parts of the latency may be unattributed, but the parts cannot exceed the whole.
	if sum > latency {
		r.fail("waits", "%v in a latency of %v", time.Duration(sum), time.Duration(latency))
	}

	r.log = append(r.log, answer{op.At, now, *w})
	// A closed loop sends the next operation when one is answered, as connections do.
	if r.closed && now < r.until && r.sent < r.most {
		r.send(now)
	}
}

func (r *run) openLoop() {
	r.clock.At(0, r, 0)
	r.finish()
}

func (r *run) closedLoop(clients int) {
	r.closed, r.most = true, 2*rate*uint64(r.For/time.Second)
	for range clients {
		r.send(0)
	}
	r.finish()
}

// finish runs to the end of the load, and then until nothing is open or the time limit is reached.
func (r *run) finish() {
	end := r.until.Add(drain)
	for at := vtime.Instant(0); at < r.until || len(r.open) > 0 && at < end; {
		at = at.Add(r.period)
		r.clock.Run(at)
		r.inspect()
	}

	// Nothing may be acknowledged again. The end is a whole minute, so that it is the same for each
	// period.
	r.clock.Run((r.clock.Now()/vtime.At(time.Minute) + 2) * vtime.At(time.Minute))
	r.inspect()
	if n := len(r.open); n > 0 {
		r.fail("lost", "%d of %d operations are not acknowledged %v after the last one", n, r.sent, drain)
	}

	if r.sent == 0 || r.log == nil {
		r.fail("lost", "no operation was sent and acknowledged")
	}
}

func (r *run) sample() []float64 {
	values := make([]float64, len(r.metrics))
	r.engine.Sample(values)
	return values
}

// inspect samples the engine and checks what does not depend on an operation.
func (r *run) inspect() {
	now := r.sample()
	if !same(now, r.sample()) {
		r.fail("sample", "two samples at %d differ", r.clock.Now())
	}
	for k, m := range r.metrics {
		switch {
		case math.IsInf(now[k], 0):
			r.fail("sample", "%s is infinite", m.Name)
		case r.values != nil && now[k] < r.values[k] && counter.MatchString(m.Name):
			r.fail("counter", "%s%q falls from %g to %g", m.Name, m.Labels, r.values[k], now[k])
		}
	}
	r.values = now
	r.inspectCycles()
}

// inspectCycles checks that cycles are in order and that ended ones do not change.
func (r *run) inspectCycles() {
	cycles := r.engine.Cycles()
	if len(cycles) < len(r.cycles) {
		r.fail("cycles", "%d, and %d before", len(cycles), len(r.cycles))
	}

	for k, c := range cycles {
		running := c.End == vtime.Never
		switch {
		case c.Start > r.clock.Now() || c.End < c.Start || !running && c.End > r.clock.Now() || c.Dirty < 0 ||
			c.Written < 0:
			r.fail("cycles", "%d is %+v at %d", k, c, r.clock.Now())
		case running && k < len(cycles)-1:
			r.fail("cycles", "%d is still running, but %d has begun", k, k+1)
		case k > 0 && c.Start < cycles[k-1].End:
			r.fail("cycles", "%d begins at %d, before the previous one ends at %d", k, c.Start, cycles[k-1].End)
		case k < len(r.cycles) && r.cycles[k].End != vtime.Never && r.cycles[k] != c:
			r.fail("cycles", "%d has ended but changes from %+v to %+v", k, r.cycles[k], c)
		}
	}

	r.cycles = append(r.cycles[:0], cycles...)
}

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`) // Prometheus' data model
	// counter matches the names of counters.
	counter   = regexp.MustCompile(`(_total|_sum|_bucket)$`)
	labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// problems returns all violations, including those of names.
func (r *run) problems() []string {
	seen := map[string]bool{}
	for _, m := range r.metrics {
		series := fmt.Sprintf("%s%q", m.Name, m.Labels)
		if seen[series] {
			r.fail("names", "%s occurs twice", series)
		}

		seen[series] = true
		if !metricName.MatchString(m.Name) || len(m.Labels)%2 != 0 {
			r.fail("names", "%s is not a valid series", series)
		}

		for k := 0; k < len(m.Labels); k += 2 {
			if !labelName.MatchString(m.Labels[k]) {
				r.fail("names", "%s has a label %q", series, m.Labels[k])
			}
		}
	}

	equal := func(a, b database.Metric) bool { return a.Name == b.Name && slices.Equal(a.Labels, b.Labels) }
	if !slices.EqualFunc(r.metrics, r.engine.Metrics(), equal) {
		r.fail("names", "the names change")
	}

	return r.texts
}

// same compares samples; two missing values are equal.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}
