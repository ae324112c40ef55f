package plan

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// A Layout is a deployment, described by assignments over the scenario, with its changes, cost and
// predicted effects.
type Layout struct {
	// Platform is where the layout is, if the plan compares several platforms.
	Platform string `json:"platform,omitempty"`
	// in the grammar of `simulate --set`; empty: the current deployment
	Sets       []string `json:"sets"`
	MonthlyUSD float64  `json:"monthly_usd"`
	Changes    []Change `json:"changes"`
	// Predicted are the model's figures with their error bars; empty if the run ended early or never
	// started.
	Predicted map[string]Prediction `json:"predicted"`
	// MeasuredSeconds is the virtual time that Predicted covers; 0 if it is empty.
	MeasuredSeconds float64 `json:"measured_seconds"`
	Risks           []Risk  `json:"risks"`
	// Caveats are reasons why the predicted figures do not hold, or hold only for a while.
	Caveats []simulate.Caveat `json:"caveats,omitempty"`
	// Budget is each volume's sustained limits: the minimum of the volume's and the machine's, after
	// bursts are used up.
	Budget []budget.Budget `json:"io_budget,omitempty"`
	// Scenario is the deployment; nil if the assignments are invalid.
	Scenario *scenario.Scenario `json:"-"`
}

// A Change is one value that differs from the current deployment.
type Change struct {
	Path string `json:"path"`
	// in the scenario's syntax; "": not set, or the product's default
	From  string  `json:"from"`
	To    string  `json:"to"`
	USD   float64 `json:"usd"`  // additional cost per month
	Free  bool    `json:"free"` // no monthly cost
	Needs string  `json:"what_it_needs"`
}

// A Prediction is a figure of the model with its error bar. In comparisons with real engines, all
// figures of this kind were between Low and High, and half were between TypicalLow and TypicalHigh.
type Prediction struct {
	Value       float64 `json:"value"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	TypicalLow  float64 `json:"typical_low"`
	TypicalHigh float64 `json:"typical_high"`
}

// A Risk is a risk that the operators accept with a layout.
type Risk struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// predict adds the error bar of a figure's kind.
func predict(value float64, kind simulate.Kind) Prediction {
	e := simulate.AccuracyOf(kind)
	return Prediction{
		Value: value, Low: value / e.Worst, High: value * e.Worst, TypicalLow: value / e.Median,
		TypicalHigh: value * e.Median,
	}
}

// ErrorBar explains the ranges of predictions.
func (p *Plan) ErrorBar() string {
	title := map[simulate.Kind]string{simulate.Rate: "rates", simulate.Duration: "checkpoints",
		simulate.P50: "medians", simulate.P99: "p99s"}
	var worst []string
	for _, k := range simulate.Kinds {
		worst = append(worst, fmt.Sprintf("%s %s times", title[k], units.Number(simulate.AccuracyOf(k).Worst)))
	}
	return fmt.Sprintf("the ranges show the models' worst errors (%s): %s",
		strings.Join(worst, ", "), p.ModelError)
}

// kindOf returns the kind of figure that an objective bounds.
func kindOf(objective string) simulate.Kind {
	switch {
	case objective == "checkpoint":
		return simulate.Duration
	case strings.HasSuffix(objective, "_p50"):
		return simulate.P50
	}
	return simulate.P99 // the models are no more accurate at higher percentiles
}

// predicted returns a result's figures with error bars.
func predicted(r *simulate.Result) map[string]Prediction {
	out := map[string]Prediction{}
	if r == nil {
		return out
	}
	out["operations_per_second"] = predict(r.DonePerSec, simulate.Rate)
	for _, name := range objectiveNames {
		if x := r.Figure(name); x != nil {
			out[name+"_seconds"] = predict(*x, kindOf(name))
		}
	}
	if x := r.Checkpoints.MedianSeconds; x != nil {
		out["checkpoint_median_seconds"] = predict(*x, simulate.Duration)
	}
	return out
}

// layout turns an outcome into a layout.
func (p *planner) layout(o *outcome) *Layout {
	sets := p.space.sets(o.choice)
	l := &Layout{
		Sets: texts(sets), MonthlyUSD: o.price.usd(), Changes: []Change{}, Predicted: predicted(o.result),
		MeasuredSeconds: measured(o.result), Risks: []Risk{}, Caveats: caveats(o.result),
	}

	grown := p.space.now - p.before // cost of the new size, charged to the first change that sets it
	for _, s := range p.space.base[len(p.opt.Sets):] {
		if slices.Contains(sets, s) {
			l.Changes = append(l.Changes, p.change(s, grown, Online))
			grown = 0
		}
	}

	for i, k := range o.choice {
		a := &p.space.axes[i]
		op := &a.options[k]
		spent := p.spent(a, op)
		for n, s := range op.sets {
			if assigns(p.space.base[len(p.opt.Sets):], s.Path) {
				spent[n] += grown
			}
			l.Changes = append(l.Changes, p.change(s, spent[n], op.need))
		}
	}

	if sc, err := p.now.With(sets...); err == nil {
		l.Scenario, l.Risks, l.Budget = sc, p.risks(sc, o), budget.Of(sc, 1)
	}

	if p.opt.New {
		l.Changes = p.purchases(l, o)
	}

	return l
}

// caveats returns a result's caveats; nil without a result.
func caveats(r *simulate.Result) []simulate.Caveat {
	if r == nil {
		return nil
	}
	return r.Caveats
}

func (p *planner) change(s scenario.Set, spent dollars, need Need) Change {
	return Change{Path: s.Path, From: valueAt(p.now, s.Path), To: s.Text(), USD: spent.usd(), Free: spent <= 0,
		Needs: need.String()}
}

// spent splits an option's additional cost among its assignments. It prices them one after another, so
// that the parts add up to the option's cost. For a change of type the parts have no price on their
// own, so the first assignment gets the whole cost.
func (p *planner) spent(ax *axis, op *option) []dollars {
	out := make([]dollars, len(op.sets))
	if ax.setting || len(op.sets) == 0 {
		return out
	}

	whole := op.cost - ax.options[0].cost
	name, ok := strings.CutPrefix(ax.path, "volumes.")
	o := p.now.Volumes.Get(name)
	if !ok || o == nil || len(op.sets) == 1 {
		out[0] = whole
		return out
	}

	order, rest := *o, whole
	was, err := p.now.Catalog().Monthly(&order, p.opt.Region)
	if err != nil {
		out[0] = whole
		return out
	}

	// number of machines that have the volume
	per := float64(ax.options[0].cost) / float64(max(micro(was.Total), 1))
	for i := len(op.sets) - 1; i > 0; i-- {
		// Go from the end: throughput, IOPS, size. What remains belongs to the type.
		with := order
		switch strings.TrimPrefix(op.sets[i].Path, ax.path+".") {
		case "iops":
			with.IOPS = op.order.IOPS
		case "throughput":
			with.Throughput = op.order.Throughput
		case "size":
			with.Size = op.order.Size
		default:
			continue // no price on its own
		}

		now, err1 := p.now.Catalog().Monthly(&order, p.opt.Region)
		then, err2 := p.now.Catalog().Monthly(&with, p.opt.Region)
		if err1 != nil || err2 != nil || op.sets[0].Path == ax.path+".type" {
			continue
		}

		out[i] = dollars(float64(micro(then.Total)-micro(now.Total)) * per)
		rest -= out[i]
		order = with
	}

	out[0] = rest
	return out
}

// valueAt returns the text of a scenario's value at a path; "" if there is none.
func valueAt(sc *scenario.Scenario, path string) string {
	v := reflect.ValueOf(*sc)
	for key := range strings.SplitSeq(path, ".") {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return ""
			}
			v = v.Elem()
		}

		switch v.Kind() {
		case reflect.Struct:
			v = field(v, key)
		case reflect.Slice:
			v = entry(v, key)
		default:
			return ""
		}

		if !v.IsValid() {
			return ""
		}
	}

	return written(v)
}

// written formats a value in the scenario's syntax; a zero value means not set.
func written(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}

	// LatencyOrder's String method has a pointer receiver, so check for it before dereferencing.
	if l, ok := v.Interface().(*catalog.LatencyOrder); ok {
		return l.String()
	}
	if v.Kind() == reflect.Pointer {
		return written(v.Elem())
	}

	if o, ok := v.Interface().(catalog.Order); ok {
		return o.String()
	}

	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		if b, err := m.MarshalText(); err == nil {
			return string(b)
		}
	}

	return fmt.Sprint(v.Interface())
}

// field returns a struct's field by its YAML key.
func field(v reflect.Value, key string) reflect.Value {
	if e, ok := v.Interface().(scenario.Chosen); ok {
		if key != e.Name() {
			return reflect.Value{}
		}
		return reflect.ValueOf(e.Config)
	}
	f, _ := yamltree.Field(v, key)
	return f
}

// entry returns a value from a scenario's ordered mapping, a slice of name and value pairs.
func entry(v reflect.Value, key string) reflect.Value {
	for i := range v.Len() {
		if e := v.Index(i); e.Kind() == reflect.Struct && e.NumField() == 2 && e.Field(0).String() == key {
			return e.Field(1)
		}
	}
	return reflect.Value{}
}

// measured returns the virtual time that a result's figures cover; 0 without a result.
func measured(r *simulate.Result) float64 {
	if r == nil {
		return 0
	}
	return r.Seconds
}
