package judge

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Signals of a replica set's members, as the recorded member sees them.
var (
	MemberState = signals.Add(rules.Signal{Name: rules.SignalPrefix + "mongodb_member_state:state",
		By:    []string{"member_idx"},
		Help:  "a member's state by its number (1 primary, 2 secondary, 7 arbiter, 8 down)",
		Exprs: []string{`mongodb_rs_members_state`}})
	OwnLag = signal("mongodb_own_lag:seconds",
		"seconds", "how far this member's last write is behind the newest write",
		`max((0 - (mongodb_rs_members_optimeDate - on() group_left() max(mongodb_rs_members_optimeDate))) / 1000 and on(member_idx) (mongodb_rs_members_self == 1))`)
)

// cluster compares the members of a replica set: each writes the same changes to its own journal.
var cluster = rules.Cluster{Of: membership, SyncTime: LogSyncTime, Syncs: LogSyncs, Logged: LogPayload}

// membership returns the replica set of a member, by the members that it lists, as percona/mongodb_exporter
// names them, or by the name in its configuration.
func membership(c *rules.Case) rules.Membership {
	m := rules.Membership{Name: c.Facts["replica_set"]}
	var names []string
	for _, t := range c.Signal(MemberState) {
		if name := t.Labels.Get("member_idx"); strings.Contains(name, ":") {
			names = append(names, name)
		}
	}

	if len(names) > 1 {
		slices.Sort(names)
		m.Name = strings.Join(names, ",")
	}

	const primary, secondary = 1, 2
	switch timeline.Quantile(c.One(OwnState), 0.5) {
	case primary:
		m.Leads = true
	case secondary:
		m.Follows = true
	}

	return m
}

// states are the states in replSetGetStatus in which a member confirms no writes (manual: Replica
// Set Member States).
var states = map[float64]string{0: "STARTUP", 3: "RECOVERING", 5: "STARTUP2 (initial sync)", 6: "UNKNOWN",
	8: "DOWN", 9: "ROLLBACK", 10: "REMOVED"}

// absentShare is the part of the stalled time for which a member must be absent to count.
const absentShare = 0.2

// absent lists the members that confirmed no writes while clients waited, with their states, for
// example "member 2 DOWN". It is "" if there are none.
func absent(c *rules.Case) string {
	var out []string
	for _, t := range c.Signal(MemberState) {
		state := timeline.Quantile(timeline.At(t.Values, c.Stall.Cells), 0.5)
		gone := timeline.Where(t.Values, func(x float64) bool { return states[x] != "" })
		if rules.Share(gone, c.Stall.Cells) < absentShare {
			continue
		}

		word := states[state]
		if word == "" {
			word = "absent at times"
		}

		name := "a member"
		if idx := t.Labels.Get("member_idx"); idx != "" {
			name = "member " + idx
		}

		out = append(out, name+" "+word)
	}

	slices.Sort(out)
	return strings.Join(out, ", ")
}

// No member of a working set has a lag of maxLagS. The last write of an arbiter, or of a member
// that is down, is at the epoch.
const maxLagS = 1e6

// laggingMember is the member whose lag rose most while clients waited, and that lag. The rise
// counts because a deliberately delayed member lags just as much at other times.
func laggingMember(c *rules.Case) (member string, lagS float64) {
	most := leastLagRiseS
	for _, t := range c.Signal(MemberLag) {
		worst := timeline.Max(timeline.At(t.Values, c.Stall.Cells))
		usual := timeline.Quantile(timeline.At(t.Values, c.NotStalled()), 0.5)
		if math.IsNaN(usual) {
			usual = 0
		}
		if rise := worst - usual; rise > most && worst < maxLagS {
			member, lagS, most = t.Labels.Get("member_idx"), worst, rise
		}
	}
	return member, lagS
}

// leastLagRiseS is the smallest rise that counts: heartbeats report other members' writes every two
// seconds.
const leastLagRiseS = 2.0

// sayMembers adds which members confirm nothing, and which lags most.
func sayMembers(c *rules.Case, finding *rules.Finding) {
	if members := absent(c); members != "" {
		finding.Say("absent", rules.Values{"members": rules.Called(members)})
		finding.Evidence = append(finding.Evidence, c.Remark("members that confirm nothing: "+members))
	}

	if lagging, lag := laggingMember(c); lag > 0 {
		finding.Say("lagging", rules.Values{"member": rules.Called(lagging), "lag": rules.Seconds(lag)})
		finding.Evidence = append(finding.Evidence,
			c.Figure("lag of member "+lagging+" while stalled, worst", MemberLag, lag, "seconds", c.Stall.Cells))
	}
}
