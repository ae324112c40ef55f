package plan

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/volume"
)

// floor says why a bound on writes cannot be met whatever the load, "" if nothing rules it out.
//
// A write that waits for its log is acknowledged after a write to the log's volume that began after
// the operation arrived (its record did not exist before) and took at least the volume's minimum
// latency; limits, queues and the kernel only add to that. So every percentile of writes is at
// least that. Any of etcd's members may be in the quorum, so it is the minimum over all of theirs.
// The microsecond is what the histogram may round off.
func floor(sc *scenario.Scenario, e *Profile, want []scenario.Bound) string {
	if !e.LogWait {
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
			return fmt.Sprintf("%s under %s: a write to %s, where the log is, takes at least %s", b.Name, b.Most,
				kind, least)
		}
	}

	return ""
}

// countedNs is what a histogram of latencies may round off.
const countedNs = 1000

// demand says why the log cannot take the load, "" if nothing rules it out.
//
// Of the operations that arrive in the measured time, a share of answeredMin must be answered in
// it. The record of each such write is written to the log's volume within that time, and the
// volume's and the instance's highest rates limit how much that can be. Credits, and what a limit
// allows to catch up, count as one second's worth and a twentieth more.
func demand(sc *scenario.Scenario, e *Profile, come simulate.Arrivals) string {
	bytes := e.LogRecord
	if !come.Known || bytes == 0 || !e.LogWait {
		return ""
	}

	most := units.Throughput(0)
	for _, o := range logOrders(sc) {
		r := throughputMax(sc, o)
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
	return fmt.Sprintf("the log receives at least %s, and its volume allows %s", rate, most)
}

// throughputMax is the highest throughput of a volume, 0 if it has no limit.
func throughputMax(sc *scenario.Scenario, o logOrder) units.Throughput {
	l, err := sc.LimitsOf(o.member, o.volume)
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
	if on := sc.Instance(); on != nil {
		if share, ok := on.ShareOf(o.Order); ok && share.Maximum.Throughput != 0 &&
			(most == 0 || share.Maximum.Throughput < most) {
			most = share.Maximum.Throughput
		}
	}

	return most
}
