package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// Version is the version of the plan's JSON. Adding fields does not change it.
const Version = 1

// A Plan is the result of a search. Its JSON is a contract: fields are added, never changed.
type Plan struct {
	Version    int         `json:"version"`
	Scenario   Document    `json:"scenario"`
	Objectives []Objective `json:"objectives"`
	Region     string      `json:"region"`
	BudgetUSD  *float64    `json:"budget_usd"` // null: none
	// To is the platform that the layout must be feasible on: "kubernetes"; "": any.
	To string `json:"to,omitempty"`
	// New: the plan is for a deployment that does not exist yet, and Now is null.
	New bool `json:"new,omitempty"`
	// Platforms are the results on each of several platforms; the rest of the plan is the cheapest of them.
	Platforms []PlatformPlan `json:"platforms,omitempty"`
	// Unpriced: the plan ignores prices, so its dollar figures are meaningless.
	Unpriced bool    `json:"unpriced,omitempty"`
	Now      *Layout `json:"now"`
	Chosen   *Layout `json:"chosen"`  // null: no layout that was considered meets the objectives
	Nearest  *Layout `json:"nearest"` // only then: the layout that comes closest
	// Frontier is the Pareto frontier of price and latency among the layouts that ran to the end,
	// by price.
	Frontier   []*Layout   `json:"frontier"`
	Rejected   []Rejected  `json:"rejected"` // the first rejectedMax, in order of preference
	Statements []Statement `json:"statements"`
	Sizing     *Sizing     `json:"sizing"` // null: no sizing was requested
	Searched   SearchStats `json:"searched"`
	ModelError string      `json:"model_error"`
}

// A Document is the scenario that a plan was made for.
type Document struct {
	File string `json:"file"`
	// Text is its YAML. The planner works on parsed values, so the caller that writes the JSON sets it.
	Text string `json:"text"`
	// Facts are assignments that describe the current deployment beyond the file, in the grammar of
	// `simulate --set`. Every layout includes them, and none counts as a change.
	Facts []string `json:"facts,omitempty"`
}

// An Objective is a bound to meet.
type Objective struct {
	Name        string  `json:"name"`
	MostSeconds float64 `json:"most_seconds"`
}

// Rejected is a layout that is preferable to the chosen one but misses the objectives.
type Rejected struct {
	Layout *Layout `json:"layout"`
	Reason string  `json:"reason"`
}

// SearchStats reports the extent of the search.
type SearchStats struct {
	Space     int64 `json:"space"`     // number of layouts in the space
	Simulated int   `json:"simulated"` // number of them that were simulated
	// number rejected without a run, including those that would repeat another run
	Pruned int `json:"pruned"`
	// Complete: the search rejected every layout preferable to the chosen one, or all layouts if none
	// was chosen.
	Complete bool `json:"complete"`
}

// rejectedMax bounds the number of rejected layouts that a plan lists.
const rejectedMax = 100

type planner struct {
	opt    *Options
	now    *scenario.Scenario
	engine Profile // of the current deployment
	want   []scenario.Bound
	space  *Space
	sim    *simulator

	grows    bool       // the data volume gets a new size
	before   dollars    // price of the current deployment, as written
	written  *outcome   // outcome of the current deployment, as written
	current  *outcome   // outcome of the current deployment with its new size; equals written without one
	boosted  []*outcome // current, with the maximum IOPS for one volume
	found    *searchResult
	extra    []*outcome    // runs beyond the search, for the frontier
	size     *Growth       // what the data volume must hold; nil: what the scenario says
	excluded []string      // machines that are too small for a new deployment, with the reason
	asked    time.Duration // the scenario's own duration if the planner had to extend it; else 0
}

// Make finds the cheapest layout of a scenario that meets its objectives. name is the scenario's
// file name. An error in the request is an *[InputError]. If no layout meets the objectives, that
// is not an error: Chosen is nil.
func Make(ctx context.Context, now *scenario.Scenario, name string, opt Options) (*Plan, error) {
	p := &planner{now: now, opt: &opt}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	return p.plan(name), nil
}

// prepare validates the options and builds the space and the simulator.
func (p *planner) prepare() error {
	// base starts with the facts of the current deployment; longer runs and a new size come on top,
	// so that later assignments win.
	var base []scenario.Set
	for _, s := range p.opt.Sets {
		base = append(base, scenario.Set{Path: strings.TrimSpace(s.Path), Value: s.Value})
	}

	if _, err := p.opt.profile(p.now); err != nil {
		return err
	}

	// extend replaces p.now, so read the profile only afterwards.
	if err := p.extend(&base); err != nil {
		return err
	}

	p.engine = p.opt.profileOf(p.now)
	var err error
	if p.want, err = objectives(p.now, &p.engine, p.opt.Objectives); err != nil {
		return err
	}

	// Only what --size adds beyond this point is a change that a layout reports.
	given := len(base)
	if p.size, err = p.needed(); err != nil {
		return err
	}
	if s := p.size; s != nil {
		grown, err := s.sets(p.now, &p.engine, p.opt.New)
		if err != nil {
			return err
		}
		if p.opt.New {
			grown = sizedInPlace(base, grown)
		}
		base = append(base, grown...)
		p.grows = true
	}

	sized := p.now
	if p.grows = p.grows && (p.opt.New || len(base) > given); p.grows {
		if sized, err = p.now.With(base...); err != nil {
			return err
		}
	}

	// The options start from the new size: a layout that keeps the old one could not hold the data.
	if p.space, err = makeSpace(sized, p.opt); err != nil {
		return err
	}

	p.grows = p.grows && !p.opt.New
	p.before = p.space.price(make([]int, len(p.space.axes)))
	if p.grows {
		// The deployment as written is priced at its old size, so that the report shows what growth
		// costs.
		was, err := makeSpace(p.now, p.opt)
		if err != nil {
			return err
		}
		p.before = was.price(make([]int, len(was.axes)))
	}

	p.space.base = base
	p.space.now = p.space.price(make([]int, len(p.space.axes)))
	p.space.most = micro(p.opt.Budget)
	p.sim = newSimulator(p.opt, p.now, p.space, p.want, p.opt.workers())

	if p.opt.Budget > 0 {
		// The walk is sorted by price. If even its first entry exceeds the budget, no search can
		// succeed, and an error with the minimum helps more than an empty plan.
		if w := p.space.walk(); len(w.paid) > 0 && w.paid[0].price > p.space.most {
			least := w.paid[0].price.usd()
			return inputf(fmt.Sprintf("--budget %.0fUSD is the least",
				least+0.5), "budget %s per month is too low: the cheapest layout costs %s, regardless of tuning",
				money(float64(p.opt.Budget)), money(least))
		}
	}

	return nil
}

// run searches, then makes the runs that only the report needs.
func (p *planner) run(ctx context.Context) error {
	none := make([]int, len(p.space.axes))
	present := p.space.candidate(none, none, p.space.price(none))
	if _, err := p.sim.parse(none); err != nil {
		return fmt.Errorf("plan: cannot simulate the scenario as written: %w", err)
	}

	if p.opt.New {
		if err := p.runNew(ctx, &present); err != nil {
			return err
		}
		return p.report(ctx)
	}

	// The report shows the current deployment even if the search never reaches it. Its run starts now,
	// alongside the search. The deferred calls cancel it and wait, so that no goroutine outlives run.
	running, stop := context.WithCancel(ctx)
	p.sim.present = sync.OnceValue(func() *outcome { return p.sim.whole(running, &present) })
	started := sync.WaitGroup{}
	started.Go(func() { p.sim.present() })
	defer started.Wait()
	defer stop()

	if err := p.search(ctx); err != nil {
		return err
	}

	if p.current = p.found.include(p.sim.present()); p.current.problem != nil {
		return ended(ctx, p.current.problem)
	}

	// The search reached its limit without an answer. A layout that meets the objective, though not
	// proven to be the cheapest, is more useful than none.
	if p.found.chosen == nil && !p.found.complete {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}

	return p.report(ctx)
}

// search runs the search.
func (p *planner) search(ctx context.Context) (err error) {
	var progress func(int, dollars)
	if p.opt.Progress != nil {
		progress = func(runs int, at dollars) { p.opt.Progress(runs, units.USD(at.usd())) }
	}

	p.found, err = search(ctx, p.space, p.sim, p.opt.workers(), p.opt.most(), progress)
	return err
}

// runNew searches the layouts of a new deployment. There is no current one to compare with, so the
// space's first layout takes its place, with the search's run of it, if any.
func (p *planner) runNew(ctx context.Context, first *candidate) error {
	if err := p.tooSmall(ctx); err != nil {
		return err
	}
	if err := p.search(ctx); err != nil {
		return err
	}

	first.price = p.space.now
	// A deployment that exists runs in any case and is not counted; here the first layout is one of them.
	for _, o := range append(slices.Clone(p.found.rejected), p.found.chosen) {
		if o != nil && o.isPresent() && (o.result != nil || o.missed != nil) {
			p.found.runs++
		}
	}
	p.current = p.found.include(&outcome{candidate: first})
	if p.found.chosen == nil && !p.found.complete {
		return p.settle(ctx)
	}
	return nil
}

// ended returns a run's error, or the context's cause if cancellation ended all runs.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// settleMax bounds the runs that make a layout cheaper once it meets the objective.
const settleMax = 200

// settle finds a layout that meets the objective after the search gave up. It starts from the
// cheapest of the strongest layouts that does, and makes single changes as long as they lower the
// price.
func (p *planner) settle(ctx context.Context) error {
	best := p.jobs(p.alternatives(p.current.candidate))
	if err := p.sim.workAll(ctx, best); err != nil {
		return err
	}

	var from *outcome
	for _, j := range best {
		if o := j.outcome; o.met && (from == nil || o.before(from.candidate) < 0) {
			from = o
		}
	}

	if from == nil {
		return nil
	}

	var err error
	p.found.chosen, err = descend(ctx, p.space, p.sim, from, p.opt.workers(), settleMax)
	return err
}

// plan assembles the report.
func (p *planner) plan(name string) *Plan {
	out := &Plan{
		Version: Version, Scenario: Document{File: name, Facts: texts(p.opt.Sets)}, Region: p.region(),
		Unpriced: p.opt.Unpriced,
		Now:      p.nowLayout(), New: p.opt.New, Objectives: []Objective{},
		Frontier: []*Layout{}, Rejected: []Rejected{},
		Statements: []Statement{},
		Searched:   SearchStats{Space: p.space.size(), Simulated: p.found.runs, Complete: p.found.complete},
		ModelError: p.modelError(),
	}

	if p.opt.To != nil {
		out.To = p.opt.To.Name()
	}

	if p.opt.Budget > 0 {
		b := float64(p.opt.Budget)
		out.BudgetUSD = &b
	}

	for _, b := range p.want {
		out.Objectives = append(out.Objectives, Objective{b.Name, float64(b.Most) / 1e9})
	}

	for _, o := range p.found.rejected {
		// All count as pruned, even those beyond rejectedMax that the plan does not list.
		if o.pruned || o.repeated {
			out.Searched.Pruned++
		}
		if len(out.Rejected) < rejectedMax {
			out.Rejected = append(out.Rejected, Rejected{p.layout(o), o.reason})
		}
	}

	if c := p.found.chosen; c != nil {
		out.Chosen = p.layout(c)
	} else if n := p.nearest(); n != nil {
		out.Nearest = p.layout(n)
	}

	for _, o := range p.frontier() {
		out.Frontier = append(out.Frontier, p.layout(o))
	}

	out.Statements = slices.Concat(p.statements(), p.buckets(), p.targetStatements(), p.machineStatements(),
		p.latencyStatements(), p.priceStatements(), p.newStatements(), p.runs())
	if p.size != nil {
		out.Sizing = p.size.table(p.now, &p.engine, p.opt.New)
	}

	return out
}

// modelError returns the sentence about the model's error, which all runs share.
func (p *planner) modelError() string {
	for _, o := range append([]*outcome{p.current}, p.whole()...) {
		if o.result != nil {
			return o.result.ModelError
		}
	}
	return ""
}

// region returns the region whose prices apply: the requested one, or otherwise the default region of the
// first volume's provider.
func (p *planner) region() string {
	return cmp.Or(p.opt.Region, catalog.DefaultRegion(Provider(p.now)))
}

// nowLayout returns the deployment as written.
func (p *planner) nowLayout() *Layout {
	if p.opt.New {
		return nil
	}
	return &Layout{
		Sets: texts(p.opt.Sets), MonthlyUSD: p.before.usd(), Changes: []Change{},
		Predicted: predicted(p.written.result), MeasuredSeconds: measured(p.written.result),
		Risks: p.risks(p.now, p.written), Caveats: caveats(p.written.result), Scenario: p.now,
	}
}

func money(usd float64) string {
	if usd >= 100 || usd == float64(int64(usd)) {
		return fmt.Sprintf("%.0f USD", usd)
	}
	return fmt.Sprintf("%.2f USD", usd)
}
