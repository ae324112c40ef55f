package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/etcd/judge"
	model "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

type fitting struct{ *fit.Fitting }

// Fit derives a cluster's scenario from the figures of its leader.
func Fit(f *fit.Fitting) error { return fitting{f}.fit() }

// LogSyncs returns how often the logs were synced.
func LogSyncs(f *fit.Fitting) float64 { return f.Mean(judge.WALFsyncs) }

func (f fitting) fit() error {
	committed := f.byInstance(judge.ProposalsCommitted)
	var puts []float64

	var instances []string
	for _, t := range f.Signal(judge.WALFsyncs) {
		instances = append(instances, t.Labels.Get("instance"))
	}

	slices.Sort(instances)
	lead := Leader(f.Fitting)
	if puts = committed[lead]; puts == nil {
		for _, name := range instances { // no leader is reported: all members commit the same
			puts = committed[name]
			lead = name
			break
		}
	}

	if puts == nil {
		return &fit.MissingError{What: "the load of the cluster",
			Metrics: []string{"etcd_server_proposals_committed_total"},
			From:    "etcd's own metrics page, http://MEMBER:2379/metrics, of all members together if possible"}
	}

	if err := f.EnoughForRates(puts); err != nil {
		return err
	}

	f.members(instances, lead)
	key := "engine.etcd."
	reads := f.Mean(judge.Ranges)
	l := fit.Load{Shares: []fit.Share{{Kind: "insert", Rate: timeline.Mean(puts)}, {Kind: "read", Rate: reads}},
		Ops: puts, How: fit.Measured,
		RateOf: "proposals that " + lead + " committed", MixOf: "proposals are puts; ranges are reads"}

	// Unknown reads do not affect writes: etcd serves ranges from memory.
	if math.IsNaN(reads) {
		l.How,
			l.MixOf = fit.Assumed, "how many reads there are (etcd_mvcc_range_total): none taken, for they do not touch the disk"
	}

	if err := f.Arrivals(l); err != nil {
		return err
	}

	f.entries(lead, timeline.Mean(puts))
	if q := f.Gauge(judge.Quota); q > 0 {
		f.Add(key+"quota", fit.Exactly(q), fit.Measured, "the backend's quota")
	}

	if rtt := timeline.Quantile(f.One(judge.PeerRoundTrip), 0.5); rtt > 0 && len(instances) > 1 {
		f.Add(key+"rtt", fit.Duration(rtt), fit.Measured, "the round trip between members, median")
	} else if len(instances) > 1 {
		f.Add(key+"rtt", fit.Duration(model.Defaults().RTT.Std().Seconds()), fit.Assumed,
			"the round trip between members; a round trip within a zone is assumed").AsDefault().
			ToKnow("etcd_network_peer_round_trip_time_seconds, or ping")
	}

	f.Add(key+"snapshot_count", fit.Count(10_000), fit.Assumed,
		"--snapshot-count; 10,000 is assumed, the default of etcd 3.6 (100,000 before)").AsDefault()
	return nil
}

// byInstance returns a signal's series by member.
func (f fitting) byInstance(signal *rules.Signal) map[string][]float64 {
	out := map[string][]float64{}
	for _, t := range f.Signal(signal) {
		out[t.Labels.Get("instance")] = t.Values
	}
	return out
}

// members enters the number of members and the leader.
func (f fitting) members(instances []string, lead string) {
	n := len(instances)
	// An even number of members means that at least one does not report.
	odd := n
	if odd%2 == 0 {
		odd++
	}

	v := f.Add("engine.etcd.members", fit.Count(float64(odd)), fit.Measured, "%d members report", n)
	if n == 1 {
		v.Known = fit.Assumed
		v.Evidence = "only one member reports, so one is assumed"
		v.ToKnow("etcdctl member list; give the metrics of all members together")
	} else if n != odd {
		v.Known = fit.Inferred
		v.Evidence = fmt.Sprintf("%d members report, and a cluster has an odd number", n)
	}

	// The first member leads by default.
	if i := slices.Index(instances, lead); i > 0 {
		f.Add("engine.etcd.leader", fit.Count(float64(i+1)), fit.Measured, "%s led", lead)
	}

	if n > 1 && f.Device(0) != "" && strings.Contains(f.Device(0), "/") {
		f.Remark("the volumes are those of the leader, %s; a member whose volumes are slower goes under members",
			lead)
	}
}

// entries enters the size of a put, derived from the log's growth per put.
func (f fitting) entries(lead string, puts float64) {
	f.Add("workload.connections", fit.Count(100), fit.Assumed,
		"the most requests that clients have in flight; 100 is assumed").AsDefault().ToKnow("the clients' concurrency")
	const ask = "etcdctl get KEY, or etcd_debugging_mvcc_total_put_size_in_bytes over etcd_mvcc_put_total"
	overhead := float64(model.Defaults().Overhead)
	each := fit.Per(timeline.Mean(f.byInstance(judge.WALWritten)[lead]), puts)
	// The growth is no more than the headers: the log was not measured, or its counter does not match the
	// proposals.
	if math.IsNaN(each) || each <= overhead+1 {
		f.Add("workload.document.size", fit.Exactly(float64(units.KiB)), fit.Assumed,
			"the size of keys and values together; 1 KiB is assumed").ToKnow(ask)
		return
	}

	size := each - overhead
	f.Add("workload.document.size", fit.About(size), fit.Inferred,
		"the log grew by %s per proposal, of which about %s are headers", units.Bytes(each), units.Bytes(overhead)).
		Between(max(size-overhead, 1), each).ToKnow(ask)
}

// Leader returns the instance that leads most of the time, "m1" if none reports it.
func Leader(f *fit.Fitting) string {
	best, name := 0.0, "m1"
	for _, t := range f.Signal(judge.IsLeader) {
		if s := timeline.Sum(t.Values); s > best {
			best, name = s, t.Labels.Get("instance")
		}
	}
	return name
}
