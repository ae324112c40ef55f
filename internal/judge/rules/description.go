package rules

import (
	"fmt"
	"slices"
	"strings"
)

// A Description describes a rule for readers. Its JSON is a contract: the output of `plimsoll rules
// -o json`.
type Description struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind"`
	Engine string `json:"engine,omitempty"`
	Cause  string `json:"cause"`
	// When is PromQL over signals; PromQL is the same condition over exporters' metrics, with
	// ranges of a minute. Both are empty for a rule that does not depend on metrics.
	When    string              `json:"when,omitempty"`
	PromQL  string              `json:"promql,omitempty"`
	Signals []SignalDescription `json:"signals"`
	Docs    string              `json:"docs"`
}

// A SignalDescription is a quantity that a rule uses.
type SignalDescription struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit,omitempty"`
	Help  string   `json:"help"`
	Exprs []string `json:"promql"`
}

// describedRange is the range in the PromQL shown; it must cover two samples of the queried server.
const describedRange = "1m"

// Describe returns a rule's description. An error means a mistake in the pack.
func (p *Pack) Describe(r Rule) (Description, error) {
	out := Description{ID: r.ID, Title: r.Title, Kind: string(r.Kind), Engine: r.Engine, Cause: r.Cause,
		When: r.When, Docs: r.Docs(), Signals: []SignalDescription{}}
	var names []string
	for _, s := range slices.Concat(r.Needs, r.AnyOf) {
		names = append(names, s.Name)
	}

	if r.When != "" {
		text, err := p.Inline(r.When, describedRange)
		if err != nil {
			return out, fmt.Errorf("rule %s: %w", r.ID, err)
		}
		out.PromQL = text
		e, err := Parse(r.When)
		if err != nil {
			return out, fmt.Errorf("rule %s: %w", r.ID, err)
		}
		names = append(Names(e), names...)
	}

	seen := map[string]bool{}
	for _, n := range names {
		s := p.Signal(n)
		if s == nil || seen[n] {
			continue
		}
		seen[n] = true
		var exprs []string
		for _, x := range s.Exprs {
			exprs = append(exprs, strings.ReplaceAll(x, "$w", describedRange))
		}
		out.Signals = append(out.Signals, SignalDescription{Name: s.Name, Unit: s.Unit, Help: s.Help, Exprs: exprs})
	}

	return out, nil
}

// DescribeAll describes all rules of the pack, in its order.
func (p *Pack) DescribeAll() ([]Description, error) {
	out := []Description{}
	for _, r := range p.Rules() {
		d, err := p.Describe(r)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
