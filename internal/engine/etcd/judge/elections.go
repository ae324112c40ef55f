package judge

import (
	"math"
	"strconv"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// A follower calls an election after one to two election timeouts without a heartbeat (etcd 3.5.9,
	// raft/raft.go:1713). A sync of half a timeout may be part of why, a shorter one is not: the
	// histogram's edge is 512 ms, the default timeout a second.
	blamelessS = 0.512
	// etcd's tuning page: a heartbeat's interval is about a round trip, 100 ms by default.
	slowRoundTripS = heartbeat
	// One change is what maintenance makes: a restart, or move-leader.
	manyChanges = 3.0
)

// elections counts how often the leader changed while a member watched. The counter contains the
// first leader that a process sees, so a step from zero is its start and a fall is a restart.
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

// mostElections is the most that any member saw: false if none counts them.
func mostElections(c *rules.Case) (n float64, known bool) {
	for _, m := range c.Signal(LeaderChangesSeen) {
		n, known = max(n, elections(c, m.Labels.Get("instance"))), true
	}
	return n, known
}

// longSyncs counts the members' syncs that are long enough to cost a leader, and names the member
// with the most.
func longSyncs(c *rules.Case) (n float64, member string) {
	for _, m := range c.Signal(WALFsyncs) {
		t := tailOf(c, m.Labels.Get("instance"))
		long := t.over(blamelessS)
		if long > n || member == "" {
			member = t.instance
		}
		n = max(n, long)
	}
	return n, member
}

func electionsWithoutDisk() rules.Rule {
	r := rules.Rule{ID: "etcd/elections-without-disk", Title: "Leaders change, and the disk is not why",
		Kind: rules.Cause, Sums: true,
		When:    "plimsoll:etcd_leader_changes:rate > 0 or plimsoll:etcd_peer_round_trip:seconds > 0.1",
		Needs:   []*rules.Signal{LeaderChangesSeen, WALFsyncs, WALFsyncClasses},
		Refutes: rules.DiskResources,
		NoAlert: "it takes the members' syncs together to rule the disks out",
		Cause:   "A follower that hears nothing from the leader for one to two election timeouts calls an election, and no write is committed until it is over. Heartbeats get lost or late in the network, on a host without CPU, or when the leader is restarted. A slow disk can do the same, but then the leader's WAL has syncs of that length.",
		Words: rules.Words{
			"not the disk": "No volume fixes this:",
			"changes":      "the leader changed {{.changes}} times{{with .for}} in {{.}}{{end}},",
			"round trip":   "peers took {{.rtt}} to answer on average,",
			"syncs":        "and of the {{.all}} WAL syncs of {{.read}} no sync took over 512 ms (half of an election timeout).",
			"unread":       "{{.unread}} of the cluster's {{.size}} members are not in these sources: their disks are not ruled out.",
			"network":      "Peers take {{.rtt}} to answer{{with .to}} (slowest: {{.}}){{end}}, against a heartbeat's interval of 100 ms: heartbeats arrive late. Look at the network between the members, and at CPUs that are slow to answer.",
			"failures":     "{{.failed}} messages to peers could not be sent{{with .lost}} and {{.}} connections were lost{{end}}: the network, or a member that was down.",
			"CPU":          "The CPUs were {{.busy}} busy: a leader without CPU sends its heartbeats late.",
			"late":         "{{.late}} heartbeats were sent late.",
			"failed":       "{{.failed}} proposals failed.",
			"restarts":     "Members restarted {{.restarts}} times meanwhile, and the leader's restart is a change of the leader.",
			"unknown":      "What made the heartbeats late is not in these sources: a restart, move-leader, the network or CPU are possible.",
		},
		Advice: map[string]rules.Advice{
			"network": {Summary: "Find the slow or lossy path between the members: ping and mtr between their peer addresses, drops in `ip -s link`, and CPU steal on both ends",
				Expect:    "round trips of a few milliseconds at most within a region, and no elections",
				TradeOff:  "none",
				NoCommand: "the path has to be found first"},
			"timeout": {Summary: "If the members are that far apart on purpose, set --heartbeat-interval to about the round trip and --election-timeout to ten times that, on all members",
				Expect:    "a late heartbeat costs no leader",
				TradeOff:  "a leader that dies is noticed later",
				NoCommand: "all members take it together, where each is configured, and each restarts for it"},
			"CPU": {Summary: "Give etcd dedicated CPU: fewer neighbours on the host, a higher CPU request or limit",
				Expect: "heartbeats leave on time", TradeOff: "the instance's price",
				NoCommand: "what uses the CPUs decides"},
			"look": {Summary: "Read the members' logs at those times: \"lost leader\", \"elected leader\", \"dropped message\" and restarts name the member and the reason",
				Expect:    "the reason for each election",
				TradeOff:  "none",
				NoCommand: "the logs are where the members run"},
		}}

	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		changes, _ := mostElections(c)
		cells := anyHeld(c, held)
		rtt, to := slowestRoundTrip(c, cells, changes)
		long, _ := longSyncs(c)
		if long > 0 || changes == 0 && !(rtt >= slowRoundTripS) {
			return nil
		}
		return []rules.Finding{electionFinding(r, c, cells, changes, rtt, to)}
	}

	return r
}

func electionFinding(r rules.Rule, c *rules.Case, cells timeline.Mask, changes, rtt float64,
	to string) rules.Finding {
	f := r.Finding("etcd")
	all, members := 0.0, c.Signal(WALFsyncs)
	for _, m := range members {
		all += math.Round(timeline.Sum(m.Values) * c.Grid.StepSeconds())
	}

	size := clusterSize(c, len(members))
	unread := size - len(members)

	// A slow network without elections is how members in several regions are, and restarts of members
	// are maintenance: both are worth a line and no more.
	slow := rtt >= slowRoundTripS
	late, refused := summed(c, HeartbeatFailures), summed(c, ProposalsFailed)
	serious := slow || timeline.Mean(c.One(rules.CPUBusy)) > busyCPU
	known := serious || summed(c, PeerSendFailures) > 0
	restarted := restarts(c)
	f.Severity = rules.Info

	switch {
	case changes >= manyChanges && serious && unread == 0:
		f.Severity = rules.Critical
	case changes >= manyChanges && changes > restarted, changes > 0 && serious,
		slow && (late > 0 || refused > 0):
		f.Severity = rules.Warning
	}

	f.Foremost = true
	if f.Weight = rules.Share(cells.Widen(1, 1), c.Stall.Cells); !c.Stall.Any() && changes > 0 {
		f.Weight = 1
	}

	if !c.SinceStart {
		f.Windows = c.Windows(cells)
	}

	f.Say("not the disk", nil)
	if changes > 0 {
		v := rules.Values{"changes": counted(changes), "for": ""}
		if !c.SinceStart {
			v["for"] = rules.Seconds(c.Whole().Seconds())
		}
		f.Say("changes", v)
	} else {
		f.Say("round trip", rules.Values{"rtt": rules.Seconds(rtt)})
	}

	f.Say("syncs", rules.Values{"all": counted(all), "read": rules.Things(len(members), "member")})
	if unread > 0 {
		f.Say("unread", rules.Values{"unread": rules.Called(strconv.Itoa(unread)),
			"size": rules.Called(strconv.Itoa(size))})
	}

	if restarted > 0 {
		f.Say("restarts", rules.Values{"restarts": counted(restarted)})
		known = true
	}

	sayWhy(&f, c, changes, rtt, to, known)
	f.Evidence = append([]rules.Evidence{
		c.Figure("leader changes", LeaderChangesSeen, changes, "", cells),
		c.Figure("WAL syncs of over 512 ms", WALFsyncClasses, 0, "", cells),
	}, f.Evidence...)

	return f
}

// sayWhy names what made heartbeats late, with its evidence and its fix.
func sayWhy(f *rules.Finding, c *rules.Case, changes, rtt float64, to string, known bool) {
	whole := make(timeline.Mask, c.Grid.N).Not()
	count := func(text, words string, s *rules.Signal, key string, more rules.Values) {
		n := summed(c, s)
		if !(n > 0) {
			return
		}
		v := rules.Values{key: counted(n)}
		for k, x := range more {
			v[k] = x
		}
		f.Say(words, v)
		f.Evidence = append(f.Evidence, c.Figure(text, s, n, "", whole))
	}

	if rtt >= slowRoundTripS {
		f.Say("network", rules.Values{"rtt": rules.Seconds(rtt), "to": rules.Called(to)})
		f.Advise("network", nil)
		f.Advise("timeout", nil)
	}

	if !math.IsNaN(rtt) {
		f.Evidence = append(f.Evidence,
			c.Figure("round trip to the slowest peer, mean", PeerRoundTrip, rtt, "seconds", whole))
	}

	lost := rules.Value("")
	if n := summed(c, PeersLost); n > 0 {
		lost = counted(n)
	}

	count("messages to peers that could not be sent", "failures", PeerSendFailures, "failed",
		rules.Values{"lost": lost})
	if busy := timeline.Mean(c.One(rules.CPUBusy)); busy > busyCPU {
		f.Say("CPU", rules.Values{"busy": rules.Part(busy)})
		f.Advise("CPU", nil)
	}

	count("heartbeats sent late", "late", HeartbeatFailures, "late", nil)
	count("proposals that failed", "failed", ProposalsFailed, "failed", nil)
	if !known && changes > 0 {
		f.Say("unknown", nil)
	}

	f.Advise("look", nil)
}

// anyHeld are the cells in which a condition held of any member.
func anyHeld(c *rules.Case, held []timeline.Track) timeline.Mask {
	cells := make(timeline.Mask, c.Grid.N)
	for _, h := range held {
		cells = cells.Or(timeline.Known(h.Values))
	}
	return cells
}

// restarts counts the falls of the counter of leader changes, which begins at zero with the process.
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

// probeEvery is how often etcd observes a round trip, smoothed over its probes (3.4 to 3.8,
// rafthttp/probing_status.go, statusMonitoringInterval).
const probeEvery = 30 * time.Second

// slowestRoundTrip is the mean round trip to the peer that takes longest, and its id: around the
// elections if there were any, otherwise of the whole time.
func slowestRoundTrip(c *rules.Case, cells timeline.Mask, changes float64) (seconds float64, to string) {
	seconds = math.NaN()
	near := cells.Widen(c.Cells(probeEvery), c.Cells(probeEvery))
	for _, t := range c.Signal(PeerRoundTripTo) {
		typical := timeline.Quantile(t.Values, 0.5)
		if mean := timeline.Mean(timeline.At(t.Values, near)); changes > 0 && mean > typical {
			typical = mean
		}
		if typical > seconds || math.IsNaN(seconds) && !math.IsNaN(typical) {
			seconds, to = typical, t.Labels.Get("To")
		}
	}
	return seconds, to
}

// summed is what a counter's rate adds up to over all members.
func summed(c *rules.Case, s *rules.Signal) float64 {
	n := 0.0
	for _, t := range c.Signal(s) {
		if x := timeline.Sum(t.Values); x > 0 {
			n += x
		}
	}
	return math.Round(n * c.Grid.StepSeconds())
}

// clusterSize is how many members the cluster has: as its members report, or else the next odd number
// from those read on, because an even number makes no cluster safer.
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
