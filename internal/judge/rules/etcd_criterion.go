package rules

import (
	"fmt"
	"math"

	"plimsoll/internal/record/timeline"
)

// etcd's own criteria (etcd.io, hardware and FAQ pages): 99 % of the WAL's
// fdatasyncs under 10 ms, of the backend's commits under 25 ms.
const (
	etcdFsyncCriterionS  = 0.010
	etcdCommitCriterionS = 0.025
	etcdMinShare         = 0.05 // of the time over the criterion
)

// An etcd member that makes one sync a second has a p99 over 30 s that a single late sync
// decides: fewer than minSlowSyncs are no finding.
const (
	minSlowSyncs  = 3
	busyCPU       = 0.9
	etcdHeartbeat = 0.100 // --heartbeat-interval's default: a sync of this length delays one
)

// A criterion is one of etcd's p99s and what it must stay under.
type criterion struct {
	p99, slow string // signals
	what      string
	limit     float64 // seconds
	edge      string  // the histogram's bucket edge below the limit
}

// overCriterion judges one of etcd's p99s against its criterion, member by member.
func (r Rule) overCriterion(c *Case, held []timeline.Track, k criterion, explain func(f *Finding, instance string, over timeline.Mask)) []Finding {
	var out []Finding
	for _, h := range held {
		inst := h.Labels.Get("instance")
		p99 := c.For(SignalPrefix+k.p99, "instance", inst)
		over := timeline.Known(h.Values)
		seen := timeline.Known(p99)
		slow := c.For(SignalPrefix+k.slow, "instance", inst)
		late := timeline.Sum(slow) * c.Grid.StepSeconds()
		if Share(over, seen) < etcdMinShare || slow != nil && late < minSlowSyncs {
			continue
		}
		f := r.finding(subjectOf("etcd", inst))
		share, typical := Share(over, seen), timeline.Quantile(timeline.At(p99, over), 0.5)
		f.Weight = share
		if c.Stall.Any() {
			f.Weight = Share(over, c.Stall.Cells)
		}
		f.Severity = Warning
		if share >= 0.3 && typical >= 2*k.limit || typical >= etcdHeartbeat {
			f.Severity = Critical
		}
		f.Windows = c.Windows(over)
		f.PeriodS = c.Period(over.Close(c.Cells(5e9)))
		f.Summary = fmt.Sprintf("The p99 of %s was over %s in %s of the time: there %s at the median, %s at worst.",
			k.what, dur(k.limit), pct(share), dur(typical), dur(timeline.Max(p99)))
		f.Evidence = []Evidence{
			c.figure("p99 over 30 s, median", SignalPrefix+k.p99, timeline.Quantile(p99, 0.5), "seconds", seen),
			c.figure("p99 over 30 s, worst", SignalPrefix+k.p99, timeline.Max(p99), "seconds", seen),
			c.figure("criterion", "", k.limit, "seconds", seen),
		}
		if slow != nil {
			f.Evidence = append(f.Evidence, c.figure("how many took over "+k.edge, SignalPrefix+k.slow, math.Round(late), "", seen))
		}
		explain(&f, inst, over)
		out = append(out, f)
	}
	return out
}

func subjectOf(what, instance string) string {
	if instance == "" {
		return what
	}
	return what + " " + instance
}
