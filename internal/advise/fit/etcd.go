package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	model "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/record/timeline"
)

// etcd enters a cluster as its leader tells of it.
func (f *fitting) etcd() error {
	committed := f.byInstance("etcd_proposals_committed:rate")
	var puts []float64
	var instances []string
	for _, t := range f.Signal(named("etcd_wal_fsyncs:rate")) {
		instances = append(instances, t.Labels.Get("instance"))
	}
	slices.Sort(instances)
	lead := f.leader()
	if puts = committed[lead]; puts == nil {
		for _, name := range instances { // no leader is told: they all commit the same
			puts = committed[name]
			lead = name
			break
		}
	}
	if puts == nil {
		return &MissingError{What: "what is asked of the cluster", Metrics: []string{"etcd_server_proposals_committed_total"},
			From: "etcd's own page gives it: http://MEMBER:2379/metrics, of all members at once if you can"}
	}
	if err := f.enough(puts, shortest, "a minute, for rates that mean something"); err != nil {
		return err
	}
	f.members(instances, lead)
	key := "engine.etcd."
	reads := f.mean("etcd_ranges:rate")
	l := load{shares: []share{{"insert", timeline.Mean(puts)}, {"read", reads}}, ops: puts, how: Measured,
		rateOf: "proposals that " + lead + " committed", mixOf: "proposals are puts; ranges are reads"}
	if math.IsNaN(reads) {
		l.how, l.mixOf = Assumed, "how many reads there are (etcd_mvcc_range_total): none taken, for they do not touch the disk"
	}
	if err := f.arrivals(l); err != nil {
		return err
	}
	f.entries(lead, timeline.Mean(puts))
	if q := f.gauge("etcd_quota:bytes"); q > 0 {
		f.add(key+"quota", exactly(q), Measured, "the backend's quota")
	}
	if rtt := timeline.Quantile(f.one("etcd_peer_round_trip:seconds"), 0.5); rtt > 0 && len(instances) > 1 {
		f.add(key+"rtt", duration(rtt), Measured, "the round trip between members, median")
	} else if len(instances) > 1 {
		f.add(key+"rtt", duration(model.Defaults().RTT.Std().Seconds()), Assumed, "the round trip between members; that within a zone taken").left().
			measure("etcd_network_peer_round_trip_time_seconds, or ping")
	}
	f.add(key+"snapshot_count", count(10_000), Assumed, "--snapshot-count; 10,000 taken, as etcd 3.6 has it (100,000 before)").left()
	return nil
}

// byInstance are a signal's series by member.
func (f *fitting) byInstance(signal string) map[string][]float64 {
	out := map[string][]float64{}
	for _, t := range f.Signal(named(signal)) {
		out[t.Labels.Get("instance")] = t.Values
	}
	return out
}

// members enters how many there are and who leads.
func (f *fitting) members(instances []string, lead string) {
	n := len(instances)
	odd := n
	if odd%2 == 0 {
		odd++
	}
	v := f.add("engine.etcd.members", count(float64(odd)), Measured, "%d members tell of themselves", n)
	if n == 1 {
		v.Known = Assumed
		v.Evidence = "how many members there are: one tells of itself, and one is taken"
		v.measure("etcdctl member list; give the metrics of all members at once")
	} else if n != odd {
		v.Known = Inferred
		v.Evidence = fmt.Sprintf("%d members tell of themselves, and a cluster has an odd number", n)
	}
	if i := slices.Index(instances, lead); i > 0 {
		f.add("engine.etcd.leader", count(float64(i+1)), Measured, "%s led", lead)
	}
	if n > 1 && len(f.uses) > 0 && strings.Contains(f.uses[0].device, "/") {
		f.remark("the volumes are those of the leader, %s; a member whose volumes are slower goes under members", lead)
	}
}

// entries enters how large a put is: what the log grew by for each.
func (f *fitting) entries(lead string, puts float64) {
	f.add("workload.connections", count(100), Assumed, "how many requests clients have under way at most; 100 taken").left().measure("the clients' concurrency")
	const ask = "etcdctl get KEY, or etcd_debugging_mvcc_total_put_size_in_bytes over etcd_mvcc_put_total"
	overhead := float64(model.Defaults().Overhead)
	each := timeline.Mean(f.byInstance("etcd_wal_written:bytes")[lead]) / puts
	if math.IsNaN(each) || each <= overhead+1 {
		f.add("workload.document.size", exactly(float64(units.KiB)), Assumed, "the size of keys and values together; 1 KiB taken").measure(ask)
		return
	}
	size := each - overhead
	f.add("workload.document.size", about(size), Inferred, "the log grew by %s a proposal, of which some %s are headers", units.Bytes(each), units.Bytes(overhead)).
		between(max(size-overhead, 1), each).measure(ask)
}
