//go:build linux

// Package checkperf runs etcdctl's check perf as an open loop, against an existing cluster.
//
// `etcdctl check perf` puts keys of 256 B with values of 1,024 B for a minute, at one of four
// rates, from as many clients, and passes a cluster by its throughput, its slowest request and
// their standard deviation. Its clients take requests from a channel with one slot per client:
// while the cluster stalls no client sends, and a latency counts from when a client took the
// request, not from when it was due (coordinated omission). Here the same rates form an open loop:
// each put is due at a fixed instant.
//
// The same three criteria are then judged by what users would have experienced. In addition it
// judges what etcd's own documents require of a disk: the 99th percentile of the log's fsync and of
// the backend's commit, from the members' histograms.
//
// Differences from etcdctl: keys count up instead of being random, and values are not zeros, which
// a volume could compress.
package checkperf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	etcd "plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab/loadgen"
	"plimsoll/internal/model/workload"
)

// A Load is one of etcdctl's loads (etcdctl/ctlv3/command/check.go, checkPerfCfgMap, the same from
// 3.2 to 3.7).
type Load struct {
	Name    string
	Rate    units.Frequency
	Clients int
}

// Loads are etcdctl's four loads, from small to extra large.
func Loads() []Load {
	return []Load{{"s", 150, 50}, {"m", 1000, 200}, {"l", 8000, 500}, {"xl", 15000, 1000}}
}

// Find returns a load by its short name or etcdctl's long one.
func Find(name string) (Load, error) {
	long := map[string]string{"small": "s", "medium": "m", "large": "l", "xLarge": "xl"}
	if short := long[name]; short != "" {
		name = short
	}
	all := Loads()
	if i := slices.IndexFunc(all, func(l Load) bool { return l.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Load{}, fmt.Errorf("%q is not a load: want s, m, l or xl", name)
}

// Sizes of keys and values, and the duration of the load (same file).
const (
	KeyBytes   = 256
	ValueSize  = units.Size(1024)
	DurationOf = time.Minute
)

// etcdctl's criteria (same file, newCheckPerfCommand).
const (
	throughputLeast = 0.9 // of the rate
	slowestMost     = 500 * time.Millisecond
	deviationMost   = 100 * time.Millisecond
)

// What etcd requires of its disk and of itself, at the 99th percentile: etcd's FAQ, "What does the etcd
// warning 'failed to send out heartbeat on time' mean" and its metrics document (wal_fsync under 10
// ms, backend_commit under 25 ms); and the threshold above which it logs that applying a request took too
// long (--warning-apply-duration).
const (
	fsyncMost  = 10 * time.Millisecond
	commitMost = 25 * time.Millisecond
	putMost    = 100 * time.Millisecond
)

const (
	fsyncMetric  = "etcd_disk_wal_fsync_duration_seconds"
	commitMetric = "etcd_disk_backend_commit_duration_seconds"
)

// grace is how long to wait for answers after the last put is due: longer than the slowest may
// take.
const grace = 2 * slowestMost

// Options configure a check.
type Options struct {
	Load     Load
	Duration time.Duration // etcdctl's is DurationOf
	Seed     random.Seed
	// Progress, if not nil, is called about once a second.
	Progress func(done, all time.Duration, rate units.Frequency, p99 units.Duration)
}

// Puts returns the total number of puts.
func (o *Options) Puts() int64 { return int64(float64(o.Load.Rate) * o.Duration.Seconds()) }

// Run checks the cluster that existing has inspected. It always removes its keys, even after an error.
func Run(ctx context.Context, existing *etcd.Existing, opt Options) (r *Result, err error) {
	load, err := opt.workload()
	if err != nil {
		return nil, err
	}

	defer func() {
		// Keys are also removed after Ctrl-C, when ctx has ended.
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if e := existing.Stop(ending); e != nil {
			r, err = nil, errors.Join(err, e)
		}
	}()

	if err := existing.Begin(load.Connections(), ValueSize, load.Connections()); err != nil {
		return nil, err
	}

	before, missing := existing.Histograms(ctx, fsyncMetric, commitMetric)
	end := vtime.At(opt.Duration + grace)
	d := loadgen.New(loadgen.Config{Server: existing, Workload: load, Seed: opt.Seed, End: end})
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { defer close(ended); opt.report(d, done) }()
	err = d.Run(ctx, end, nil)
	close(done)
	<-ended

	if err != nil {
		return nil, err
	}

	asked, _ := d.Result() // which operations failed is a criterion here
	after, gone := existing.Histograms(ctx, fsyncMetric, commitMetric)
	// The histograms are needed on both ends of the run.
	if missing == nil {
		missing = gone
	}

	return judge(existing.Describe(), &opt, asked, before, after, missing), nil
}

func (o *Options) workload() (*workload.Workload, error) {
	rate := o.Load.Rate
	spec := workload.Spec{
		Arrivals: &workload.Arrivals{Constant: &rate}, Mix: &workload.Mix{Insert: 1}, Keys: &workload.Keys{},
		Document: &workload.Document{Size: ValueSize}, Connections: o.Load.Clients,
		Duration: units.Duration(o.Duration),
	}
	w, problems := spec.Resolve(nil)
	return w, problems.Err()
}

func (o *Options) report(d *loadgen.Generator, done <-chan struct{}) {
	t := time.NewTicker(time.Second)
	defer t.Stop()

	last := int64(0)
	for {
		select {
		case <-done:
			return
		case <-t.C:
		}
		now := d.Totals()
		if o.Progress != nil {
			o.Progress(time.Duration(now.At), o.Duration, units.Frequency(now.Done-last), now.P99)
		}
		last = now.Done
	}
}

// figures returns the distribution of the puts' latencies.
type figures struct {
	dist    latency.Distribution
	stddev  float64 // seconds
	slowest units.Duration
	inside  int64 // answered while puts were due
}

func figuresOf(ops []latency.Operation, within time.Duration) figures {
	var f figures
	sum, n := 0.0, 0.0
	for i := range ops {
		op := &ops[i]
		f.dist.Add(op.Took)
		f.slowest = max(f.slowest, units.Duration(op.Took))
		sum += float64(op.Took) / 1e9
		n++
		// Throughput only counts what was answered while the load ran.
		if op.At+vtime.Instant(op.Took) <= vtime.At(within) {
			f.inside++
		}
	}

	for i := range ops {
		x := float64(ops[i].Took)/1e9 - sum/n
		f.stddev += float64(x * x)
	}

	if n > 0 {
		f.stddev = math.Sqrt(f.stddev / n)
	}

	return f
}
