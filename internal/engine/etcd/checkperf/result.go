//go:build linux

package checkperf

import (
	"fmt"
	"time"

	etcd "plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab/loadgen"
)

// ResultVersion is the version of Result's JSON. Additions keep it, incompatible changes raise it.
const ResultVersion = 1

// A Result is the result of a check. Its JSON is a contract: fields are added, never changed.
type Result struct {
	Version int     `json:"version"`
	Server  string  `json:"server"` // product and version
	Load    string  `json:"load"`   // s, m, l or xl
	Rate    float64 `json:"rate_asked_per_second"`
	Clients int     `json:"clients"`
	Seconds float64 `json:"seconds"`
	// Puts were answered. Unanswered ones had no answer within a second after the last was due. Failed
	// ones ended with an error.
	Puts       int64            `json:"puts"`
	Unanswered int64            `json:"unanswered"`
	Failed     int64            `json:"failed"`
	Errors     map[string]int64 `json:"errors"`
	// Latencies of puts, counted from when they were due.
	P50 float64 `json:"p50_seconds"`
	P99 float64 `json:"p99_seconds"`
	Max float64 `json:"max_seconds"`
	// Etcdctl holds etcdctl's criteria, P99s those of etcd's documents.
	Etcdctl []Criterion `json:"etcdctl"`
	P99s    []Criterion `json:"p99"`
	// Passed is true if no criterion failed.
	Passed bool `json:"passed"`
	// Behind is true if this program could not send puts in time, which caused part of the latencies.
	Behind  bool     `json:"driver_behind"`
	LateP99 float64  `json:"driver_late_p99_seconds"`
	Remarks []string `json:"remarks"`
}

// A Criterion is a bound and a measured value.
type Criterion struct {
	Name string `json:"name"` // "throughput", "wal_fsync_p99"
	// Value is the measured value, null if unknown; Bound is the minimum or maximum that passes.
	Value *float64 `json:"value"`
	Bound float64  `json:"bound"`
	Unit  string   `json:"unit"` // seconds, 1/s, or "" of a count
	// AtLeast is true if Bound is the minimum.
	AtLeast bool `json:"at_least"`
	// Passed is null if there is no value.
	Passed *bool `json:"passed"`
}

func most(name string, value float64, bound time.Duration) Criterion {
	return criterion(name, value, bound.Seconds(), "seconds", value <= bound.Seconds(), false)
}

func criterion(name string, value, bound float64, unit string, passed, least bool) Criterion {
	return Criterion{Name: name, Value: &value, Bound: bound, Unit: unit, AtLeast: least, Passed: &passed}
}

func judge(server string, opt *Options, asked *loadgen.Result, before, after *etcd.Histograms,
	missing error) *Result {
	figures := figuresOf(asked.Operations, opt.Duration)
	rate := float64(opt.Load.Rate)
	result := &Result{
		Version: ResultVersion, Server: server, Load: opt.Load.Name, Rate: rate, Clients: opt.Load.Clients,
		Seconds: opt.Duration.Seconds(),
		Puts:    int64(len(asked.Operations)), Failed: asked.Failed, Errors: asked.Errors, Remarks: []string{},
		P50: float64(figures.dist.Percentile(50)) / 1e9, P99: float64(figures.dist.Percentile(99)) / 1e9,
		Max:    float64(figures.slowest) / 1e9,
		Behind: asked.Behind, LateP99: float64(asked.LateP99) / 1e9,
	}
	if result.Errors == nil {
		result.Errors = map[string]int64{}
	}

	if result.Unanswered = max(asked.Asked-result.Puts-result.Failed, 0); result.Unanswered > 0 {
		result.Max = max(result.Max, grace.Seconds()) // they took longer than that
		result.Remarks = append(result.Remarks,
			fmt.Sprintf("%d puts had no response a second after the last was due: they count as slower than that",
				result.Unanswered))
	}

	done := float64(figures.inside) / opt.Duration.Seconds()
	result.Etcdctl = []Criterion{
		criterion("errors", float64(result.Failed), 0, "", result.Failed == 0, false),
		criterion("throughput", done, throughputLeast*rate, "1/s", done > throughputLeast*rate, true),
		most("slowest", result.Max, slowestMost),
		most("stddev", figures.stddev, deviationMost),
	}

	for _, h := range []struct {
		name, metric string
		bound        time.Duration
	}{{"wal_fsync_p99", fsyncMetric, fsyncMost}, {"backend_commit_p99", commitMetric, commitMost}} {
		c := Criterion{Name: h.name, Bound: h.bound.Seconds(), Unit: "seconds"}
		if d, ok := after.Percentile(before, h.metric, 99); ok && missing == nil {
			c = most(h.name, d.Std().Seconds(), h.bound)
		}
		result.P99s = append(result.P99s, c)
	}

	result.P99s = append(result.P99s, most("put_p99", result.P99, putMost))
	if missing != nil {
		result.Remarks = append(result.Remarks, "the log's fsync and the backend's commit could not be judged: "+
			missing.Error())
	}

	if result.Behind {
		result.Remarks = append(
			result.Remarks, "puts began late: this machine's cores were busy, which is a part of these latencies; run it from another one")
	}

	result.Passed = passed(result.Etcdctl) && passed(result.P99s)
	return result
}

// passed reports whether no criterion failed; one without a value does not fail.
func passed(all []Criterion) bool {
	for _, c := range all {
		if c.Passed != nil && !*c.Passed {
			return false
		}
	}
	return true
}

// PassedEtcdctl reports whether etcdctl's criteria are met.
func (r *Result) PassedEtcdctl() bool { return passed(r.Etcdctl) }

// PassedP99 reports whether no p99 criterion failed.
func (r *Result) PassedP99() bool { return passed(r.P99s) }
