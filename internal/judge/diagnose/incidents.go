package diagnose

import (
	"cmp"
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/judge/incident"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// owners maps detector rank and cell to the incident that owns the stalled cell, plus 1; 0 if none
// does.
func owners(groups []incident.Group, detectors, cells int) [][]int32 {
	out := make([][]int32, detectors)
	for rank := range out {
		out[rank] = make([]int32, cells)
	}
	for n, g := range groups {
		for _, e := range g.Events {
			for _, p := range e.Parts {
				for k := p.First; k <= p.Last; k++ {
					out[p.Source][k] = int32(n + 1)
				}
			}
		}
	}
	return out
}

// layIncident builds the case of an incident: its time and its stalled time. The stalled time of
// other incidents is excluded, because it is neither part of this one nor calm.
func layIncident(c *rules.Case, groups []incident.Group, n int, order []int, owner [][]int32,
	opt incident.Options) *judged {
	g := groups[n]
	j := &judged{group: g, order: order, span: contextOf(c, g, opt.At), whole: c}
	j.c = c.Slice(j.span.First, j.span.Last)

	for rank, i := range order {
		s := &j.c.Symptoms[i]
		for k := range s.Cells {
			whose := owner[rank][j.span.First+k]
			if whose != 0 && int(whose) != n+1 {
				s.Cells[k], s.Active[k] = false, false
				if s.Intervals != nil {
					s.Intervals[k] = false
				}
			}
		}
	}

	lead := order[g.Lead()]
	j.c.Others = slices.Clone(c.Symptoms[lead].AsSampled()[j.span.First : j.span.Last+1])
	j.c.Stall = j.c.Symptoms[lead]
	j.c.Stall.Cells = g.Cells(g.Lead(), c.Symptoms[lead].Cells)[j.span.First : j.span.Last+1]

	if whole := c.Symptoms[lead].Intervals; whole != nil {
		j.c.Stall.Intervals = g.Cells(g.Lead(), whole)[j.span.First : j.span.Last+1]
	}

	j.c.Others = j.c.Others.Without(j.c.Stall.AsSampled())
	return j
}

// incidents finds and judges the incidents of a recording, most harmful first. more is how many
// were found but not judged.
func incidents(ctx context.Context, c *rules.Case, pack *rules.Pack, held []condition,
	progress func(done, total int)) (out []*judged, more int, err error) {
	groups, order, opt := group(c, pack, held)
	out, more, err = judgeGroups(ctx, c, pack, held, groups, order, opt, progress)
	if err != nil || len(out) < 2 {
		return out, more, err
	}
	// Whether two incidents have the same cause is only known once both are judged. Joined ones are
	// judged again, as one.
	joined := joinCauses(out, opt)
	if len(joined) == len(out) {
		return out, more, nil
	}
	out, fewer, err := judgeGroups(ctx, c, pack, held, slices.Concat(joined, groups[len(out):]), order,
		opt, progress)
	return out, fewer, err
}

// judgeGroups judges the most harmful groups.
func judgeGroups(ctx context.Context, c *rules.Case, pack *rules.Pack, held []condition,
	groups []incident.Group, order []int, opt incident.Options,
	progress func(done, total int)) (out []*judged, more int, err error) {
	owner := owners(groups, len(order), c.Grid.N)
	more = max(0, len(groups)-incidentsMax)
	out = make([]*judged, len(groups)-more)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))

	for n := range out {
		out[n] = layIncident(c, groups, n, order, owner, opt)
		g.Go(func() error {
			var err error
			out[n].findings, err = judgeRules(ctx, out[n].c, pack, held, out[n].span,
				func(r rules.Rule) bool { return !r.Whole })
			return err
		})
		progress(n, len(out))
	}

	return out, more, g.Wait()
}

// causeWeight is the share of an incident that a cause must explain to distinguish it from another
// incident.
const causeWeight = 0.25

// joinCauses joins incidents of one detector that are near each other and have the same cause.
func joinCauses(all []*judged, opt incident.Options) []incident.Group {
	var out []incident.Group
	var of []*judged
	for _, j := range all {
		into := -1
		for i, g := range out {
			if g.Lead() == j.group.Lead() && incident.Near(g, j.group, opt) && sameCause(of[i], j) {
				into = i
				break
			}
		}

		if into < 0 {
			out, of = append(out, j.group), append(of, j)
			continue
		}

		out[into] = incident.Join(out[into], j.group, opt)
	}

	slices.SortStableFunc(out, func(a, b incident.Group) int { return cmp.Compare(b.Harm(), a.Harm()) })
	return out
}

// sameCause reports whether the larger incident a and incident b have the same cause: the top cause
// of each is among the other's causes (one direction is enough if their times overlap), or b has no
// cause.
func sameCause(a, b *judged) bool {
	of := func(j *judged) (out []Finding) {
		for _, f := range j.findings {
			if f.Kind == Cause && f.Weight >= causeWeight {
				out = append(out, f)
			}
		}
		return out
	}

	x, y := of(a), of(b)
	if len(y) == 0 {
		return len(x) == 0 || b.c.Stall.Cells.Count() <= a.c.Stall.Cells.Count()/2
	}

	if len(x) == 0 {
		return false
	}

	has := func(all []Finding, f Finding) bool {
		return slices.ContainsFunc(all, func(o Finding) bool { return o.Rule == f.Rule && o.Subject == f.Subject })
	}
	if !sameResources(x, y) || !sameResources(y, x) {
		return false
	}
	if incident.Crosses(a.group, b.group) {
		return (has(x, y[0]) || has(y, x[0])) && sameCaps(x, y)
	}

	return has(x, y[0]) && has(y, x[0]) && sameCaps(x, y)
}

// resourceWeight is the share of an incident that a saturated resource must explain to set it
// apart: an incident without that resource then has another cause, whatever the database did in
// both.
const resourceWeight = 0.75

// sameResources reports whether every resource that explains incident x is also among the causes of
// y.
func sameResources(x, y []Finding) bool {
	return !slices.ContainsFunc(x, func(f Finding) bool {
		return origin(f) > 0 && f.Severity == Critical && f.Weight >= resourceWeight &&
			!slices.ContainsFunc(y, func(o Finding) bool { return o.Rule == f.Rule })
	})
}

// capApart is the ratio above which two observed caps are different caps.
const capApart = 1.5

// sameCaps reports whether every device has the same cap in both incidents.
func sameCaps(x, y []Finding) bool {
	for _, f := range x {
		for _, o := range y {
			if f.Cap == nil || o.Cap == nil || f.Rule != o.Rule || f.Subject != o.Subject {
				continue
			}
			p, q := f.Cap.IOPS+f.Cap.Throughput, o.Cap.IOPS+o.Cap.Throughput
			if max(p, q) > capApart*min(p, q) {
				return false
			}
		}
	}
	return true
}

// incident returns the report on a judged incident of a recording.
func (j *judged) incident(id int, whole *rules.Case, pack *rules.Pack) Incident {
	lead := j.c.Stall
	at := j.group.Span()
	x := Incident{ID: id, Kind: Stalled, Class: string(lead.Class), Subject: lead.Called(),
		From: j.whole.Grid.Start(at.First), To: j.whole.Grid.Time(at.Last), Findings: j.findings,
		Account: account(j.c), Measured: j.c.Traced()}
	x.Stalls = summarise(j.c, whole.Seconds(detector(whole, j.lead()).Observed))
	for _, rank := range j.group.Sources() {
		s := j.whole.Symptoms[j.order[rank]]
		x.Hurt = append(x.Hurt, hurt(j.whole, s, j.group.Cells(rank, s.AsSampled())))
	}
	span := when(Span{From: x.From, To: x.To}, whole.Whole())
	x.Verdict = withAdded(x.Findings, stalledSentence(x.Stalls, pack, span)+
		why(x.Findings, x.Stalls, x.Measured, x.Account))
	return x
}

// hurt summarises what one detector saw of an incident.
func hurt(c *rules.Case, s rules.Stall, cells timeline.Mask) Hurt {
	out := Hurt{Signal: s.Called(), Class: string(s.Class), Seconds: c.Seconds(cells),
		Operations: known(timeline.Sum(timeline.At(s.Ops, cells)) * c.Grid.StepSeconds())}
	if s.Waiting != nil {
		waited := known(timeline.Sum(timeline.At(s.Waiting, cells)) * c.Grid.StepSeconds())
		out.WaitedS = &waited
	}
	if worst := timeline.Max(timeline.At(s.Latency, cells)); known(worst) == worst {
		out.WorstS = &worst
	}
	return out
}
