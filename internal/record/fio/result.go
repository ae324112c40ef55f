package fio

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// result is one report (fio: stat.c, show_thread_status_json). Times are in milliseconds and
// latencies in nanoseconds, as the keys say.
type result struct {
	Version     string         `json:"fio version"`
	Timestamp   int64          `json:"timestamp"`
	TimestampMs int64          `json:"timestamp_ms"`
	Global      map[string]any `json:"global options"`
	Jobs        []job          `json:"jobs"`
}

// yearsMs bounds plausible dates: the year 2200.
const yearsMs = 7_258_118_400_000

func (r *result) endMs() int64 {
	ms := r.TimestampMs
	if ms == 0 && r.Timestamp < yearsMs/1000 {
		ms = r.Timestamp * 1000
	}
	// A damaged report must not create samples outside of the range of a recording.
	if ms < 0 || ms > yearsMs {
		return 0
	}
	return ms
}

type job struct {
	Name    string         `json:"jobname"`
	Error   int            `json:"error"`
	Options map[string]any `json:"job options"`
	Read    direction      `json:"read"`
	Write   direction      `json:"write"`
	Trim    direction      `json:"trim"`
	Sync    syncs          `json:"sync"`
	Runtime int64          `json:"job_runtime"` // ms
	Start   int64          `json:"job_start"`   // ms since the epoch; fio 3.36 and later
}

type direction struct {
	Bytes   float64 `json:"io_bytes"`
	IOs     float64 `json:"total_ios"`
	IOPS    float64 `json:"iops"`
	Runtime int64   `json:"runtime"` // ms
	Clat    latency `json:"clat_ns"`
	Lat     latency `json:"lat_ns"`
}

type syncs struct {
	Lat latency `json:"lat_ns"`
}

type latency struct {
	Max        float64            `json:"max"`
	Mean       float64            `json:"mean"`
	N          float64            `json:"N"`
	Percentile map[string]float64 `json:"percentile"`
}

const (
	readDir = iota
	writeDir
	trimDir
	directions
)

var directionNames = [directions]string{"read", "write", "trim"}

func (j *job) direction(d int) *direction {
	return [directions]*direction{&j.Read, &j.Write, &j.Trim}[d]
}

// runtimeMs returns how long the job has run so far.
func (j *job) runtimeMs() int64 {
	ms := max(j.Runtime, j.Read.Runtime, j.Write.Runtime, j.Trim.Runtime, 0)
	return min(ms, yearsMs)
}

func (j *job) startMs(end int64) int64 {
	if j.Start > 0 && j.Start < end {
		return j.Start
	}
	return max(end-j.runtimeMs(), 0)
}

// settings returns the options of a job, with the global ones as defaults.
func (j *job) settings(global map[string]any) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]any{global, j.Options} {
		for k, v := range m {
			if s := fmt.Sprint(v); len(s) <= 256 {
				out[k] = s
			}
		}
	}
	return out
}

// merge adds another process of the same job to j. The quantiles of the whole cannot be derived
// from those of its parts; the larger one is an upper bound.
func (j *job) merge(o *job) {
	for d := range directions {
		a, b := j.direction(d), o.direction(d)
		a.Bytes += b.Bytes
		a.IOs += b.IOs
		a.IOPS += b.IOPS
		a.Runtime = max(a.Runtime, b.Runtime)
		a.Clat.merge(&b.Clat)
		a.Lat.merge(&b.Lat)
	}

	j.Sync.Lat.merge(&o.Sync.Lat)
	j.Runtime = max(j.runtimeMs(), o.runtimeMs())
	if o.Start > 0 && (j.Start == 0 || o.Start < j.Start) {
		j.Start = o.Start
	}

	j.Error = cmp.Or(j.Error, o.Error)
}

func (l *latency) merge(o *latency) {
	if n := l.N + o.N; n > 0 {
		l.Mean = (l.Mean*l.N + o.Mean*o.N) / n
		l.N = n
	}
	l.Max = max(l.Max, o.Max)
	if l.Percentile == nil {
		l.Percentile = map[string]float64{}
	}
	for q, v := range o.Percentile {
		l.Percentile[q] = max(l.Percentile[q], v)
	}
}

func (e *emitter) add(r *result) error {
	e.reports++
	e.version = r.Version
	end := r.endMs()
	jobs, count, order := group(r.Jobs)

	if e.procs == nil {
		e.number(r)
	}

	v := values{}
	for _, name := range order {
		j := jobs[name]
		if count[name] > 1 {
			e.limit(
				fmt.Sprintf("job %s has several processes: its quantiles are the largest of theirs (an upper bound); run fio with --group_reporting for the job's own quantiles",
					name))
		}
		if j.Error != 0 {
			e.limit(fmt.Sprintf("job %s ended with error %d: its figures cover the time before the error",
				name, j.Error))
		}
		e.job(v, j, count[name], j.settings(r.Global), end)
	}

	return e.flush(v)
}

// group merges the processes of each job.
func group(jobs []job) (byName map[string]*job, count map[string]int, order []string) {
	byName, count = map[string]*job{}, map[string]int{}
	for i := range jobs {
		j := jobs[i]
		if have := byName[j.Name]; have != nil {
			have.merge(&j)
		} else {
			byName[j.Name] = &j
			order = append(order, j.Name)
		}
		count[j.Name]++
	}
	return byName, count, order
}

// number lists the processes in the order in which fio numbers their logs: consecutively over all
// jobs, including those that group_reporting merged.
func (e *emitter) number(r *result) {
	for i := range r.Jobs {
		j := &r.Jobs[i]
		n := 1
		// With group_reporting, one entry stands for all processes of the job.
		if len(r.Jobs) == 1 {
			n = numjobs(j.settings(r.Global))
		}
		for range n {
			e.procs = append(e.procs, process{job: j.Name, startMs: j.startMs(r.endMs())})
		}
	}
}

func numjobs(options map[string]string) int {
	n, err := strconv.Atoi(options["numjobs"])
	if err != nil || n < 1 || n > jobsMax {
		return 1
	}
	return n
}

// infoLabels are the options that become labels of fio_job_info.
var infoLabels = []string{"rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "fdatasync", "fsync",
	"rate_iops", "size"}

// job adds the figures of a job from a report to v.
func (e *emitter) job(v values, j *job, processes int, options map[string]string, end int64) {
	h := e.jobs[j.Name]
	start := j.startMs(end)
	if h == nil || start >= h.lastMs { // the first report, or one of another run of the same name
		old := h
		h = &history{startMs: start, lastMs: start, options: options}

		// A run that starts exactly when the last one ended begins a millisecond later: a series
		// has one value per time.
		if old != nil && start == old.lastMs {
			h.startMs, h.lastMs = start+1, start+1
		}

		e.jobs[j.Name] = h

		if h.startMs < end {
			e.figures(v, j, h, h.startMs, true)
			e.constants(v, j, processes, options, h.startMs)
		}
	}

	if end <= h.lastMs && end != h.startMs {
		return // a duplicate of the last report
	}

	e.figures(v, j, h, end, false)
	e.constants(v, j, processes, options, end)
	h.lastMs = end

	for d := range directions {
		h.ios[d], h.runtime[d] = j.direction(d).IOs, j.direction(d).Runtime
	}
}

func (e *emitter) constants(v values, j *job, processes int, options map[string]string, ms int64) {
	pairs := []string{"job", j.Name}
	for _, k := range infoLabels {
		if o := options[k]; o != "" {
			pairs = append(pairs, k, o)
		}
	}
	v.add(ms, 1, "fio_job_info", pairs...)
	depth := 1.0 // fio's default
	if d, err := strconv.Atoi(options["iodepth"]); err == nil && d > 0 {
		depth = float64(d)
	}
	v.add(ms, depth*float64(max(processes, numjobs(options))), "fio_job_iodepth", "job", j.Name)
}

// figures adds the figures of a report at the time ms. At the start of a run the counters are zero;
// everything else comes from its first report.
func (e *emitter) figures(v values, j *job, h *history, ms int64, start bool) {
	for d, name := range directionNames {
		dir := j.direction(d)
		if dir.IOs <= 0 {
			continue // the job has no such requests
		}

		ios, bytes := dir.IOs, dir.Bytes
		if start {
			ios, bytes = 0, 0
		}

		prefix := "fio_" + name
		v.add(ms, ios, prefix+"_ios_total", "job", j.Name)
		v.add(ms, bytes, prefix+"_bytes_total", "job", j.Name)
		v.add(ms, e.iops(dir, d, h), prefix+"_iops", "job", j.Name)

		// Percentiles of total latency are reported only with lat_percentiles; the default is
		// completion.
		q := dir.Lat
		if len(q.Percentile) == 0 {
			q = dir.Clat
		}

		total := dir.Lat
		if total.N == 0 {
			total = dir.Clat // disable_lat was set
		}

		e.latencies(v, ms, prefix, j.Name, total, q.Percentile)
	}
	if s := j.Sync.Lat; s.N > 0 {
		n := s.N
		if start {
			n = 0
		}
		v.add(ms, n, "fio_sync_ios_total", "job", j.Name)
		e.latencies(v, ms, "fio_sync", j.Name, s, s.Percentile)
	}
}

// iops returns the rate since the previous report, or fio's own figure for the first report of a
// run. The interval comes from the runtimes of the job, not from the times of the reports: fio
// prints the last report some time after the last request.
func (e *emitter) iops(dir *direction, d int, h *history) float64 {
	if dt := dir.Runtime - h.runtime[d]; h.ios[d] > 0 && dt > 0 && dir.IOs >= h.ios[d] {
		return (dir.IOs - h.ios[d]) / (float64(dt) / 1000)
	}
	return dir.IOPS
}

func (e *emitter) latencies(v values, ms int64, prefix, job string, l latency,
	percentiles map[string]float64) {
	if l.N <= 0 {
		return
	}

	v.add(ms, seconds(l.Mean), prefix+"_latency_mean_seconds", "job", job)
	v.add(ms, seconds(l.Max), prefix+"_latency_max_seconds", "job", job)

	seen := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(percentiles)) {
		p, err := strconv.ParseFloat(k, 64)
		if err != nil || !(p >= 0 && p <= 100) {
			continue
		}
		// 99.9/100 is 0.9990000000000001, so the result is rounded to eight decimals.
		q := strconv.FormatFloat(math.Round(p*1e6)/1e8, 'f', -1, 64)
		if !seen[q] {
			seen[q] = true
			v.add(ms, seconds(percentiles[k]), prefix+"_latency_seconds", "job", job, "quantile", q)
		}
	}
}

// seconds converts nanoseconds to seconds.
func seconds(ns float64) float64 { return ns / 1e9 }
