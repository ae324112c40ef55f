package corerules

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func diskSlowMember() rules.Rule {
	r := rules.Rule{ID: "disk/slow-member", Title: "One member's volume is slower than the others'", Kind: rules.Cause,
		Needs: []*rules.Signal{}, Whole: true,
		NoAlert: "it compares members over the whole recording",
		Cause:   "All members of a cluster write the same changes, each to its own volume. If one volume takes several times as long for the same load, that volume is at fault: a wrong type or size, spent credits, a volume that was restored from a snapshot, or a neighbour on the same hardware.",
		Words: rules.Words{
			"log":     "Its log's median sync takes {{.took}}, compared with {{.best}} on {{.fastest}}, with a similar load.",
			"device":  "Its volume's median write takes {{.took}}, compared with {{.best}} on {{.fastest}}, with a similar load.",
			"volumes": "Both file systems have {{.size}}.",
			"unknown": "These sources do not show whether the volumes are alike: compare their types, sizes and provisioned limits first.",
			"leads":   "It accepts the writes, so every commit waits for it.",
			"follows": "It does not accept the writes: commits wait for it only if they need its confirmation, and all of them do once it takes over.",
		},
		Advice: map[string]rules.Advice{"compare": {
			Summary:   "Compare the two volumes: type, size, provisioned limits, credits, and what the provider reports about each; replace the slow one if they are alike",
			Expect:    "the member becomes as fast as the others, and a failover costs nothing",
			TradeOff:  "a new volume must be filled by a copy, and the cluster has one member fewer meanwhile",
			NoCommand: "why it is slower is known only once the volumes have been compared"}}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		if c.Slower == nil {
			return nil
		}
		return []rules.Finding{slower(r, c, c.Slower)}
	}

	return r
}

// slower reports a member whose volume seems to be the same as the fastest member's.
func slower(r rules.Rule, input *rules.Case, comparison *rules.Slower) rules.Finding {
	member := comparison.Member
	finding := r.Finding(member.Server)
	finding.Severity = rules.Warning
	v := rules.Values{"took": rules.Seconds(comparison.Own.Median), "best": rules.Seconds(comparison.Best.Median),
		"fastest": rules.Called(comparison.Fastest.Server),
		"size":    rules.Bytes(member.SizeBytes)}

	if comparison.Own.Of == rules.DiskWriteAwait {
		finding.Say("device", v)
	} else {
		finding.Say("log", v)
	}

	switch {
	case member.SizeBytes > 0 && comparison.Fastest.SizeBytes > 0:
		finding.Say("volumes", v)
	case member.Volume.Text == "" || comparison.Fastest.Volume.Text == "":
		finding.Say("unknown", nil)
	}

	switch {
	case member.Leads:
		finding.Say("leads", nil)
	case member.Follows:
		finding.Say("follows", nil)
	}

	finding.Evidence = []rules.Evidence{
		input.Figure("median on this member", comparison.Own.Of, comparison.Own.Median, "seconds", nil),
		input.Figure("median on the fastest member", comparison.Best.Of, comparison.Best.Median, "seconds", nil),
		input.Figure("three quarters of this member's samples are above", comparison.Own.Of, comparison.Own.Low, "seconds", nil),
		input.Figure("three quarters of the fastest member's are below", comparison.Best.Of, comparison.Best.High, "seconds", nil)}

	for _, x := range []struct {
		text, unit string
		own, best  float64
	}{{"logged", "bytes/s", member.Logged, comparison.Fastest.Logged}, {"reads and writes of the volume", "1/s", member.Ops,
		comparison.Fastest.Ops}} {
		if !math.IsNaN(x.own) && !math.IsNaN(x.best) {
			finding.Evidence = append(finding.Evidence,
				input.Figure(x.text+" on this member", nil, x.own, x.unit, nil),
				input.Figure(x.text+" on the fastest member", nil, x.best, x.unit, nil))
		}
	}

	finding.Advise("compare", nil)
	return finding
}
