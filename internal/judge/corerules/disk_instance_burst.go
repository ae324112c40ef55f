package corerules

import (
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// An instance's burst lasts at least 30 minutes (EC2 user guide, EBS-optimized instances). A load can
// exceed a small instance's baseline only with instanceLeastOps or instanceLeastBytes or more: the
// smallest have 250 IOPS and 43 Mbit/s (t3.nano; the m family starts at 3,600 IOPS and 650 Mbit/s).
const (
	instanceBurst      = 30 * time.Minute
	instanceLeastOps   = 250.0
	instanceLeastBytes = 5e6
	// Volumes that are slow together for instanceTogether are limited by something they share.
	instanceTogether = 5 * time.Minute
	// balanceLeft is the lowest balance at which a bucket does not limit the instance.
	balanceLeft   = 0.2
	instanceHolds = 0.8 // of the time from its first slow interval to its last
)

// A burstEnd is how a slowdown shows that a burst was used up.
type burstEnd string

const (
	endCounted  burstEnd = "counted"  // EBS counts the time over the instance's limit
	endTogether burstEnd = "together" // all volumes of the host became slow together
	endLong     burstEnd = "long"     // one volume was slow for hours at the same load
)

// burstEnded returns how a slowdown shows the end of an instance's burst; nil if it does not.
func burstEnded(c *rules.Case, s *rules.Slowdown) *burstEnd {
	how := endLong
	eps := s.Cells.Episodes()
	first, last := eps[0].First, eps[len(eps)-1].Last
	lasted := c.Grid.Time(last).Sub(c.Grid.Start(first))
	within := timeline.MaskOf(c.Grid.N, []timeline.Episode{{First: first, Last: last}})
	before := s.Calm.And(timeline.MaskOf(c.Grid.N, []timeline.Episode{{First: 0, Last: max(0, first-1)}}))

	much := s.Ops >= instanceLeastOps || s.Moved >= instanceLeastBytes
	switch {
	case s.InstanceLimited:
		how = endCounted
	// A quick neighbour rules out a shared limit, and without faster time before there was no
	// burst.
	case len(s.Quick) > 0 || !much || rules.Share(s.Cells, within) < instanceHolds || before.Count() == 0:
		return nil
	case len(s.Alike) > 0 && lasted >= instanceTogether:
		how = endTogether
	case lasted < instanceBurst:
		return nil
	}

	return &how
}

func diskInstanceBurst() rules.Rule {
	rule := rules.Rule{
		ID:      "disk/instance-burst-exhausted",
		Title:   "The instance's burst is used up",
		Kind:    rules.Cause,
		Traced:  atDevice,
		Refutes: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
		When:    "plimsoll:instance_io_balance:ratio <= 0.01 or plimsoll:instance_byte_balance:ratio <= 0.01",
		Needs:   []*rules.Signal{},
		AnyOf: []*rules.Signal{
			rules.InstanceIOBalance,
			rules.InstanceByteBalance,
			rules.DiskReadAwait,
			rules.DiskWriteAwait,
		},
		Cause: "Small and medium instance types reach their EBS maximum for at least 30 minutes a day and otherwise have a lower baseline. When the burst is used up, the same load hits the baseline: all volumes of the instance become slow together, for the rest of the day, whatever they are provisioned with.",
		Words: rules.Words{
			"spent":       "The instance's {{.what}} balance was used up for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}: all its volumes together get only its baseline.",
			"other left":  "Its {{.other}} balance stayed at {{.left}} or more: the machine's {{.what}} burst is used up, not one of the volume.",
			"slower":      "{{.kind}} on {{.device}} took {{.slow}} from {{.at}} UTC on, {{.usual}} before that, at the same load ({{.ops}} and {{.moved}}; {{.usualOps}} before).",
			"counted":     "During that time EBS counted time over the instance's limit, and none before, although the load was as high.",
			"together":    "The host's other volumes ({{.alike}}) became slow at the same time: the cause is something they share.",
			"long":        "This lasted {{.for}}. A fault of the volume itself seldom lasts that long; an exhausted instance burst does, and so does a degraded volume.",
			"daily":       "{{.kind}} on {{.device}} take {{.fast}} for {{.for}} each day and {{.usual}} for the rest of the day, at the same load ({{.ops}}): an instance's burst refills once every 24 hours, and a load above its baseline uses it up.",
			"daily title": "Fast for a while each day: the instance's baseline is too low for the load",
			"long title":  "Slow at the same load for hours: the instance's burst is used up, or the volume is degraded",
		},
		Advice: map[string]rules.Advice{
			"look": {Summary: "Check the instance's EBSIOBalance% and EBSByteBalance% in CloudWatch (also available for RDS) and InstanceEBSIOPSExceededCheck: 0 % means that the burst is used up; 100 % means that the volume is degraded, and the evidence below is for a support case",
				Expect: "one answer or the other, within a minute", TradeOff: "none", NoCommand: nothingToDo},
			"instance": {Summary: "Choose an instance type whose EBS baseline, not its maximum, carries the load; leave the volumes as they are",
				Expect:    "no cliff after the burst; the volumes deliver what they are provisioned with",
				TradeOff:  "the instance's price; a restart",
				NoCommand: changesInstance},
			"weighting": weightingAdvice,
			"do not buy": {Summary: "Do not buy IOPS or throughput for the volume to fix this",
				Expect: "no change: the instance's limit binds first", TradeOff: "none; it saves money",
				NoCommand: nothingToDo},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		out := balancesSpent(rule, c)
		for _, s := range c.Slowdowns() {
			if how := burstEnded(c, s); how != nil && len(out) == 0 && !rules.Stacked(s.Device) && !limitFell(s, how) {
				out = append(out, burstUsed(rule, c, s, *how))
			}
		}

		for _, t := range c.Signal(rules.DiskOps) {
			if d := fastDaily(c, t.Labels.Get("device")); d != nil && len(out) == 0 && !rules.Stacked(d.device) {
				out = append(out, fastEachDay(rule, c, d))
			}
		}

		return out
	}

	return rule
}

func burstUsed(r rules.Rule, c *rules.Case, s *rules.Slowdown, how burstEnd) rules.Finding {
	// A shared cause is a finding about the instance, not about one volume.
	subject := "instance"
	if how == endLong {
		subject = s.Device
	}

	f := r.During(c, subject, rules.Share(s.Cells.Widen(1, 1), c.Stall.Cells),
		s.Cells.Close(c.Cells(instanceTogether)))
	f.Foremost = true
	f.Say("slower", rules.Values{"kind": rules.UpperFirst(rules.Called(s.Kind)), "device": rules.Called(s.Device),
		"slow": rules.Seconds(s.SlowS), "usual": rules.Seconds(s.UsualS),
		"at":  rules.Called(f.Windows[0].From.UTC().Format("15:04:05")),
		"ops": rules.Of(s.Ops, "IOPS"), "moved": mibs(s.Moved), "usualOps": rules.Of(s.UsualOps, "IOPS")})

	f.Evidence = slowFigures(c, s)
	switch how {
	case endCounted:
		f.Say("counted", nil)
	case endTogether:
		f.Say("together", rules.Values{"alike": rules.Joined(s.Alike)})
	default:
		f.Entitle("long title", nil)
		f.Say("long", rules.Values{"for": rules.Seconds(c.Seconds(s.Cells))})
		f.SupportCase = supportCase(s, c)
	}

	if how != endCounted {
		f.Advise("look", nil)
	}

	f.Advise("instance", nil)
	f.Advise("weighting", nil)
	f.Advise("do not buy", nil)

	return f
}

// instanceSpent reports whether a balance of an instance was used up in most of some cells. Then
// the instance limits its volumes there, not their own limits or credits.
func instanceSpent(c *rules.Case, cells timeline.Mask) bool {
	const most = 0.5
	for _, of := range []*rules.Signal{rules.InstanceIOBalance, rules.InstanceByteBalance} {
		for _, t := range c.Signal(of) {
			spent := timeline.Where(t.Values, func(x float64) bool { return x <= balanceSpent })
			if rules.Share(spent, cells) >= most {
				return true
			}
		}
	}
	return false
}

// balancesSpent reports the instances whose burst balance is used up, according to CloudWatch.
func balancesSpent(r rules.Rule, input *rules.Case) []rules.Finding {
	var out []rules.Finding
	for _, of := range []struct {
		signal, other   *rules.Signal
		what, otherWhat string
	}{{rules.InstanceIOBalance, rules.InstanceByteBalance, "I/O", "throughput"},
		{rules.InstanceByteBalance, rules.InstanceIOBalance, "throughput", "I/O"}} {
		for _, track := range input.Signal(of.signal) {
			spent := timeline.Where(track.Values, func(x float64) bool { return x <= balanceSpent })
			if input.Seconds(spent) == 0 {
				continue
			}

			instance := track.Labels.Get("instance_id")
			finding := r.During(input, instance, rules.Share(spent, input.Stall.Cells), spent)
			if !input.Stall.Any() {
				finding.Severity = rules.Warning
			}

			if finding.Foremost = !input.Unrelated(spent); !finding.Foremost {
				finding.Severity = rules.Info
			}

			said := rules.Values{"what": rules.Called(of.what),
				"for": rules.Seconds(input.Seconds(spent)), "share": input.PartOfStall(finding.Weight)}

			finding.Say("spent", said)
			finding.Evidence = []rules.Evidence{input.Figure("lowest "+of.what+" balance of the instance", of.signal,
				timeline.Quantile(track.Values, 0), "ratio", spent)}
			if other := timeline.Quantile(timeline.At(input.For(of.other, "instance_id", instance), spent), 0); other > balanceLeft {
				said["other"], said["left"] = rules.Called(of.otherWhat), rules.Part(other)
				finding.Say("other left", said)
				finding.Evidence = append(finding.Evidence,
					input.Figure("lowest "+of.otherWhat+" balance meanwhile", of.other, other, "ratio", spent))
			}

			finding.Advise("instance", nil)
			finding.Advise("weighting", nil)
			finding.Advise("do not buy", nil)
			out = append(out, finding)
		}
	}

	return out
}
