package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// etcd's own criteria (etcd.io, hardware and FAQ pages): 99 % of the WAL's
// fdatasyncs under 10 ms, of the backend's commits under 25 ms.
const (
	fsyncCriterionS  = 0.010
	commitCriterionS = 0.025
	minShare         = 0.05 // of the time over the criterion
)

// If a member makes one sync per second, a single late sync determines its p99 over 30 s: fewer
// than minSlowSyncs slow syncs are not a finding.
const (
	minSlowSyncs = 3
	busyCPU      = 0.9
	heartbeat    = 0.100 // seconds, --heartbeat-interval's default: a sync this long delays a heartbeat
)

// A criterion is one of etcd's p99s and the limit it must stay below.
type criterion struct {
	rules.Criterion
	p99, slow *rules.Signal
	edge      string // the histogram's bucket edge below the limit
}

// criterionWords adds the words common to all criteria to those of a rule.
func criterionWords(w rules.Words) rules.Words {
	w["over"] = "The p99 of {{.what}} was over {{.limit}} for {{.share}} of the time; there its median was {{.typical}}, its maximum {{.worst}}."
	w["title, bulk"] = "{{.most}} {{.calls}} are slow"
	w["follower"] = "This member never led, and the members that meet the criterion form a majority: writes do not wait for it."
	return w
}

// writesDoNotWaitFor reports whether a member was a follower all the time and enough others meet
// the criterion to form a majority without it.
func writesDoNotWaitFor(c *rules.Case, k criterion, instance string) bool {
	led := c.For(IsLeader, "instance", instance)
	if c.SinceStart || timeline.Count(led) == 0 || timeline.Max(led) > 0 {
		return false
	}
	members := c.Signal(k.p99)
	quick := 0
	for _, m := range members {
		if rules.Share(timeline.Where(m.Values, func(x float64) bool { return x > k.LimitS }),
			timeline.Known(m.Values)) < minShare {
			quick++
		}
	}
	return quick >= clusterSize(c, len(members))/2+1
}

// overCriterion judges one of etcd's p99s against its criterion, member by member.
func overCriterion(r rules.Rule, input *rules.Case, held []timeline.Track, wanted criterion,
	explain func(f *rules.Finding, instance string, over timeline.Mask)) []rules.Finding {
	var out []rules.Finding
	for _, h := range held {
		inst := h.Labels.Get("instance")
		p99 := input.For(wanted.p99, "instance", inst)
		over := timeline.Known(h.Values)
		seen := timeline.Known(p99)
		slow := input.For(wanted.slow, "instance", inst)

		late := timeline.Sum(slow) * input.Grid.StepSeconds()
		if rules.Share(over, seen) < minShare || slow != nil && late < minSlowSyncs {
			continue
		}

		finding := r.Finding(rules.InstanceOf("etcd", inst))
		share, typical := rules.Share(over, seen), timeline.Quantile(timeline.At(p99, over), 0.5)
		finding.Weight = share

		if input.Stall.Any() {
			finding.Weight = rules.Share(over, input.Stall.Cells)
		}

		// Critical if the p99 is far over the limit for long, or if a typical one delays
		// heartbeats.
		finding.Severity = rules.Warning
		follows := false
		if share >= 0.3 && typical >= 2*wanted.LimitS || typical >= heartbeat {
			finding.Severity = rules.Critical
		}

		if wanted.p99 == BackendCommitP99 && quickWAL(input, inst, over) && !input.Stall.Any() &&
			typical < heartbeat {
			finding.Severity = rules.Warning
		}

		if finding.Severity == rules.Critical && writesDoNotWaitFor(input, wanted, inst) {
			finding.Severity = rules.Warning
			follows = true
		}

		finding.Windows = input.Windows(over)
		finding.PeriodS = input.Period(over.Close(input.Cells(5e9)))
		finding.Say("over", rules.Values{"what": rules.Called(wanted.What), "limit": rules.Seconds(wanted.LimitS),
			"share":   rules.Part(share),
			"typical": rules.Seconds(typical), "worst": rules.Seconds(timeline.Max(p99))})

		if follows {
			finding.Say("follower", nil)
		}

		finding.Evidence = []rules.Evidence{
			input.Figure("p99 over 30 s, median", wanted.p99, timeline.Quantile(p99, 0.5), "seconds", seen),
			input.Figure("p99 over 30 s, maximum", wanted.p99, timeline.Max(p99), "seconds", seen),
			input.Figure("criterion", nil, wanted.LimitS, "seconds", seen),
		}

		if slow != nil {
			finding.Evidence = append(finding.Evidence,
				input.Figure("number over "+wanted.edge, wanted.slow, math.Round(late), "", seen))
		}

		// If most calls are slow rather than only the tail, that is the headline.
		if wanted.Judge(input.TotalsOf(wanted.Classes, wanted.Count, inst)) == rules.MissesBulk {
			finding.Foremost = true
			most := rules.Called("Most")
			if share >= rules.NearlyAll {
				most = "Nearly all"
			}
			finding.Entitle("title, bulk", rules.Values{"calls": rules.Called(wanted.Calls), "most": most})
		}

		explain(&finding, inst, over)
		out = append(out, finding)
	}

	return out
}

// quickWAL reports whether a member's WAL meets its criterion in some cells. Writes are acknowledged
// once the WAL has them, before the backend commits them: if it is quick and nothing stalls, slow
// commits of the backend are not an emergency until they hold up heartbeats.
func quickWAL(c *rules.Case, instance string, cells timeline.Mask) bool {
	p99 := c.For(WALFsyncP99, "instance", instance)
	return p99 != nil && timeline.Quantile(timeline.At(p99, cells), 0.5) <= fsyncCriterionS
}
