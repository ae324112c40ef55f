package plan

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/volume"
)

// logVolumes are where an engine's log may lie: the first of these names that is there.
func logVolumes(e settings) []string {
	switch {
	case e.WiredTiger != nil, e.IRIS != nil:
		return []string{"journal", "data"}
	case e.Streams != nil:
		return []string{"wal", "journal", "data"}
	}
	return []string{"wal", "data"}
}

// logOrders are the volumes that the members' logs lie on.
func logOrders(sc *scenario.Scenario) []*catalog.Order {
	var out []*catalog.Order
	for k := 1; k <= sc.MemberCount(); k++ {
		volumes := sc.VolumesOf(k)
		for _, name := range logVolumes(settingsOf(sc)) {
			if o := volumes.Get(name); o != nil {
				out = append(out, o)
				break
			}
		}
	}
	return out
}

// waitsForLog tells whether every write is acknowledged only when its log record is durable.
func waitsForLog(e settings) bool {
	is := func(b *bool) bool { return b == nil || *b }
	switch {
	case e.WiredTiger != nil:
		return is(e.WiredTiger.Journal) && is(e.WiredTiger.JournalEach)
	case e.Postgres != nil:
		return e.Postgres.SynchronousCommit
	case e.IRIS != nil:
		return e.IRIS.Synchronous
	case e.Streams != nil:
		return !e.Streams.RandomWrites
	}
	return e.Etcd != nil
}

// floor says why a bound of writes cannot be kept whatever the load, "" if nothing says so.
//
// A write that waits for its log is acknowledged after a write of the log's volume that began after the operation came (its record
// was not there before) and that took at least the least of the volume's latencies: limits, queues and the kernel only add to it.
// So every percentile of writes is at least that. Of etcd's members any may be in the quorum, so it is the least of all of theirs.
// The microsecond is what the histogram may round away.
func floor(sc *scenario.Scenario, want []scenario.Bound) string {
	if !waitsForLog(settingsOf(sc)) {
		return ""
	}
	least, kind := units.Duration(-1), ""
	for _, o := range logOrders(sc) {
		cfg, err := o.Config("floor", sc.Instance())
		if err != nil {
			return ""
		}
		if q := cfg.Latency[volume.Write].Quantile(0); least < 0 || q < least {
			least, kind = q, o.Type
		}
	}
	for _, b := range want {
		if strings.HasPrefix(b.Name, "write_") && least > b.Most+units.Duration(countedNs) {
			return fmt.Sprintf("%s under %s: a write of %s, where the log lies, takes at least %s", b.Name, b.Most, kind, least)
		}
	}
	return ""
}

// countedNs is what a histogram of latencies may round away.
const countedNs = 1000

// demand says why the log cannot take the load, "" if nothing says so.
//
// Of the operations that come in the measured time answeredMin are to be answered in it. Each write of them has its record written to the
// log's volume within that time, and no more passes than the volume's and the instance's highest rates let through, for which credits
// and what a limit lets one catch up with are taken as a second's worth and a twentieth more.
func demand(sc *scenario.Scenario, come simulate.Arrivals) string {
	bytes := recordMin(sc)
	if !come.Known || bytes == 0 || !waitsForLog(settingsOf(sc)) {
		return ""
	}
	most := units.Throughput(0)
	for _, o := range logOrders(sc) {
		r := throughputMax(o, sc.Instance())
		if r == 0 {
			return "" // no limit
		}
		most = max(most, r)
	}
	all := float64(come.Writes + come.Reads)
	answered := float64(come.Writes) - float64((1-answeredMin)*all)
	passes := float64(most) * float64(float64(sc.Run.Duration)/1e9+1) * 1.05
	if answered*float64(bytes) <= passes {
		return ""
	}
	rate := units.Throughput(float64(come.Writes) * float64(bytes) / (float64(sc.Run.Duration) / 1e9))
	return fmt.Sprintf("the log takes in %s at least, and its volume lets %s through", rate, most)
}

// throughputMax is the most that passes to a volume, 0 if nothing limits it.
func throughputMax(o *catalog.Order, on *catalog.InstanceType) units.Throughput {
	l, err := o.Limits(on)
	if err != nil {
		return 0
	}
	most := l.Sustained.Throughput
	if l.Burst != nil && most != 0 {
		most = max(most, l.Burst.At.Throughput)
	}
	if w := l.WriteOnly.Throughput; w != 0 && (most == 0 || w < most) {
		most = w
	}
	most *= units.Throughput(o.Members())
	if t, err := catalog.Type(o.Type); err == nil && !t.Local && on != nil && on.HasEBS && on.Maximum.Throughput != 0 && (most == 0 || on.Maximum.Throughput < most) {
		most = on.Maximum.Throughput
	}
	return most
}

// recordMin is the least that a write puts into the log, 0 where that is not known: of etcd and of streams the payload, of WiredTiger
// what log_bytes says.
func recordMin(sc *scenario.Scenario) units.Size {
	spec := sc.Workloads().Spec()
	payload := units.Size(0)
	if d := spec.Document; d != nil && d.Uniform == nil && len(d.Quantiles) == 0 && d.Change == 0 && d.Growth == 0 && spec.Buckets == nil &&
		spec.Mix != nil && spec.Mix.Push == 0 {
		payload = d.Size
	}
	switch e := settingsOf(sc); {
	case e.WiredTiger != nil:
		return e.WiredTiger.LogBytes
	case e.Etcd != nil, e.Streams != nil:
		return payload
	}
	return 0
}
