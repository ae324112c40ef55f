package judge

import (
	"maps"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// blamelessS is the sync duration up to which the disk cannot have caused an election. A
	// follower starts one after one to two election timeouts without a heartbeat (etcd 3.5.9,
	// raft/raft.go:1713). A sync of half a timeout may contribute, a shorter one does not. The
	// default timeout is 1 s, and the histogram has an edge at 512 ms.
	blamelessS = 0.512
	// slowRoundTripS follows etcd's tuning page: a heartbeat interval, 100 ms by default, should be
	// about one round trip.
	slowRoundTripS = heartbeat
	// manyChanges is more than maintenance causes: a restart or move-leader makes one change.
	manyChanges = 3.0
)

// elections counts the leader changes that a member saw. The counter includes the first leader that
// a process sees, so a step from zero is the process start, and a decrease is a restart.
func elections(c *rules.Case, instance string) float64 {
	seen := c.For(LeaderChangesSeen, "instance", instance)
	if c.SinceStart {
		return max(0, timeline.Max(seen)-1)
	}

	n, last := 0.0, math.NaN()
	for _, x := range seen {
		if math.IsNaN(x) {
			continue
		}
		if last >= 1 && x > last {
			n += x - last
		}
		last = x
	}

	return n
}

// mostElections returns the most changes that any member saw; known is false if none counts them.
func mostElections(c *rules.Case) (n float64, known bool) {
	for _, m := range c.Signal(LeaderChangesSeen) {
		n, known = max(n, elections(c, m.Labels.Get("instance"))), true
	}
	return n, known
}

// longSyncs counts the syncs long enough to cost a leader, on the member with the most of them.
func longSyncs(c *rules.Case) (n float64, member string) {
	for _, m := range c.Signal(WALFsyncs) {
		instance := m.Labels.Get("instance")
		long, edge, _ := c.TotalsOf(WALFsyncClasses, WALFsyncs, instance).Over(blamelessS)
		if edge < lateEdgeS {
			long = 0 // shorter syncs, too
		}
		if long > n || member == "" {
			member = instance
		}
		n = max(n, long)
	}
	return n, member
}

func electionsWithoutDisk() rules.Rule {
	rule := rules.Rule{ID: "etcd/elections-without-disk",
		Title: "The leader changes, and the disk is not the cause",
		Kind:  rules.Cause, Sums: true,
		When:    "plimsoll:etcd_leader_changes:rate > 0 or plimsoll:etcd_peer_round_trip:seconds > 0.1",
		Needs:   []*rules.Signal{LeaderChangesSeen, WALFsyncs, WALFsyncClasses},
		Refutes: rules.DiskResources,
		NoAlert: "ruling the disks out takes the syncs of all members",
		Cause:   "A follower that hears nothing from the leader for one to two election timeouts starts an election, and no write commits until it is over. Heartbeats get lost or delayed in the network, on a host without spare CPU, or when the leader restarts. A slow disk can do the same, but then the leader's WAL has syncs of that length.",
		Words: rules.Words{
			"not the disk": "No volume fixes this:",
			"changes":      "the leader changed {{.changes}}{{with .for}} in {{.}}{{end}},",
			"round trip":   "peers took {{.rtt}} to answer on average,",
			"syncs":        "and none of the {{.all}} WAL syncs on {{.read}} took over 512 ms (half of an election timeout).",
			"unread":       "Members missing from these sources: {{.unread}} of {{.size}}; their disks are not ruled out.",
			"network":      "Peers take {{.rtt}} to answer{{with .to}} (slowest: {{.}}){{end}}, compared with a heartbeat interval of 100 ms: heartbeats arrive late. Check the network between the members, and for members short of CPU.",
			"failures":     "{{.failed}} messages to peers could not be sent{{with .lost}} and {{.}} connections were lost{{end}}: a network problem, or a member that was down.",
			"CPU":          "The CPUs were {{.busy}} busy: a leader short of CPU sends its heartbeats late.",
			"late":         "Heartbeats sent late: {{.late}}.",
			"failed":       "Proposals that failed: {{.failed}}.",
			"restarts":     "Meanwhile members restarted {{.restarts}}; a restart of the leader changes the leader.",
			"unknown":      "These sources do not show what delayed the heartbeats: a restart, move-leader, the network or CPU are possible.",
		},
		Advice: map[string]rules.Advice{
			"network": {Summary: "Find the slow or lossy path between the members: ping and mtr between their peer addresses, drops in `ip -s link`, and CPU steal on both ends",
				Expect:    "round trips of a few milliseconds at most within a region, and no elections",
				TradeOff:  "none",
				NoCommand: "the path has to be found first"},
			"timeout": {Summary: "If the members are that far apart on purpose, set --heartbeat-interval to about the round trip and --election-timeout to ten times that, on all members",
				Expect:    "a late heartbeat does not cost the leader",
				TradeOff:  "a dead leader is noticed later",
				NoCommand: "it has to be configured on all members together, and each has to restart"},
			"CPU": {Summary: "Give etcd dedicated CPU: fewer neighbours on the host, a higher CPU request or limit",
				Expect: "heartbeats leave on time", TradeOff: "the instance's price",
				NoCommand: "it depends on what uses the CPUs"},
			"look": {Summary: "Read the members' logs at those times: \"lost leader\", \"elected leader\", \"dropped message\" and restarts name the member and the reason",
				Expect:    "the reason for each election",
				TradeOff:  "none",
				NoCommand: "the logs are on the members' hosts"},
		}}

	rule.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		changes, _ := mostElections(c)
		cells := anyHeld(c, held)
		rtt, to := slowestRoundTrip(c, cells, changes)

		// A single sync that may have cost the leader keeps the disk a suspect: other rules judge
		// it.
		long, _ := longSyncs(c)
		if long > 0 || changes == 0 && !(rtt >= slowRoundTripS) {
			return nil
		}
		return []rules.Finding{electionFinding(rule, c, cells, changes, rtt, to)}
	}

	return rule
}

func electionFinding(r rules.Rule, input *rules.Case, cells timeline.Mask, changes, rtt float64,
	to string) rules.Finding {
	finding := r.Finding("etcd")
	all, members := 0.0, input.Signal(WALFsyncs)
	for _, m := range members {
		all += math.Round(timeline.Sum(m.Values) * input.Grid.StepSeconds())
	}

	size := clusterSize(input, len(members))
	unread := size - len(members)

	// A slow network without elections is normal for members in several regions, and restarts are
	// maintenance: both are only worth an info.
	slow := rtt >= slowRoundTripS
	late, refused := summed(input, HeartbeatFailures), summed(input, ProposalsFailed)
	serious := slow || timeline.Mean(input.One(rules.CPUBusy)) > busyCPU
	known := serious || summed(input, PeerSendFailures) > 0
	restarted := restarts(input)
	finding.Severity = rules.Info

	switch {
	// A member that was not read may have the slow disk, so the finding is critical only if every member was
	// read.
	case changes >= manyChanges && serious && unread == 0:
		finding.Severity = rules.Critical
	case changes >= manyChanges && changes > restarted, changes > 0 && serious,
		slow && (late > 0 || refused > 0):
		finding.Severity = rules.Warning
	}

	finding.Foremost = true

	// Without stalled time there is nothing to take a share of, and the changes are the whole symptom.
	if finding.Weight = rules.Share(cells.Widen(1, 1), input.Stall.Cells); !input.Stall.Any() && changes > 0 {
		finding.Weight = 1
	}

	if !input.SinceStart {
		finding.Windows = input.Windows(cells)
	}

	finding.Say("not the disk", nil)
	if changes > 0 {
		finding.Say("changes", rules.Values{"changes": rules.Things(int(changes), "time"),
			"for": rules.If(!input.SinceStart, rules.Seconds(input.Whole().Seconds()))})
	} else {
		finding.Say("round trip", rules.Values{"rtt": rules.Seconds(rtt)})
	}

	finding.Say("syncs", rules.Values{"all": rules.Events(all), "read": rules.Things(len(members), "member")})
	if unread > 0 {
		finding.Say("unread", rules.Values{"unread": rules.Called(strconv.Itoa(unread)),
			"size": rules.Called(strconv.Itoa(size))})
	}

	if restarted > 0 {
		finding.Say("restarts", rules.Values{"restarts": rules.Things(int(restarted), "time")})
		known = true
	}

	explainElections(&finding, input, changes, rtt, to, known)
	finding.Evidence = append([]rules.Evidence{
		input.Figure("leader changes", LeaderChangesSeen, changes, "", cells),
		input.Figure("WAL syncs of over 512 ms", WALFsyncClasses, 0, "", cells),
	}, finding.Evidence...)

	return finding
}

// explainElections reports what delayed the heartbeats, with the evidence and the fix.
func explainElections(finding *rules.Finding, input *rules.Case, changes, rtt float64,
	to string, known bool) {
	whole := make(timeline.Mask, input.Grid.N).Not()
	count := func(text, words string, s *rules.Signal, key string, more rules.Values) {
		n := summed(input, s)
		if !(n > 0) {
			return
		}
		v := rules.Values{key: rules.Events(n)}
		maps.Copy(v, more)
		finding.Say(words, v)
		finding.Evidence = append(finding.Evidence, input.Figure(text, s, n, "", whole))
	}

	if rtt >= slowRoundTripS {
		finding.Say("network", rules.Values{"rtt": rules.Seconds(rtt), "to": rules.Called(to)})
		finding.Advise("network", nil)
		finding.Advise("timeout", nil)
	}

	// A fast round trip is evidence too: it rules out the network.
	if !math.IsNaN(rtt) {
		finding.Evidence = append(finding.Evidence,
			input.Figure("round trip to the slowest peer, mean", PeerRoundTrip, rtt, "seconds", whole))
	}

	lost := summed(input, PeersLost)
	count("messages to peers that could not be sent", "failures", PeerSendFailures, "failed",
		rules.Values{"lost": rules.If(lost > 0, rules.Events(lost))})
	// A leader that gets no CPU sends its heartbeats late, whatever disk and network do.
	if busy := timeline.Mean(input.One(rules.CPUBusy)); busy > busyCPU {
		finding.Say("CPU", rules.Values{"busy": rules.Part(busy)})
		finding.Advise("CPU", nil)
	}

	count("heartbeats sent late", "late", HeartbeatFailures, "late", nil)
	count("failed proposals", "failed", ProposalsFailed, "failed", nil)
	// Leader changes without any of the reasons above.
	if !known && changes > 0 {
		finding.Say("unknown", nil)
	}

	finding.Advise("look", nil)
}

// anyHeld returns the cells in which the condition was true for any member.
func anyHeld(c *rules.Case, held []timeline.Track) timeline.Mask {
	cells := make(timeline.Mask, c.Grid.N)
	for _, h := range held {
		cells = cells.Or(timeline.Known(h.Values))
	}
	return cells
}

// eachMember judges the members in turn, each with its track and the cells in which that has a value.
func eachMember(all []timeline.Track, judge func(t timeline.Track, instance string,
	cells timeline.Mask) (rules.Finding, bool)) (out []rules.Finding) {
	for _, t := range all {
		if f, ok := judge(t, t.Labels.Get("instance"), timeline.Known(t.Values)); ok {
			out = append(out, f)
		}
	}
	return out
}

// restarts counts decreases of the leader change counter, which starts at zero with the process.
func restarts(c *rules.Case) (n float64) {
	for _, t := range c.Signal(LeaderChangesSeen) {
		last := math.NaN()
		for _, x := range t.Values {
			if x < last {
				n++
			}
			if !math.IsNaN(x) {
				last = x
			}
		}
	}
	return n
}

// probeEvery is how often etcd records a round trip, smoothed over its probes (3.4 to 3.8,
// rafthttp/probing_status.go, statusMonitoringInterval).
const probeEvery = 30 * time.Second

// slowestRoundTrip returns the mean round trip to the slowest peer, and its id: around the
// elections if there were any, otherwise over the whole time.
func slowestRoundTrip(c *rules.Case, cells timeline.Mask, changes float64) (seconds float64, to string) {
	seconds = math.NaN()
	near := cells.Widen(c.Cells(probeEvery), c.Cells(probeEvery))
	for _, t := range c.Signal(PeerRoundTripTo) {
		typical := timeline.Quantile(t.Values, 0.5)

		// A round trip that is slow only around a change explains it better than the usual one.
		if mean := timeline.Mean(timeline.At(t.Values, near)); changes > 0 && mean > typical {
			typical = mean
		}
		if typical > seconds || math.IsNaN(seconds) && !math.IsNaN(typical) {
			seconds, to = typical, t.Labels.Get("To")
		}
	}
	return seconds, to
}

// summed returns a counter's increase over the recording, summed over all members.
func summed(c *rules.Case, s *rules.Signal) float64 {
	n := 0.0
	for _, t := range c.Signal(s) {
		if x := timeline.Sum(t.Values); x > 0 {
			n += x
		}
	}
	return math.Round(n * c.Grid.StepSeconds())
}

// clusterSize returns how many members the cluster has: as its members report or, without a report,
// the number read rounded up to odd, because an even number does not make a cluster safer.
func clusterSize(c *rules.Case, read int) int {
	size := 0
	for _, t := range c.Signal(ClusterSize) {
		if most := timeline.Max(t.Values); !math.IsNaN(most) {
			size = max(size, int(math.Round(most)))
		}
	}
	if size == 0 {
		size = read | 1
	}
	return max(size, read)
}
