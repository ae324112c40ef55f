package rules

import (
	"math"
	"strings"

	"plimsoll/internal/record/timeline"
)

// Synced describes what one client of an engine gets from a disk, given the duration of one sync, for
// engines whose vendor states no criterion.
type Synced struct {
	// Does describes what can happen at most once per sync: "commits at most %s times per second".
	Does   string
	Source string
}

// Signals of benchmark reports (package record/benchmark), and of fio's syncs.
var (
	FioSyncQuantile = core.Add(Signal{Name: SignalPrefix + "fio_sync_latency:seconds", Unit: "seconds",
		Help: "quantiles of a fio job's syncs", By: []string{"job", "quantile"},
		Exprs: []string{`fio_sync_latency_seconds`}})
	BenchSync = core.Add(Signal{Name: SignalPrefix + "bench_sync_latency:mean", Unit: "seconds",
		Help: "mean duration of one small write and its sync, by method", By: []string{"benchmark", "method"},
		Exprs: []string{`bench_sync_latency_mean_seconds`}})
	BenchWrites = core.Add(Signal{Name: SignalPrefix + "bench_writes:rate", Unit: "1/s",
		Help: "writes per second in a benchmark of a whole server", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_writes_per_second`}})
	BenchAsked = core.Add(Signal{Name: SignalPrefix + "bench_writes_asked:rate", Unit: "1/s",
		Help: "writes per second that a benchmark requested", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_writes_asked_per_second`}})
	BenchClients = core.Add(Signal{Name: SignalPrefix + "bench_clients:count", Unit: "",
		Help: "clients of a benchmark", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_clients`}})
	BenchSlowest = core.Add(Signal{Name: SignalPrefix + "bench_write_slowest:seconds", Unit: "seconds",
		Help: "the slowest write of a benchmark", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_write_slowest_seconds`}})
	BenchPassed = core.Add(Signal{Name: SignalPrefix + "bench_passed:bool", Unit: "",
		Help: "1 if a benchmark passed its own criteria", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_passed`}})
)

// A measuredSync holds a benchmark's figures for one write and its sync.
type measuredSync struct {
	subject   string
	mean, p99 float64 // seconds; p99 is NaN if it was not measured
	max       float64
	inferred  bool // from the rate: the report has no figures for syncs
	unsynced  bool // nothing shows that the job synced
	signal    *Signal
}

// hiddenSync is the share of a write's time spent outside the write itself, above which the rest
// counts as its sync.
const hiddenSync = 0.2

// measuredSyncs are those of all benchmarks in the sources.
func (c *Case) measuredSyncs() []measuredSync {
	var out []measuredSync
	for _, t := range c.Signal(FioIodepth) {
		job := t.Labels.Get("job")
		runs := c.fioRuns(job)
		if len(runs) == 0 {
			continue
		}

		x := runs[len(runs)-1]
		m := measuredSync{subject: "fio job " + job, mean: x.sync, p99: math.NaN(), max: math.NaN(),
			signal: FioSyncLatency}

		// The label may have trailing zeros, but 0.999 is another quantile.
		for _, q := range c.Signal(FioSyncQuantile) {
			if q.Labels.Get("job") == job && strings.HasPrefix(q.Labels.Get("quantile"), "0.99") &&
				len(strings.TrimRight(q.Labels.Get("quantile"), "0")) == len("0.99") {
				m.p99 = timeline.Max(q.Values)
			}
		}

		// By Little's law, this is how long one write occupies a slot of the queue, with its sync.
		each := x.depth / x.rate
		switch {
		case !math.IsNaN(x.sync):
		case x.depth == 1 && each-x.write > hiddenSync*each:
			m.mean, m.inferred, m.signal = each-x.write, true, FioWrite
		default:
			m.mean, m.unsynced, m.signal = x.write, true, FioWriteLatency
		}

		if m.mean >= 0 && !math.IsInf(m.mean, 0) {
			out = append(out, m)
		}
	}

	// Of several methods, prefer the one that engines use on Linux.
	var best *measuredSync
	for _, t := range c.Signal(BenchSync) {
		m := measuredSync{subject: t.Labels.Get("benchmark") + ", " + t.Labels.Get("method"),
			mean: timeline.Max(t.Values), p99: math.NaN(), max: math.NaN(), signal: BenchSync}
		if best == nil || t.Labels.Get("method") == "fdatasync" {
			best = &m
		}
	}

	if best != nil && best.mean > 0 {
		out = append(out, *best)
	}

	return out
}

func goodEnough() Rule {
	r := Rule{ID: "storage/good-enough", Title: "Is this storage good enough?", Kind: Symptom, Whole: true,
		Needs: []*Signal{}, AnyOf: []*Signal{FioIodepth, BenchSync, BenchWrites},
		NoAlert: "it judges benchmarks",
		Cause:   "A database that promises durability waits for a sync of its log for each write, or for a group of them. So the latency of one small write with its sync is what matters, not the IOPS at a deep queue.",
		Words: Words{
			"yes":      "Good enough for {{.product}}: yes. {{.q}} of {{.subject}}'s syncs is {{.value}}, against {{.limit}} ({{.source}}).",
			"no":       "Good enough for {{.product}}: no. {{.q}} of {{.subject}}'s syncs is {{.value}}, against {{.limit}} ({{.source}}).",
			"no, mean": "Good enough for {{.product}}: no. Even the mean of {{.subject}}'s syncs is {{.mean}}, and the criterion is {{.q}} under {{.limit}} ({{.source}}).",
			"probably": "Good enough for {{.product}}: probably. The mean of {{.subject}}'s syncs is {{.mean}}, but the criterion is {{.q}} under {{.limit}} ({{.source}}), and this report has no {{.q}}: `plimsoll probe` measures it, or fio with --fdatasync=1 --output-format=json.",
			"unlikely": "Good enough for {{.product}}: unlikely. The mean of {{.subject}}'s syncs is {{.mean}}, close to the criterion of {{.q}} under {{.limit}} ({{.source}}), and this report has no {{.q}}.",
			"inferred": "The report has no figures for syncs: {{.mean}} is the time that passes between two writes.",
			"unsynced": "Good enough for {{.product}}: unknown from this report. {{.subject}}'s writes take {{.mean}} on average, and nothing in it shows a sync after each write: run fio with --rw=write --bs=2300 --ioengine=sync --fdatasync=1 --output-format=json.",
			"device":   "Good enough for {{.product}}: probably, if {{.subject}} synced each write (fdatasync=1 or sync=1), which this report does not show. A write takes {{.mean}} on average, so it reached the device; the criterion is {{.q}} under {{.limit}} ({{.source}}), and the report has no {{.q}} for syncs.",
			"slow":     "Good enough for {{.product}}: no. {{.subject}}'s writes alone take {{.mean}} on average, and the criterion is {{.q}} under {{.limit}} with a sync ({{.source}}).",
			"clients":  "{{.product}} states no criterion: one client {{.does}} ({{.source}}); concurrent clients share a sync.",
			"passed":   "Good enough for {{.product}}: yes, for {{.clients}} clients with {{.asked}} writes per second: {{.benchmark}} passed, and the slowest write took {{.slowest}}. It measures the whole cluster, not only the disk.",
			"failed":   "Good enough for {{.product}}: no, not for {{.clients}} clients with {{.asked}} writes per second: {{.benchmark}} reached {{.rate}} writes per second, and the slowest took {{.slowest}}. It measures the whole cluster, so the network and the CPUs count too; fdatasync's p99 shows the disk's part.",
		},
		Advice: map[string]Advice{"measure": {Summary: "Measure one small write with its sync where the log will be: `plimsoll probe DIR`, or fio --rw=write --bs=2300 --ioengine=sync --fdatasync=1 --size=22m --output-format=json",
			Expect:    "a p99 that the criterion can be compared with",
			TradeOff:  "22 MB are written",
			NoCommand: "you have to choose the folder"}},
	}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		for _, m := range c.measuredSyncs() {
			out = append(out, r.answers(c, m)...)
		}
		return append(out, r.benchmarks(c)...)
	}

	return r
}

// answers compares one benchmark of syncs with each engine's requirements, engines with a criterion
// first.
func (r Rule) answers(c *Case, m measuredSync) []Finding {
	var first, then []Finding
	for _, e := range c.Pack.Engines() {
		v := Values{"product": Called(e.Short()), "subject": Called(m.subject), "mean": Seconds(m.mean)}
		for _, k := range e.Criteria {
			if !k.Sync {
				continue
			}
			v["q"], v["limit"], v["source"], v["value"] = percentile(k.Quantile), Seconds(k.LimitS), Called(k.Source),
				Seconds(m.p99)
			first = append(first, r.answer(c, m, e.Short(), k.answer(m), v))
		}

		if s := e.Synced; s != nil && !m.unsynced && m.mean > 0 {
			v["does"], v["source"] = Value(strings.Replace(s.Does, "%s", string(Number(1/m.mean)), 1)),
				Called(s.Source)
			then = append(then, r.answer(c, m, e.Short(), "clients", v))
		}
	}

	return append(first, then...)
}

// answer is the finding for one engine.
func (r Rule) answer(c *Case, m measuredSync, product, words string, v Values) Finding {
	f := r.Finding(product + " on " + m.subject)
	f.Severity, f.Weight = Info, 0.5
	if words != "clients" {
		f.Weight = 1 // engines with a criterion come first
	}

	if strings.HasPrefix(words, "no") || words == "slow" {
		f.Severity = Warning
	}

	f.Say(words, v)
	f.Open(words, v)
	if m.inferred {
		f.Say("inferred", v)
	}

	whole := make(timeline.Mask, c.Grid.N).Not()
	f.Evidence = []Evidence{c.Figure("mean", m.signal, m.mean, "seconds", whole)}
	if math.IsNaN(m.p99) {
		f.Advise("measure", nil)
	} else {
		f.Evidence = append(f.Evidence, c.Figure("p99", FioSyncQuantile, m.p99, "seconds", whole))
	}

	return f
}

// answer returns the name of the words for a benchmark. A mean decides only as much as it proves:
// above the limit the answer is no, far below it probably.
func (k Criterion) answer(m measuredSync) string {
	const (
		farBelow = 4
		cached   = 0.0002 // a write into the page cache takes microseconds
	)

	switch {
	case m.unsynced && m.mean > k.LimitS:
		return "slow"
	case m.unsynced && m.mean >= cached && m.mean <= k.LimitS/farBelow:
		return "device"
	case m.unsynced:
		return "unsynced"
	case m.p99 <= k.LimitS:
		return "yes"
	case m.p99 > k.LimitS:
		return "no"
	case m.mean > k.LimitS:
		return "no, mean"
	case m.mean <= k.LimitS/farBelow:
		return "probably"
	}

	return "unlikely"
}

// benchmarks are the answers from benchmarks of a whole server, which have their own criteria.
func (r Rule) benchmarks(c *Case) []Finding {
	var out []Finding
	for _, t := range c.Signal(BenchWrites) {
		name, engine := t.Labels.Get("benchmark"), t.Labels.Get("engine")
		of := func(s *Signal) float64 { return timeline.Max(c.For(s, "engine", engine)) }
		passed := of(BenchPassed)
		if math.IsNaN(passed) || !(of(BenchAsked) > 0) || !(of(BenchClients) > 0) || math.IsNaN(of(BenchSlowest)) {
			continue // the report was truncated
		}

		product := engine
		for _, e := range c.Pack.Engines() {
			if e.Database == engine {
				product = e.Short()
			}
		}

		v := Values{"product": Called(product), "benchmark": Called(name), "clients": Number(of(BenchClients)),
			"asked": Number(of(BenchAsked)),
			"rate":  Number(timeline.Max(t.Values)), "slowest": Seconds(of(BenchSlowest))}
		f := r.Finding(name)
		words := "passed"

		if f.Severity = Info; passed == 0 {
			words, f.Severity = "failed", Warning
			f.Advise("measure", nil)
		}

		f.Say(words, v)
		f.Open(words, v)
		whole := make(timeline.Mask, c.Grid.N).Not()
		f.Evidence = []Evidence{c.Figure("writes per second", BenchWrites, timeline.Max(t.Values), "1/s", whole),
			c.Figure("writes requested per second", BenchAsked, of(BenchAsked), "1/s", whole),
			c.Figure("slowest write", BenchSlowest, of(BenchSlowest), "seconds", whole)}
		out = append(out, f)
	}

	return out
}
