package accuracy_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// scriptNullIntervals is the maximum length of such a recording in the case's own sampling periods, and
// scriptNullHours in hours. A longer one would be judged in pieces, and each piece is another chance to
// be wrong.
const (
	scriptNullIntervals = 900
	scriptNullHours     = 4
)

// intervals is the length of a case's recordings.
func (n *scriptNull) intervals() int {
	return min(scriptNullIntervals, int(scriptNullHours*time.Hour/n.step))
}

// A scriptNull makes recordings from a rule's own positive case in which the rule's claim is false. It
// redraws the case's seconds in stretches, stalled or calm: at random times for the series that show
// clients waiting, and at other random times for everything else. So every figure has the same values
// as when the rule is right, but the claimed cause has nothing to do with the stalls.
type scriptNull struct {
	rule    rules.Rule
	title   string
	step    time.Duration
	stalled []bool // the case's own intervals
	victims []ruletest.Series
	others  []ruletest.Series
}

// scriptNulls are the positive cases of all rules whose cause and stall can be separated.
func scriptNulls(t *testing.T) (out []scriptNull) {
	t.Helper()
	scripts, err := ruletest.Scripts(testkit.Pack())
	if err != nil {
		t.Fatal(err)
	}

	felt := feltSelectors(t)
	for _, s := range scripts {
		if s.Rule.Kind != diagnose.Cause || slices.Contains(waitedFor, s.Rule.ID) {
			continue
		}
		for i := range s.Cases {
			c := &s.Cases[i]
			if c.Kind != "positive" || slices.Contains(waitedForIn[s.Rule.ID], c.Title) {
				continue
			}
			if n, ok := newScriptNull(t, s.Rule, c, felt); ok {
				out = append(out, n)
			}
		}
	}

	return out
}

// newScriptNull separates the series that show clients waiting from the rest. It cannot if the case has
// only one of the two, several sampling periods, no calm time, or another cause.
func newScriptNull(t *testing.T, rule rules.Rule, c *ruletest.Case, felt [][]*labels.Matcher) (n scriptNull, ok bool) {
	t.Helper()
	all := c.Series()
	n = scriptNull{rule: rule, title: c.Title, step: all[0].Step}
	mem := recording.NewMemory(recording.MemoryOptions{})

	cells := 0
	for _, s := range all {
		if s.Step != n.step {
			return n, false
		}
		cells = max(cells, len(s.Values))
		appendSeries(t, mem, s.Labels, s.Step, s.Values)
		if slices.ContainsFunc(felt, func(m []*labels.Matcher) bool { return labels.Selector(m).Matches(s.Labels) }) {
			n.victims = append(n.victims, s)
		} else {
			n.others = append(n.others, s)
		}
	}

	if len(n.victims) == 0 || len(n.others) == 0 {
		return n, false
	}

	got, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		return n, false
	}

	n.stalled = make([]bool, cells)
	blamed := false
	for _, f := range reported(got) {
		blamed = blamed || f.Rule == rule.ID && accuses(f)
		if f.Kind != diagnose.Symptom || strings.HasPrefix(f.Rule, "disk/") {
			continue
		}
		for _, w := range f.Windows {
			for k := range n.stalled {
				at := nullBegan.Add(time.Duration(k) * n.step)
				n.stalled[k] = n.stalled[k] || !at.Before(w.From) && at.Before(w.To)
			}
		}
	}

	if calm := count(n.stalled, false); !blamed || calm == cells || calm < cells/4 {
		return n, false
	}

	// If the condition also holds in calm times, the rule has nothing to compare with, and says so.
	for i := range 3 {
		r := newNullRecording(t, uint64(i), n.intervals())
		n.make(r, false)
		got, err := diagnose.Run(t.Context(), []recording.Reader{r.mem}, diagnose.Options{Pack: testkit.Pack()})
		if err == nil && slices.ContainsFunc(reported(got), func(f diagnose.Finding) bool { return f.Rule == rule.ID && accuses(f) }) {
			return n, false
		}
	}

	return n, true
}

func count(mask []bool, of bool) (n int) {
	for _, x := range mask {
		if x == of {
			n++
		}
	}
	return n
}

// reported returns all findings of a report.
func reported(r *diagnose.Report) []diagnose.Finding {
	out := slices.Clone(r.Findings)
	for _, x := range r.Incidents {
		out = append(out, x.Findings...)
	}
	return out
}

// feltSelectors select what the engines' stall detectors read.
func feltSelectors(t *testing.T) (out [][]*labels.Matcher) {
	t.Helper()
	for _, e := range testkit.Pack().Engines() {
		for _, s := range e.Felt {
			for _, expr := range s.Exprs {
				parsed, err := rules.Parse(expr)
				if err != nil {
					t.Fatal(err)
				}
				parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
					if v, ok := n.(*parser.VectorSelector); ok {
						out = append(out, v.LabelMatchers)
					}
					return nil
				})
			}
		}
	}

	return out
}

// make writes one recording. Unless on is set, only the clients' series ever show the case's stalls.
func (n *scriptNull) make(r *nullRecording, on bool) {
	share := 0.04 + 0.12*r.rng.Float64()
	clients := r.walk(n.stalled, r.episodes(share, 3, 12))
	at := r.episodes(0.04+0.3*r.rng.Float64(), 3, 30)

	if !on {
		clear(at)
	}

	rest := r.walk(n.stalled, at)
	for _, of := range []struct {
		series []ruletest.Series
		at     []int
	}{{n.victims, clients}, {n.others, rest}} {
		load := r.noise(0.1)
		for _, s := range of.series {
			r.drawn(s, of.at, load)
		}
	}
}

// walk maps each interval to one of the original: those in "on" stretches to stalled intervals, the
// others to calm ones. Consecutive intervals stay consecutive as long as the original has any.
func (r *nullRecording) walk(original, on []bool) []int {
	out := make([]int, len(on))
	at := -1
	for k := range out {
		next := at + 1
		if at < 0 || next >= len(original) || original[next] != on[k] || k > 0 && on[k] != on[k-1] {
			next = r.beginning(original, on[k])
		}
		at = next
		out[k] = at
	}
	return out
}

// beginning returns an interval in which the original is on, or is not: the first of a stalled stretch,
// or any of a calm one. The very first interval has no rate.
func (r *nullRecording) beginning(original []bool, on bool) int {
	var from []int
	for k := 1; k < len(original); k++ {
		if original[k] == on && (!on || !original[k-1] || k == 1) {
			from = append(from, k)
		}
	}
	return from[r.rng.IntN(len(from))]
}

// drawn writes a series: for a counter with the increments of the original's intervals, otherwise with
// their values.
func (r *nullRecording) drawn(s ruletest.Series, at []int, load []float64) {
	counter, varies := true, false
	for k := 1; k < len(s.Values); k++ {
		counter = counter && s.Values[k] >= s.Values[k-1]
		varies = varies || s.Values[k] != s.Values[k-1]
	}

	values := make([]float64, len(at))
	sum := s.Values[0]
	for k, from := range at {
		switch {
		case from >= len(s.Values):
			values[k] = math.NaN()
		case counter && varies:
			sum += (s.Values[from] - s.Values[from-1]) * load[k]
			values[k] = sum
		default:
			values[k] = s.Values[from]
		}
	}

	appendSeries(r.t, r.mem, s.Labels, s.Step, values)
}

// appendSeries writes a series that begins at nullBegan.
func appendSeries(t testing.TB, mem *recording.Memory, l labels.Labels, step time.Duration, values []float64) {
	t.Helper()
	b := &recording.Batch{Columns: []recording.Column{{Labels: l}}}
	for i, v := range values {
		if !math.IsNaN(v) {
			b.TimesMs = append(b.TimesMs, nullBegan.UnixMilli()+int64(i)*step.Milliseconds())
			b.Columns[0].Values = append(b.Columns[0].Values, v)
		}
	}
	if len(b.TimesMs) == 0 {
		return
	}
	if err := mem.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// scriptNullCases has one case for each separable positive case of each rule.
func scriptNullCases(t *testing.T) (out []nullCase) {
	for _, n := range scriptNulls(t) {
		out = append(out, nullCase{"at other times: " + n.title, func(r *nullRecording, _ int) {
			r.n = n.intervals()
			n.make(r, true)
		}, func(f diagnose.Finding) bool { return f.Rule == n.rule.ID && accuses(f) }})
	}
	return out
}

// waitedFor are rules whose evidence is part of the clients' own waiting: an engine's count of the time
// or sessions waiting for something, or a trace of it. It cannot occur while no client waits, so a
// recording in which it does proves nothing.
var waitedFor = []string{
	"host/another-program",
	"mongodb/flow-control", "mongodb/held-lock", "mongodb/write-concern-wait",
	"postgres/lock-wait", "postgres/standby-wait", "postgres/client-wait", "postgres/commit-delay",
	"wiredtiger/app-eviction", "wiredtiger/forced-eviction", "wiredtiger/handle-locks", "wiredtiger/page-reads",
}

// waitedForIn are such cases of rules that also have other cases.
var waitedForIn = map[string][]string{
	"postgres/wal-buffers":       {"sessions wait for room in them", "the buffers are already large"},
	"postgres/wal-flush":         {"by fsync times, from an exporter without wait events"},
	"wiredtiger/cache-pressure":  {"the cache is full; names up to 7.0", "8.x; a fifth of the cache is dirty, updates hold an eighth"},
	"wiredtiger/pinned-snapshot": {"an open transaction, by its read timestamp", "a member is down, and the majority's commit point does not move"},
	"wiredtiger/ticket-queue":    {"8.0 counts the time queued, in microseconds", "7.0 has one queue, without a priority", "scraped every 15 s by an exporter that names 8.x as before; no sample shows the tickets gone"},
	// A failed check of the volume is a fault even if no client waits.
	"disk/volume-stalled": {"two minutes without a completed request, and commits wait"},
}

// notTried lists the rules without such a recording, and why they have none.
var notTried = map[string]string{
	"disk/always-busy":               aboutDevice,
	"disk/burst-exhausted":           aboutDevice,
	"disk/degraded":                  aboutDevice,
	"disk/first-touch":               aboutDevice,
	"disk/instance-burst-exhausted":  aboutDevice,
	"disk/instance-capped":           aboutDevice,
	"disk/layer-slow":                aboutDevice,
	"disk/machine-capped":            aboutDevice,
	"disk/volume-stalled":            byItself,
	"etcd/backend-commit-slow":       sameFigures,
	"etcd/compaction-pauses":         sameFigures,
	"etcd/corrupt":                   byItself,
	"etcd/defragmentation":           byItself,
	"etcd/elections-without-disk":    byItself,
	"etcd/misses-criterion":          sameFigures,
	"etcd/no-space":                  byItself,
	"etcd/slow-apply":                sameFigures,
	"etcd/slow-member":               sameFigures,
	"etcd/snapshot-sent":             byItself,
	"etcd/wal-fsync-slow":            sameFigures,
	"etcd/wal-fsync-tail":            sameFigures,
	"iris/write-daemon-stall":        "IRIS reports no operations of clients",
	"postgres/backend-writes":        "counts what the background did not write, and is no cause of single stalls",
	"postgres/wal-flush":             sameFigures,
	"postgres/wal-kept":              byItself,
	"wiredtiger/pinned-snapshot":     "its cases count the wait for the cache",
	"wiredtiger/write-amplification": "compares bytes written with bytes changed, over the whole recording",
}

const (
	aboutDevice = "judges a device by its own figures; the cases of devices without any cap try it"
	byItself    = "a fault even if no client waits"
	sameFigures = "the figures that show the waiting are its evidence"
)

// notCauses are the symptoms and refutations that no such recording tries, and why.
var notCauses = map[string]string{
	"clients/slowest-operation":     "compares one operation with the whole run: at twice the load it is half as much of it",
	"disk/latency-bound":            refutes,
	"disk/limits-unused":            refutes,
	"disk/not-the-cause":            refutes,
	"disk/since-boot":               sinceBegin,
	"disk/slow-reads":               theStall,
	"disk/slow-writes":              theStall,
	"evidence/gap":                  aboutSources,
	"evidence/got-worse":            "compares the clients' own latency at the same load; no condition is claimed",
	"evidence/volume-not-seen":      aboutSources,
	"host/io-pressure":              sinceBegin,
	"mongodb/saturated-server":      theStall,
	"mongodb/slow-apply":            theStall,
	"mongodb/slow-commands":         theStall,
	"mongodb/slow-reads":            theStall,
	"mongodb/slow-writes":           theStall,
	"postgres/checkpoints-not-seen": aboutSources,
	"postgres/commit-stall":         theStall,
	"queries/few-and-long":          theStall,
	"storage/good-enough":           "compares a benchmark's figures with a limit",
}

const (
	refutes      = "the cases of clients that wait for a volume try it"
	theStall     = "finds the clients' waiting itself; the case of a load that is always quick tries it"
	aboutSources = "says what the sources lack"
	sinceBegin   = "reports a host's own sums, whether or not anything stalls"
)

// Every rule is tried on its own evidence at other times, or on its own cases at twice the load and on
// a finer grid. Otherwise the reason why it is not must be listed.
func TestEachRuleHasANull(t *testing.T) {
	tried := slices.Concat(waitedFor, invariant)
	for _, n := range scriptNulls(t) {
		tried = append(tried, n.rule.ID)
	}

	var lacking []string
	for _, r := range testkit.Pack().Rules() {
		if !slices.Contains(tried, r.ID) {
			lacking = append(lacking, r.ID)
		}
	}

	known := slices.Concat(slices.Collect(maps.Keys(notTried)), slices.Collect(maps.Keys(notCauses)))
	slices.Sort(lacking)
	if slices.Sort(known); !slices.Equal(lacking, known) {
		t.Errorf("not tried are %q, want %q", lacking, known)
	}
}
