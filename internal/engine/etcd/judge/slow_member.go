package judge

import (
	"math"
	"strconv"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A member is slow at three times the fastest member's sync; under 2 ms nobody feels
// the difference between two kinds of flash.
const (
	slowMemberFactor = 3.0
	slowMemberFloorS = 0.002
)

func slowMember() rules.Rule {
	r := rules.Rule{ID: "etcd/slow-member", Title: "One member's disk is slower than the others'", Kind: rules.Cause,
		When:    "plimsoll:etcd_wal_fsync:seconds > on() group_left() (3 * min(plimsoll:etcd_wal_fsync:seconds)) and plimsoll:etcd_wal_fsync:seconds > 0.002",
		Needs:   []*rules.Signal{WALFsyncs},
		NoAlert: "it compares members with each other over the whole time",
		Cause:   "A write is committed by the fastest majority: a slow minority costs nothing until a fast member fails, and a slow leader or a slow majority costs every write.",
		Words: rules.Words{
			"syncs":       "Its WAL's fdatasync takes {{.took}} at the median, the fastest member's {{.best}}.",
			"no majority": "Of the {{.members}} members read {{.slow}} are slow, so no majority is fast: every write waits for one of them.",
			"led":         "It led in {{.led}} of the time: a leader syncs its own WAL before it takes up the next batch, so every write waited for it.",
			"minority":    "Of the {{.members}} members read {{.fast}} are fast, a majority: writes do not wait for this one unless it leads or a fast one fails.",
		},
		Advice: map[string]rules.Advice{"move": {Summary: "Move the member to a volume like the others'; move leadership off it meanwhile (etcdctl move-leader)", Expect: "the next failure of a fast member costs nothing", TradeOff: "the volume's price", Do: []*rules.Remedy{moveLeader}}}}
	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var members []timeline.Track
		var typical []float64
		best := math.Inf(1)
		for _, m := range c.Signal(WALFsync) {
			if med := timeline.Quantile(m.Values, 0.5); !math.IsNaN(med) {
				members, typical, best = append(members, m), append(typical, med), min(best, med)
			}
		}
		slow := 0
		for _, x := range typical {
			if isSlow(x, best) {
				slow++
			}
		}
		if len(members) < 2 || slow == 0 {
			return nil
		}
		var out []rules.Finding
		for i, m := range members {
			if isSlow(typical[i], best) {
				out = append(out, slowMemberFinding(r, c, m, typical[i], best, slow, len(members)))
			}
		}
		return out
	}
	return r
}

func isSlow(fsync, best float64) bool {
	return fsync > slowMemberFactor*best && fsync > slowMemberFloorS
}

func slowMemberFinding(r rules.Rule, c *rules.Case, m timeline.Track, fsync, best float64, slow, members int) rules.Finding {
	inst := m.Labels.Get("instance")
	f := r.Finding(subjectOf("etcd", inst))
	led := timeline.Mean(c.For(IsLeader, "instance", inst))
	f.Say("syncs", rules.Values{"took": rules.Seconds(fsync), "best": rules.Seconds(best)})
	whole := func(n int) rules.Value { return rules.Called(strconv.Itoa(n)) }
	switch fast := members - slow; {
	case fast < members/2+1:
		f.Severity, f.Weight = rules.Critical, 1
		f.Say("no majority", rules.Values{"members": whole(members), "slow": whole(slow)})
	case led >= 0.5:
		f.Severity, f.Weight = rules.Critical, led
		f.Say("led", rules.Values{"led": rules.Part(led)})
	default:
		f.Severity = rules.Warning
		f.Say("minority", rules.Values{"members": whole(members), "fast": whole(fast)})
	}
	f.Evidence = []rules.Evidence{
		c.Figure("median fdatasync of this member", WALFsync, fsync, "seconds", timeline.Known(m.Values)),
		c.Figure("median fdatasync of the fastest member", WALFsync, best, "seconds", timeline.Known(m.Values)),
	}
	if !math.IsNaN(led) {
		f.Evidence = append(f.Evidence, c.Figure("share of the time it led", IsLeader, led, "ratio", timeline.Known(m.Values)))
	}
	f.Advise("move", nil)
	return f
}
