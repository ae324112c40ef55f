package rules

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// A Pack holds every signal and every rule: those of disks, hosts, containers and evidence, and
// those of the engines that it was made from. A nil Pack is empty. A Pack is immutable and safe for
// concurrent use.
type Pack struct {
	core    Core
	engines []Knowledge
	signals []*Signal
	byName  map[string]*Signal
	rules   []Rule
	wanted  metricSet
}

// A Core holds the rules that belong to no engine.
type Core struct {
	// Evidence are the rules about what was not recorded. They are judged before all others.
	Evidence []Rule
	// Rules are in the order in which they are judged; Scripts are the tests of all of the core's rules,
	// testdata/<id with - for />.test.
	Rules   []Rule
	Scripts fs.FS
}

// NewPack makes the pack of the core and of the given engines. It panics if two signals or two
// rules have the same name, or if a rule or a signal is invalid: the pack is part of the program,
// and every test of it makes one.
func NewPack(of Core, engines []Knowledge) *Pack {
	p := &Pack{core: of, engines: engines, byName: map[string]*Signal{}}
	p.addSignals()
	p.addRules()
	p.wanted = metricsOf(p.signals)
	return p
}

func (p *Pack) addSignals() {
	add := func(g Group) {
		for _, s := range g {
			if p.byName[s.Name] != nil {
				panic("signal defined twice: " + s.Name)
			}

			// The declared signal is shared by all packs, so extend a copy.
			complete := *s
			for _, e := range p.engines {
				complete.Exprs = append(slices.Clip(complete.Exprs), e.Host[s]...)
			}

			for _, x := range slices.Concat(complete.Exprs, complete.Coarse) {
				if _, err := Parse(x); err != nil {
					panic(fmt.Sprintf("signal %s: %v", s.Name, err))
				}
			}

			p.byName[s.Name] = &complete
			p.signals = append(p.signals, &complete)
		}
	}

	add(core)
	for _, e := range p.engines {
		add(e.Signals)
	}
}

// addRules sorts rules into the order in which they are judged: first missing evidence, then
// symptoms that clients notice, then causes. Findings have a different order: they are ranked by
// what they explain.
func (p *Pack) addRules() {
	symptom := func(r Rule) bool { return r.Kind == Symptom }
	ofEngines := func(wanted func(Rule) bool) (out []Rule) {
		for _, e := range p.engines {
			for _, r := range e.Rules {
				if r.Engine = e.Database; wanted(r) {
					out = append(out, r)
				}
			}
		}
		return out
	}

	p.rules = slices.Concat(
		p.core.Evidence,
		ofEngines(symptom),
		p.core.Rules,
		ofEngines(func(r Rule) bool { return !symptom(r) }),
	)
	seen := map[string]bool{}
	for i, r := range p.rules {
		if seen[r.ID] {
			panic("rule defined twice: " + r.ID)
		}
		seen[r.ID] = true
		if err := p.check(&p.rules[i]); err != nil {
			panic(fmt.Sprintf("rule %s: %v", r.ID, err))
		}
	}
}

// check verifies that a rule uses signals of the pack, and sets Needs if the rule does not.
func (p *Pack) check(r *Rule) error {
	for _, s := range slices.Concat(r.Needs, r.AnyOf) {
		if p.byName[s.Name] == nil {
			return fmt.Errorf("it needs %s, which is not a signal", s.Name)
		}
	}

	if r.When == "" {
		return nil
	}

	e, err := Parse(r.When)
	if err != nil {
		return err
	}

	var read []*Signal
	for _, name := range Names(e) {
		s := p.byName[name]
		if s == nil {
			return fmt.Errorf("its condition reads %s, which is not a signal", name)
		}
		read = append(read, s)
	}

	if r.Needs == nil {
		r.Needs = read
	}

	return nil
}

// Engines are the engines that the pack was made from, in order.
func (p *Pack) Engines() []Knowledge {
	if p == nil {
		return nil
	}
	return p.engines
}

// Hints are the engines' remarks on a setting, in parentheses; "" if there are none.
func (p *Pack) Hints(of func(Knowledge) string) string {
	var out []string
	for _, e := range p.Engines() {
		if h := of(e); h != "" {
			out = append(out, h)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}

// Signals are all signals: the core's, then the engines'.
func (p *Pack) Signals() []*Signal { return p.signals }

// Signal returns the signal of a name with all its alternatives; nil if there is none.
func (p *Pack) Signal(name string) *Signal {
	if p == nil {
		return nil
	}
	return p.byName[name]
}

// Rules returns every rule, in the order in which they are judged.
func (p *Pack) Rules() []Rule {
	if p == nil {
		return nil
	}
	return p.rules
}

// Rule finds a rule.
func (p *Pack) Rule(id string) (Rule, error) {
	for _, r := range p.Rules() {
		if r.ID == id {
			return r, nil
		}
	}
	return Rule{}, fmt.Errorf("no rule %q in the pack; `plimsoll rules list` lists them", id)
}

// Scripts are the test scripts of the rules, by folder: testdata/<id with - for />.test in each.
func (p *Pack) Scripts() []fs.FS {
	out := []fs.FS{p.core.Scripts}
	for _, e := range p.engines {
		out = append(out, e.Scripts)
	}
	return out
}

// Script opens the test script of a rule.
func (p *Pack) Script(id string) (fs.File, error) {
	name := "testdata/" + strings.ReplaceAll(id, "/", "-") + ".test"
	for _, folder := range p.Scripts() {
		if f, err := folder.Open(name); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("rule %s: %s: %w", id, name, fs.ErrNotExist)
}

// Wants reports whether any signal can be read from a metric; a diagnosis keeps only those metrics
// of a source.
func (p *Pack) Wants(metric string) bool { return p.wanted.has(metric) }

// Metrics are the distinct metrics that a signal can be read from.
func (p *Pack) Metrics(s *Signal) []string {
	var out []string
	for _, x := range p.byName[s.Name].Exprs {
		e, err := Parse(x)
		if err != nil {
			panic(err) // NewPack has parsed it
		}
		for _, n := range Names(e) {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// MetricsOf returns a test for metrics that only an engine has: those of its signals, and of what
// it reports about its host, without those that the core reads too.
func (p *Pack) MetricsOf(e Knowledge) func(metric string) bool {
	shared, own := metricsOf(core), metricsOf(e.Signals)
	for _, exprs := range e.Host {
		maps.Copy(own.exact, metricsOf(Group{{Exprs: exprs}}).exact)
	}
	return func(metric string) bool { return !shared.exact[metric] && own.has(metric) }
}

// A metricSet is the metrics that signals can be read from, by name and by pattern.
type metricSet struct {
	exact    map[string]bool
	patterns []*labels.Matcher
}

func (s metricSet) has(metric string) bool {
	return s.exact[metric] ||
		slices.ContainsFunc(s.patterns, func(m *labels.Matcher) bool { return m.Matches(metric) })
}

func metricsOf(signals Group) metricSet {
	out := metricSet{exact: map[string]bool{}}
	for _, s := range signals {
		for _, x := range slices.Concat(s.Exprs, s.Coarse) {
			e, err := Parse(x)
			if err != nil {
				panic(err) // NewPack has parsed it
			}
			for _, n := range Names(e) {
				out.exact[n] = true
			}
			out.patterns = append(out.patterns, namePatterns(e)...)
		}
	}
	return out
}

// Inline writes a condition over signals as PromQL over exporters' metrics: each signal becomes its
// alternatives joined by "or", with $w replaced by the given range.
func (p *Pack) Inline(expr, window string) (string, error) {
	const mark = "\x00"
	e, err := Parse(expr)
	if err != nil {
		return "", err
	}

	text := e.String()
	for _, n := range Names(e) {
		if !strings.HasPrefix(n, SignalPrefix) {
			continue
		}

		s := p.byName[n]
		if s == nil {
			return "", fmt.Errorf("no signal %q", n)
		}

		alts := make([]string, len(s.Exprs))
		for i, x := range s.Exprs {
			alts[i] = strings.ReplaceAll(x, "$w", window)
			if len(s.Exprs) > 1 {
				alts[i] = "(" + alts[i] + ")"
			}
		}

		// One name may be the prefix of another: replace whole names only.
		text = replaceName(text, n, mark+"("+strings.Join(alts, " or ")+")")
	}

	// The mark kept later replacements out of text that was already inlined.
	return strings.ReplaceAll(text, mark, ""), nil
}
