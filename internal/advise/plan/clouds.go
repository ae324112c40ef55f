package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A Cloud is a provider, with the machine and the volume type that a deployment starts from there.
type Cloud struct {
	Name     string // aws, azure, gcp
	Instance string // of the general-purpose family
	Volume   string // a type whose limits can be chosen
}

// A Place is a platform that a plan compares with others.
type Place struct {
	Cloud
	To Target
	// Region returns the region of the prices for the scenario there.
	Region func(sc *scenario.Scenario) string
}

// A PlatformPlan is the result on one of several platforms.
type PlatformPlan struct {
	Platform string `json:"platform"`
	Region   string `json:"region,omitempty"`
	// Problem is why there is no plan for this platform; "": there is one.
	Problem string `json:"problem,omitempty"`
	// Present: the deployment is there now.
	Present    bool         `json:"present,omitempty"`
	Chosen     *Layout      `json:"chosen"`
	Nearest    *Layout      `json:"nearest"`
	Statements []Statement  `json:"statements"`
	Searched   *SearchStats `json:"searched,omitempty"`
}

// MakeEach makes a plan for each of several platforms, and returns the cheapest with all of them in
// [Plan.Platforms] and in one frontier. On a platform that the deployment is not on, its volumes and machine
// are translated and everything is new. begin, if not nil, is called before each platform's search.
func MakeEach(ctx context.Context, now *scenario.Scenario, name string, opt Options, places []Place,
	begin func(platform string)) (*Plan, error) {
	var best *Plan
	var first error
	var all []PlatformPlan
	var frontier []*Layout
	present := Provider(now)

	for _, place := range places {
		if begin != nil {
			begin(place.Name)
		}

		planned, err := makeAt(ctx, now, name, opt, &place, present)
		if err != nil {
			var input *InputError
			var problems scenario.Problems
			if !errors.As(err, &input) && !errors.As(err, &problems) {
				return nil, err
			}
			if len(places) == 1 {
				return nil, err
			}
			first = cmp.Or(first, err)
			all = append(all, PlatformPlan{Platform: place.Name, Problem: firstLine(err), Statements: []Statement{}})
			continue
		}

		if len(places) == 1 {
			return planned, nil
		}
		for _, l := range slices.Concat([]*Layout{planned.Chosen, planned.Nearest}, planned.Frontier) {
			if l != nil {
				l.Platform = place.Name
			}
		}

		all = append(all, PlatformPlan{Platform: place.Name, Region: planned.Region, Present: !planned.New,
			Chosen:  planned.Chosen,
			Nearest: planned.Nearest, Statements: planned.Statements, Searched: &planned.Searched})
		frontier = append(frontier, planned.Frontier...)
		if best == nil || cheaper(planned, best) {
			best = planned
		}
	}

	if best == nil {
		return nil, first
	}

	best.Platforms, best.Frontier = all, joint(frontier, best)
	if !opt.New {
		best.Statements = append(best.Statements, Statement{"clouds",
			"the comparison excludes the cost of moving between clouds: egress from the old one, and paying for both during the move",
			[]Evidence{}})
	}
	return best, nil
}

// makeAt makes the plan for one platform.
func makeAt(ctx context.Context, now *scenario.Scenario, name string, opt Options, place *Place,
	present string) (*Plan, error) {
	opt.To = place.To
	if !opt.New && present == place.Name {
		opt.Region = place.Region(now)
		return Make(ctx, now, name, opt)
	}

	sets := Translation(now, &place.Cloud)
	there, err := now.With(sets...)
	if err != nil {
		return nil, err
	}

	opt.New = true
	opt.Region = place.Region(there)
	opt.Sets = append(slices.Clone(opt.Sets), sets...)
	return Make(ctx, there, name, opt)
}

// cheaper reports whether a plan is preferable to another: it meets the objectives, and costs less.
func cheaper(p, than *Plan) bool {
	switch {
	case p.Chosen == nil:
		return false
	case than.Chosen == nil:
		return true
	}
	return p.Chosen.MonthlyUSD < than.Chosen.MonthlyUSD
}

// joint returns the layouts of several platforms for which no other is both cheaper and better, by price.
func joint(all []*Layout, best *Plan) []*Layout {
	figure := func(l *Layout) float64 { return l.Predicted[best.Objectives[0].Name+"_seconds"].Value }
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *Layout) int {
		return cmp.Or(cmp.Compare(a.MonthlyUSD, b.MonthlyUSD), cmp.Compare(figure(a), figure(b)))
	})

	out := []*Layout{}
	for _, l := range all {
		if len(out) == 0 || figure(l) < figure(out[len(out)-1]) {
			out = append(out, l)
		}
	}
	return out
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Provider returns the provider of a scenario's first volume that has one; "" if none does.
func Provider(sc *scenario.Scenario) string {
	for _, v := range sc.Volumes {
		if t, err := catalog.Type(v.Value.Type); err == nil && t.Provider != "any" {
			return t.Provider
		}
	}
	return ""
}

// Translation returns the assignments that put a scenario onto a cloud: the smallest machine of its
// general-purpose family with as many cores and as much memory, and for each volume the type whose
// limits can be chosen, of the same size. Volumes and machines that are already there stay.
func Translation(sc *scenario.Scenario, to *Cloud) []scenario.Set {
	var out []scenario.Set
	if now := sc.Instance(); now == nil || now.Of() != to.Name {
		out = append(out, scenario.Set{Path: "host.instance", Value: machineLike(sc.Catalog(), now, to)})
		if sc.Host.BandwidthWeighting != "" {
			out = append(out, scenario.Set{Path: "host.bandwidth_weighting"})
		}
	}

	move := func(path string, o *catalog.Order) {
		t, err := catalog.Type(o.Type)
		if err == nil && t.Provider == to.Name {
			return
		}
		size := o.Size * units.Size(o.Members())
		out = append(out, scenario.Set{Path: path, Value: catalog.Order{Type: to.Volume, Size: size}})
	}

	for _, v := range sc.Volumes {
		move("volumes."+v.Name, &v.Value)
	}
	for _, m := range sc.Members {
		for _, v := range m.Value.Volumes {
			move(fmt.Sprintf("members.%s.volumes.%s", m.Name, v.Name), &v.Value)
		}
	}

	return out
}

// machineLike returns the name of the smallest machine of a cloud's general-purpose family with at
// least the cores and memory of the given one, or the family's largest machine if none is that large.
// Without a given machine, it returns the cloud's default.
func machineLike(known *catalog.Catalog, now *catalog.InstanceType, to *Cloud) string {
	usual, err := known.Instance(to.Instance)
	if now == nil || err != nil {
		return to.Instance
	}

	best := usual
	all := known.Instances()
	for i := range all {
		t := &all[i]
		if t.Of() != to.Name || t.Family() != usual.Family() || strings.Contains(t.Name, "metal") {
			continue
		}
		enough := t.VCPU >= now.VCPU && t.Memory >= now.Memory
		is := best.VCPU >= now.VCPU && best.Memory >= now.Memory
		if enough && (!is || t.VCPU < best.VCPU) || !enough && !is && t.VCPU > best.VCPU {
			best = t
		}
	}
	return best.Name
}
