package corerules

import (
	"math"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A measuredSync holds a benchmark's figures for one write and its sync.
type measuredSync struct {
	subject   string
	mean, p99 float64 // seconds; p99 is NaN if it was not measured
	inferred  bool    // from the rate: the report has no figures for syncs
	unsynced  bool    // nothing shows that the job synced
	signal    *rules.Signal
}

// hiddenSync is the share of a write's time spent outside the write itself, above which the rest
// counts as its sync.
const hiddenSync = 0.2

// measuredSyncs are those of all benchmarks in the sources.
func measuredSyncs(input *rules.Case) []measuredSync {
	var out []measuredSync
	for _, t := range input.Signal(rules.FioIodepth) {
		job := t.Labels.Get("job")
		runs := fioRuns(&input.Signals, job)
		if len(runs) == 0 {
			continue
		}

		x := runs[len(runs)-1]
		m := measuredSync{subject: "fio job " + job, mean: x.sync, p99: math.NaN(),
			signal: rules.FioSyncLatency}

		// The label may have trailing zeros, but 0.999 is another quantile.
		for _, q := range input.Signal(rules.FioSyncQuantile) {
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
			m.mean, m.inferred, m.signal = each-x.write, true, rules.FioWrite
		default:
			m.mean, m.unsynced, m.signal = x.write, true, rules.FioWriteLatency
		}

		if m.mean >= 0 && !math.IsInf(m.mean, 0) {
			out = append(out, m)
		}
	}

	// Of several methods, prefer the one that engines use on Linux.
	var best *measuredSync
	for _, t := range input.Signal(rules.BenchSync) {
		m := measuredSync{subject: t.Labels.Get("benchmark") + ", " + t.Labels.Get("method"),
			mean: timeline.Max(t.Values), p99: math.NaN(), signal: rules.BenchSync}
		if best == nil || t.Labels.Get("method") == "fdatasync" {
			best = &m
		}
	}

	if best != nil && best.mean > 0 {
		out = append(out, *best)
	}

	return out
}

func goodEnough() rules.Rule {
	r := rules.Rule{
		ID:      "storage/good-enough",
		Title:   "Is this storage good enough?",
		Kind:    rules.Symptom,
		Whole:   true,
		Needs:   []*rules.Signal{},
		AnyOf:   []*rules.Signal{rules.FioIodepth, rules.BenchSync, rules.BenchWrites},
		NoAlert: "it judges benchmarks",
		Cause:   "A database that promises durability waits for a sync of its log for each write, or for a group of them. So the latency of one small write with its sync is what matters, not the IOPS at a deep queue.",
		Words: rules.Words{
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
		Advice: map[string]rules.Advice{"measure": {Summary: "Measure one small write with its sync where the log will be: `plimsoll probe DIR`, or fio --rw=write --bs=2300 --ioengine=sync --fdatasync=1 --size=22m --output-format=json",
			Expect:    "a p99 that the criterion can be compared with",
			TradeOff:  "22 MB are written",
			NoCommand: "you have to choose the folder"}},
	}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, m := range measuredSyncs(c) {
			out = append(out, answers(r, c, m)...)
		}
		return append(out, benchmarks(r, c)...)
	}

	return r
}

// answers compares one benchmark of syncs with each engine's requirements, engines with a criterion
// first.
func answers(r rules.Rule, c *rules.Case, m measuredSync) []rules.Finding {
	var first, then []rules.Finding
	for _, e := range c.Pack.Engines() {
		v := rules.Values{
			"product": rules.Called(e.Short()),
			"subject": rules.Called(m.subject),
			"mean":    rules.Seconds(m.mean),
		}
		for _, k := range e.Criteria {
			if !k.Sync {
				continue
			}
			v["q"], v["limit"], v["source"], v["value"] = rules.Percentile(k.Quantile), rules.Seconds(k.LimitS), rules.Called(k.Source),
				rules.Seconds(m.p99)
			first = append(first, answerForEngine(r, c, m, e.Short(), answerOfBenchmark(k, m), v))
		}

		if s := e.Synced; s != nil && !m.unsynced && m.mean > 0 {
			v["does"], v["source"] = rules.Value(strings.Replace(s.Does, "%s", string(rules.Number(1/m.mean)), 1)),
				rules.Called(s.Source)
			then = append(then, answerForEngine(r, c, m, e.Short(), "clients", v))
		}
	}

	return append(first, then...)
}

// answerForEngine is the finding for one engine.
func answerForEngine(
	r rules.Rule,
	c *rules.Case,
	m measuredSync,
	product, words string,
	v rules.Values,
) rules.Finding {
	f := r.Finding(product + " on " + m.subject)
	f.Severity, f.Weight = rules.Info, 0.5
	if words != "clients" {
		f.Weight = 1 // engines with a criterion come first
	}

	if strings.HasPrefix(words, "no") || words == "slow" {
		f.Severity = rules.Warning
	}

	f.Say(words, v)
	f.Open(words, v)
	if m.inferred {
		f.Say("inferred", v)
	}

	f.Evidence = []rules.Evidence{c.Figure("mean", m.signal, m.mean, "seconds", nil)}
	if math.IsNaN(m.p99) {
		f.Advise("measure", nil)
	} else {
		f.Evidence = append(f.Evidence, c.Figure("p99", rules.FioSyncQuantile, m.p99, "seconds", nil))
	}

	return f
}

// answerOfBenchmark returns the name of the words for a benchmark. A mean decides only as much as it proves:
// above the limit the answer is no, far below it probably.
func answerOfBenchmark(k rules.Criterion, m measuredSync) string {
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
func benchmarks(rule rules.Rule, input *rules.Case) []rules.Finding {
	var out []rules.Finding
	for _, track := range input.Signal(rules.BenchWrites) {
		name, engine := track.Labels.Get("benchmark"), track.Labels.Get("engine")
		of := func(s *rules.Signal) float64 { return timeline.Max(input.For(s, "engine", engine)) }
		passed := of(rules.BenchPassed)
		if math.IsNaN(passed) || !(of(rules.BenchAsked) > 0) || !(of(rules.BenchClients) > 0) ||
			math.IsNaN(of(rules.BenchSlowest)) {
			continue // the report was truncated
		}

		product := engine
		for _, e := range input.Pack.Engines() {
			if e.Database == engine {
				product = e.Short()
			}
		}

		v := rules.Values{
			"product":   rules.Called(product),
			"benchmark": rules.Called(name),
			"clients":   rules.Number(of(rules.BenchClients)),
			"asked":     rules.Number(of(rules.BenchAsked)),
			"rate":      rules.Number(timeline.Max(track.Values)),
			"slowest":   rules.Seconds(of(rules.BenchSlowest)),
		}
		f := rule.Finding(name)
		words := "passed"

		if f.Severity = rules.Info; passed == 0 {
			words, f.Severity = "failed", rules.Warning
			f.Advise("measure", nil)
		}

		f.Say(words, v)
		f.Open(words, v)
		f.Evidence = []rules.Evidence{input.Figure("writes per second", rules.BenchWrites, timeline.Max(track.Values), "1/s", nil),
			input.Figure("writes requested per second", rules.BenchAsked, of(rules.BenchAsked), "1/s", nil),
			input.Figure("slowest write", rules.BenchSlowest, of(rules.BenchSlowest), "seconds", nil)}
		out = append(out, f)
	}

	return out
}
