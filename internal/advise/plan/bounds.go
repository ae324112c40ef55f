package plan

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/volume"
)

// floor returns why a bound on writes cannot be met at any load, or "" if nothing rules it out.
//
// A write that waits for its log is acknowledged after a write to the log's volume that began after
// the operation arrived (its record did not exist before) and that took at least the volume's minimum
// latency; limits, queues and the kernel only add to it. So that latency is a lower bound for every
// percentile of writes. Any member of an etcd cluster may be in the quorum, so the bound is the
// minimum over all members. countedNs allows for the histogram's rounding.
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
			return fmt.Sprintf("%s under %s: a write to the log volume (%s) takes at least %s", b.Name, b.Most,
				kind, least)
		}
	}

	return ""
}

// countedNs is the most that a latency histogram rounds off, in nanoseconds.
const countedNs = 1000

// demand returns why the log volume cannot sustain the load, or "" if nothing rules it out.
//
// A share of at least answeredMin of the operations that arrive in the measured time must be answered
// within it. Each such write puts its record on the log volume within that time, and the peak rates of
// the volume and the instance limit how much that can be. Credits, and the burst that a limit allows
// for catching up, are covered by one extra second and 5 %.
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
		// The maximum over all members keeps the bound safe: a quorum does not need its slowest
		// member.
		most = max(most, r)
	}

	all := float64(come.Writes + come.Reads)

	// All unanswered operations may be writes, which makes this the fewest that must be answered.
	answered := float64(come.Writes) - float64((1-answeredMin)*all)
	passes := float64(most) * float64(float64(sc.Run.Duration)/1e9+1) * 1.05
	if answered*float64(bytes) <= passes {
		return ""
	}

	rate := units.Throughput(float64(come.Writes) * float64(bytes) / (float64(sc.Run.Duration) / 1e9))
	return fmt.Sprintf("the log receives at least %s, but its volume allows only %s", rate, most)
}

// throughputMax returns the peak throughput of a volume, or 0 if it has no limit.
func throughputMax(sc *scenario.Scenario, o logOrder) units.Throughput {
	l, err := sc.LimitsOf(o.member, o.volume)
	if err != nil {
		return 0
	}

	most := l.Sustained.Throughput
	if l.Burst != nil && most != 0 {
		most = max(most, l.Burst.At.Throughput)
	}

	// Limits for writes apply in addition to the shared ones, because the log volume only gets
	// writes.
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
