package rules

import (
	"math"
	"time"

	"plimsoll/internal/record/timeline"
)

// Logged is a kind of call that an engine's log reports if it is slow. Only the slow ones are known:
// no share of all calls and no percentile can be computed. The signals are those of the counters of
// package serverlog.
type Logged struct {
	Calls string // after a count: "WAL fdatasyncs of over 1 s"
	// Count is the number of slow calls per second, Time their duration (credited when they ended),
	// Running how many ran at a time, and Longest the longest that ended in an interval.
	Count, Time, Running, Longest *Signal
}

// Logged declares the signals of a kind of slow call, by the prefix of their names and of the
// metrics' names.
func (g *Group) Logged(name, metric, calls string, by ...string) Logged {
	add := func(suffix, unit, help, expr string) *Signal {
		return g.Add(Signal{Name: SignalPrefix + name + suffix, Unit: unit, Help: help, By: by,
			Exprs: []string{expr}})
	}
	return Logged{
		Calls: calls,
		Count: add(":rate", "1/s", "logged "+calls+" per second", `irate(`+metric+`_total[$w])`),
		Time: add("_time:ratio", "s/s", "duration of logged "+calls+", per second, when they ended",
			`irate(`+metric+`_seconds_total[$w])`),
		Running: add("_running:ratio", "s/s", "logged "+calls+" running at a time",
			`irate(`+metric+`_running_seconds_total[$w])`),
		Longest: add("_longest:seconds", "seconds", "longest of the logged "+calls+" that ended in an interval",
			metric+`_longest_seconds`),
	}
}

// A LoggedSum sums up a log's slow calls over some time.
type LoggedSum struct {
	N, Seconds, Longest float64
	At                  time.Time // when the longest ended; zero if there is none
	// Running marks the cells in which one ran.
	Running timeline.Mask
}

// SumOf adds up the logged calls of the whole case.
func (c *Case) SumOf(l Logged) LoggedSum {
	out := LoggedSum{Running: make(timeline.Mask, c.Grid.N)}
	step := c.Grid.StepSeconds()

	if count := c.One(l.Count); count != nil {
		out.N = math.Round(timeline.Sum(count) * step)
		out.Seconds = timeline.Sum(c.One(l.Time)) * step
	}
	for k, x := range c.One(l.Longest) {
		if x > out.Longest {
			out.Longest, out.At = x, c.Grid.Time(k)
		}
	}
	for k, x := range c.One(l.Running) {
		out.Running[k] = x > 0
	}

	// A reader writes the longest with every call, so without it there is none in this time.
	if out.Longest == 0 {
		out.N, out.Seconds = 0, 0
	}

	return out
}

// Values are the words' values: n, total, longest, at.
func (s LoggedSum) Values() Values {
	v := Values{"n": wholeCount(s.N), "total": Seconds(s.Seconds), "longest": Seconds(s.Longest), "at": ""}
	if !s.At.IsZero() {
		v["at"] = Moment(s.At)
	}
	return v
}

// Evidence adds the sum's numbers to a finding.
func (s LoggedSum) Evidence(c *Case, l Logged) []Evidence {
	return []Evidence{
		c.Figure("logged "+l.Calls, l.Count, s.N, "", s.Running),
		c.Figure("the longest of them", l.Longest, s.Longest, "seconds", s.Running),
		c.Figure("all of them together", l.Time, s.Seconds, "seconds", s.Running),
	}
}

// StallOf finds the stalled time in logged calls: the cells in which at least so many ran. It returns
// false if there are none, because a log without slow calls does not show that nothing was slow.
func (sig *Signals) StallOf(l Logged, atLeast float64, s Stall) (Stall, bool) {
	running := sig.One(l.Running)
	if running == nil || !(timeline.Sum(running) > 0) {
		return s, false
	}

	s.Of = []*Signal{l.Running}
	s.PeriodS = sig.ResolutionS(s.Of...)
	s.Logged, s.IsDatabase = true, true
	s.Waiting, s.Ops = running, sig.One(l.Count)
	s.Observed = timeline.Known(running)
	s.Cells = timeline.Where(running, func(x float64) bool { return x >= atLeast }).And(s.Observed)

	s.Latency = timeline.Unknown(len(running))
	for k, x := range sig.One(l.Longest) {
		if x > 0 {
			s.Latency[k] = x
		}
	}

	return s, s.Any()
}

// Covers reports whether metrics are sampled often enough to show a stall of seconds. Then a log, which
// has only the slow calls, is not needed to find stalls; otherwise it is the better source.
func (sig *Signals) Covers(of *Signal) bool {
	return sig.Measured(of) && sig.ResolutionS(of) < CoarseFromS
}

// manyLogged is how many slow calls that clients wait for are more than a few long ones.
const manyLogged = 10.0

// A SlowCalls is a kind of slow call that a finding is about.
type SlowCalls struct {
	Of    Logged
	Words string // for its values: see [LoggedSum.Values]
	// Waits means that clients wait for these calls: many of them are a warning.
	Waits bool
}

// SlowLogged is the finding of a rule about the slow calls in a log. It is an effect, because a log of
// slow calls does not say why they were slow. waits are the cells in which clients waited for one, and
// all is the total duration of the calls, in seconds. It returns false if the log has none.
func (r Rule) SlowLogged(c *Case, subject string, kinds ...SlowCalls) (f Finding, waits timeline.Mask,
	all float64, ok bool) {
	f = r.Finding(subject)
	f.Severity, f.Effect = Info, true
	running := make(timeline.Mask, c.Grid.N)
	waits = make(timeline.Mask, c.Grid.N)

	for _, k := range kinds {
		sum := c.SumOf(k.Of)
		if sum.N < 1 {
			continue
		}

		f.Say(k.Words, sum.Values())
		f.Evidence = append(f.Evidence, sum.Evidence(c, k.Of)...)
		running, all = running.Or(sum.Running), all+sum.Seconds
		if k.Waits {
			waits = waits.Or(sum.Running)
			if sum.N >= manyLogged {
				f.Severity = Warning
			}
		}
	}

	f.Windows = c.Windows(running.Close(c.Cells(5e9)))
	f.Weight = Share(running, c.Stall.Cells)
	return f, waits, all, running.Count() > 0
}

// NothingLogged is the finding about a log without any slow call, which says what the log does not
// show. limit says which calls the engine logs, and which setting decides. read is a signal that every
// log has.
func NothingLogged(id, product, limit string, read *Signal, all ...Logged) Rule {
	r := Rule{ID: id, Title: "The log has nothing slow", Kind: Symptom, Whole: true,
		NoAlert: "it is about a log that was read",
		Cause:   "A server logs a call only if it takes longer than a threshold. A log without such lines says that nothing took longer than that, not that nothing waited.",
		Words: Words{
			"nothing": "In {{.for}} " + product + "'s log has nothing slow. " + limit,
			"open":    "Nothing slow was logged in {{.for}}. " + limit,
		},
		Advice: map[string]Advice{"measure": {Summary: "Record the server's metrics, which cover all calls, and give them together with the log",
			Expect: "the next diagnosis covers what is below the log's threshold", TradeOff: "none",
			NoCommand: "it depends on how the server is monitored"}},
	}
	r.Needs = []*Signal{read}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		seen := timeline.Known(c.One(read))
		for _, l := range all {
			if timeline.Sum(c.One(l.Running)) > 0 {
				return nil
			}
		}

		f := r.Finding(product)
		f.Severity = Info
		v := Values{"for": Seconds(c.Seconds(seen))}
		f.Say("nothing", v)

		// If the clients' waits are measured, the log adds nothing.
		if !c.Stall.IsDatabase || c.Stall.Observed.Count() == 0 {
			f.Open("open", v)
		}

		f.Evidence = []Evidence{c.Figure("slow calls in the log", all[0].Count, 0, "", seen)}
		f.Advise("measure", nil)
		return []Finding{f}
	}

	return r
}
