package diagnose

import (
	"context"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/incident"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A latency is compared with its usual value only if there are enough operations for it to be
// meaningful, if they wait long enough in total to matter, and if the difference exceeds the
// resolution of clocks.
const (
	worseLeastOps     = 2.0
	worseDeviceOps    = 10.0
	worseLeastWaiting = 0.02
	worseLeastS       = 0.0002
	// worseLeastCounted is the least waiting if waiting sessions are counted at sampled moments:
	// with a single session, the count is mostly rounding.
	worseLeastCounted = 2.0
)

// worseCells is how many cells form a block for comparison: ten, or fewer if a cell is half a
// minute or longer.
func worseCells(c *rules.Case) int {
	const most, coarseS = 10, 60.0
	if c.Grid.StepSeconds() < coarseS/2 {
		return most
	}
	return max(1, int(coarseS/c.Grid.StepSeconds()))
}

// gotWorse returns the stretches in which some class of operation was clearly slower than usual but
// did not stall: of databases, or of devices if no database reports client latency.
func gotWorse(ctx context.Context, c *rules.Case, pack *rules.Pack, held []condition,
	stalls []*judged) (out []*judged, err error) {
	order, sources := detectors(c)
	database := false
	for place, i := range order {
		s := c.Symptoms[i]
		if s.IsDatabase {
			database = true
		}

		connected := s.Latency == nil && s.Connected != nil && s.Ops != nil
		// A log of slow calls has latencies, but does not count the calls.
		measured := s.Latency != nil && s.Waiting != nil && s.Ops != nil
		if !measured && !connected || database && !s.IsDatabase || s.IsDatabase && s.Aside {
			continue
		}

		judge := changed
		if connected {
			judge = fewerDone
		}

		j, ok := judge(c, s, stalls)
		if !ok {
			continue
		}

		j.order = order
		e := j.group.Events[0].Parts[0].Episode
		j.group.Events[0].Parts[0].Source = place
		j.group.Events[0].Harm = timeline.Sum(sources[place].Harm[e.First : e.Last+1])

		j.findings, err = judgeRules(ctx, j.c, pack, held, j.span, func(r rules.Rule) bool { return !r.Whole })
		if err != nil {
			return nil, err
		}

		out = append(out, j)
	}

	return out, nil
}

// changed builds the case of a shift in one detector's latency.
func changed(c *rules.Case, s rules.Stall, stalls []*judged) (*judged, bool) {
	counted := timeline.Known(s.Latency).Without(s.Cells.Widen(1, 1))

	// A few long operations do not mean that the system became slower.
	if s.Few != nil {
		counted = counted.Without(s.Few)
	}

	least := worseLeastOps
	if !s.IsDatabase {
		least = worseDeviceOps
	}

	x, ok := incident.FindShift(s.Latency, s.Ops, counted, least, worseCells(c))
	if !ok || x.ThenS-x.UsualS < worseLeastS || x.ThenS*x.ThenOps < worseLeastWaiting {
		return nil, false
	}

	cells := timeline.MaskOf(c.Grid.N, []timeline.Episode{x.Episode}).And(counted)

	// A steadily growing latency is described by its value at the end, so judge only the last fifth.
	if x.Growing {
		last := timeline.Episode{First: x.Last - (x.Last-x.First)/5, Last: x.Last}
		cells = timeline.MaskOf(c.Grid.N, []timeline.Episode{last}).And(counted)
	}

	if around(stalls, s, x) || s.Sampled && x.ThenS*x.ThenOps < worseLeastCounted {
		return nil, false
	}

	return changeOf(c, s, x, cells, 0), true
}

// around reports whether a shift overlaps a stall of the same operations.
func around(stalls []*judged, s rules.Stall, x incident.Shift) bool {
	return slices.ContainsFunc(stalls, func(j *judged) bool {
		e := j.group.Span()
		return j.c.Stall.Subject == s.Subject && x.First <= e.Last && e.First <= x.Last
	})
}

// stayed is the share of the usual clients above which all count as still connected.
const stayed = 0.9

// fewerDone builds the case of completions that fall while clients stay connected, for sources
// without a latency.
func fewerDone(c *rules.Case, s rules.Stall, stalls []*judged) (*judged, bool) {
	each := rules.Ratio(s.Connected, s.Ops)

	counted := timeline.Known(each).Without(s.Cells.Widen(1, 1))
	x, ok := incident.FindShift(each, s.Ops, counted, worseLeastOps, worseCells(c))
	if !ok || x.Growing || around(stalls, s, x) {
		return nil, false
	}

	cells := timeline.MaskOf(c.Grid.N, []timeline.Episode{x.Episode}).And(counted)
	connected := timeline.Quantile(timeline.At(s.Connected, cells), 0.5)
	j := changeOf(c, s, x, cells, connected)

	return j, j.c.Change.LessDone() &&
		connected >= stayed*timeline.Quantile(timeline.At(s.Connected, counted.Without(cells)), 0.5)
}

// changeOf builds the case of a shift.
func changeOf(c *rules.Case, s rules.Stall, x incident.Shift, cells timeline.Mask,
	connected float64) *judged {
	j := &judged{group: incident.Group{Events: []incident.Event{{Parts: []incident.Part{{Episode: x.Episode}}}}},
		span: timeline.Episode{First: 0, Last: c.Grid.N - 1}, whole: c, worse: true}
	j.c = c.Slice(0, c.Grid.N-1)
	s = s.Slice(0, c.Grid.N-1)
	s.Cells = cells
	j.c.Stall = s
	j.c.Change = &rules.Change{Stall: s, Cells: cells, UsualS: x.UsualS, ThenS: x.ThenS, UsualOps: x.UsualOps,
		ThenOps: x.ThenOps, Connected: connected, Growing: x.Growing, SameLoad: x.SameLoad()}
	return j
}

// worseIncident returns the report on a stretch that got worse.
func (j *judged) worseIncident(id int, whole *rules.Case, pack *rules.Pack) Incident {
	s, x := j.c.Stall, j.c.Change
	e := j.group.Span()
	out := Incident{ID: id, Kind: Worse, Class: string(s.Class), Subject: s.Called(),
		From: whole.Grid.Start(e.First), To: whole.Grid.Time(e.Last), Findings: j.findings, Account: []Share{}}
	out.Hurt = []Hurt{hurt(whole, s, s.Cells)}
	out.Hurt[0].Seconds = 0

	// Nothing stalled, so the summary must not count the cells of the shift.
	quiet := s
	quiet.Cells = make(timeline.Mask, len(s.Cells))
	calm := *j.c
	calm.Stall = quiet
	out.Stalls = summarise(&calm, whole.Seconds(s.Observed))
	span := when(Span{From: out.From, To: out.To}, whole.Whole())

	if slow := slowMeanwhile(j.c); slow != "" && x.Connected > 0 {
		out.Verdict = withAdded(out.Findings, fewerSentence(x, pack, span)+", and "+slow+
			": operations probably took longer."+flushed(out.Findings)+because(out.Findings))
		return out
	}

	out.Verdict = withAdded(out.Findings, worseSentence(x, pack, span)+because(out.Findings))
	return out
}

// fewerSentence reports what is known without a latency. It has no full stop.
func fewerSentence(x *rules.Change, pack *rules.Pack, when string) string {
	return fmt.Sprintf("%s fell from %s to %s%s, while %s clients stayed connected",
		upperFirst(x.Stall.Called(), pack),
		units.Value(x.UsualOps, "1/s"), units.Value(x.ThenOps, "1/s"), when, units.Number(math.Round(x.Connected)))
}

const (
	// A device may explain a stretch with fewer completions if it is slow for at least slowThen of
	// it and for at most slowOtherwise of the remaining time.
	slowThen      = 0.7
	slowOtherwise = 0.2
)

// slowMeanwhile names a device that was slow in the stretch but rarely otherwise; "" if there is
// none.
func slowMeanwhile(c *rules.Case) string {
	then := c.Change.Cells
	for _, s := range c.Symptoms {
		if s.IsDatabase || rules.Share(s.Cells, then) < slowThen ||
			rules.Share(s.Cells, s.Observed.Without(then.Widen(slowEdge, slowEdge))) > slowOtherwise {
			continue
		}
		median := func(in timeline.Mask) string {
			return units.Seconds(timeline.Quantile(timeline.At(s.Latency, in), 0.5))
		}
		return fmt.Sprintf("%s rose from %s to %s", s.Called(), median(s.Observed.Without(then)), median(then))
	}
	return ""
}

// slowEdge is how many intervals on either side of a stretch may still belong to it, since a
// stretch consists of whole blocks.
const slowEdge = 10

// flushed says that the OS flushed its page cache, if a finding says so.
func flushed(findings []Finding) string {
	if slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Rule == "host/writeback-backlog" && f.Kind == Cause && f.Weight >= slowThen && f.Severity == Info
	}) {
		return " Meanwhile the OS flushed its page cache."
	}
	return ""
}

func worseSentence(x *rules.Change, pack *rules.Pack, when string) string {
	name := upperFirst(x.Stall.Called(), pack)
	rate := func(ops float64) string { return units.Value(ops, "1/s") }
	if x.Connected > 0 {
		return fewerSentence(x, pack, when) + ": either the load fell or operations took longer."
	}

	noStall := "did not stall"
	if x.Stall.PeriodS > coarseS {
		noStall += " (" + samplesOf(x.Stall.PeriodS) + ")"
	}

	text := fmt.Sprintf("%s %s, but their latency rose from %s to %s%s", name, noStall,
		units.Seconds(x.UsualS), units.Seconds(x.ThenS), when)
	if x.Growing {
		text = fmt.Sprintf("%s %s, but their latency grew steadily from %s to %s", name, noStall,
			units.Seconds(x.UsualS), units.Seconds(x.ThenS))
	}

	switch {
	case x.LessDone():
		return text + fmt.Sprintf("; throughput fell from %s to %s.", rate(x.UsualOps), rate(x.ThenOps))
	case x.SameLoad:
		return text + ", at the same load."
	}

	return text + fmt.Sprintf(", as load rose from %s to %s.", rate(x.UsualOps), rate(x.ThenOps))
}
