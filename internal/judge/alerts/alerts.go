// Package alerts writes the rule pack as rules for a Prometheus-compatible ruler: Prometheus,
// Thanos rule, Mimir's ruler, the Prometheus Operator, vmalert.
//
// A rule of the pack is a condition in PromQL and a judgement in Go. Only the condition can be
// exported. So an alert says that a rule's condition held, over a cluster, for some part of the
// last minutes, including the newest. Whether that is why writes stall, how much of the stall it
// explains and what to do is decided by `plimsoll diagnose`, which each alert names. Rules are left
// out if their condition means nothing without the judgement, or holds on a healthy database, each
// with the reason ([LeftOut]).
//
// Signals become recording rules under their own names. They keep the labels that identify a
// cluster and drop all others, which differ from exporter to exporter, so that a signal of the
// database's exporter matches one of the node's. Conditions read as they do in the pack.
package alerts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/judge/rules"
)

// Options control how the pack is written.
type Options struct {
	// By are the labels that identify a database. None means cluster.
	By []string
	// Window is how far back an alert looks. 0 means five minutes.
	Window time.Duration
	// Interval is how often rules are evaluated: ideally as often as the series are scraped,
	// because a stall between two evaluations is missed. 0 means 30 s.
	Interval time.Duration
}

// The bounds of the options, and constants of the exported rules.
const (
	intervalMin = time.Second
	windowMax   = 24 * time.Hour
	// rangeOf is how many intervals a range covers, so that two samples remain if one is lost.
	rangeOf = 4
	// heldShare is the part of the window in which a condition must have held: like the pack, which
	// reports no cause for less than a tenth of a stall.
	heldShare = 0.1
	// presentOf is how many intervals count as the present: an alert resolves once the condition
	// has not held for that long, even if the window still contains time in which it did. With
	// evaluations half a minute apart, a burst every minute is seen by one in four.
	presentOf = 4
	// heldLeast is the minimum number of evaluations: a single one may be a failed scrape.
	heldLeast = 2
)

func (o Options) withDefaults() (Options, error) {
	if len(o.By) == 0 {
		o.By = []string{"cluster"}
	}
	o.Window = cmp.Or(o.Window, 5*time.Minute)
	o.Interval = cmp.Or(o.Interval, 30*time.Second)
	switch {
	case o.Interval < intervalMin || o.Interval%time.Second != 0:
		return o, fmt.Errorf("interval %s: want whole seconds", o.Interval)
	case o.Window < rangeOf*o.Interval || o.Window > windowMax || o.Window%time.Second != 0:
		return o, fmt.Errorf("window %s: want whole seconds, from four intervals (%s) to %s", o.Window,
			rangeOf*o.Interval, windowMax)
	}
	return o, nil
}

// A Rule is a recording rule (Record) or an alert (Alert).
type Rule struct {
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// A Group is evaluated rule by rule; each rule sees the results of those before it.
type Group struct {
	Name     string `json:"name"`
	Interval string `json:"interval"`
	Rules    []Rule `json:"rules"`
}

// LeftOut gives the reason why each rule that is not exported is left out, by the rule's ID.
func LeftOut(pack *rules.Pack) map[string]string {
	out := map[string]string{}
	for _, r := range pack.Rules() {
		if r.NoAlert != "" {
			out[r.ID] = r.NoAlert
		}
	}
	return out
}

// Groups are the pack's rules for a ruler: first the signals, then the alerts, then the alerts on
// headroom.
func Groups(pack *rules.Pack, opt Options) ([]Group, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}

	signals := Group{Name: "plimsoll-signals", Interval: seconds(opt.Interval)}
	alerts := Group{Name: "plimsoll-alerts", Interval: seconds(opt.Interval)}

	var names []string
	for _, r := range pack.Rules() {
		if r.NoAlert != "" || r.When == "" {
			continue
		}

		e, err := rules.Parse(r.When)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.ID, err)
		}

		for _, n := range rules.Names(e) {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}

		alerts.Rules = append(alerts.Rules, alert(r, Condition(e, opt), opt))
	}

	// Headroom alerts read further signals, which must be recorded too.
	headroom, limits := headroom(pack, opt)
	for _, s := range limits {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}

	for _, n := range names {
		s := pack.Signal(n)
		expr, err := recorded(s, opt)
		if err != nil {
			return nil, err
		}
		signals.Rules = append(signals.Rules, Rule{Record: s.Name, Expr: expr})
	}

	return []Group{signals, alerts, headroom}, nil
}

// Condition is a rule's condition over recorded signals, with the labels of By kept.
func Condition(when parser.Expr, opt Options) string {
	return kept(when, opt).String()
}

// recorded is a signal over exporters' metrics. Its alternatives are in the pack's order: if a
// server has several, the first is used.
func recorded(s *rules.Signal, opt Options) (string, error) {
	var alts []string
	for _, x := range s.Exprs {
		e, err := rules.Parse(x)
		if err != nil {
			return "", fmt.Errorf("signal %s: %w", s.Name, err)
		}
		// If two jobs report the same, use the larger value: a sum would count it twice.
		alts = append(alts, fmt.Sprintf("max by (%s) (%s)", strings.Join(union(opt.By, s.By), ", "), kept(e, opt)))
	}
	return strings.Join(alts, "\nor\n"), nil
}

// kept makes every aggregation and every match keep the labels that identify a cluster, and every
// range cover two samples.
func kept(e parser.Expr, opt Options) parser.Expr {
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.AggregateExpr:
			if !n.Without {
				n.Grouping = union(opt.By, n.Grouping)
			}
		case *parser.BinaryExpr:
			if m := n.VectorMatching; m != nil && m.On {
				m.MatchingLabels = union(opt.By, m.MatchingLabels)
			}
		case *parser.MatrixSelector:
			n.Range = rangeOf * opt.Interval
		}
		return nil
	})

	return e
}

// union is a followed by the elements of b that are not in it.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// alert fires if a condition held in enough of the window's evaluations, and in one of the newest:
// a stall that is over pages no one.
func alert(r rules.Rule, condition string, opt Options) Rule {
	// count_over_time counts evaluations, so convert shares of the window to counts.
	evaluations := int(opt.Window / opt.Interval)
	least := max(heldLeast, int(heldShare*float64(evaluations)+0.5))
	severity := "info" // a cause matters only if something stalls, and the symptom's alert reports that

	if r.Kind == rules.Symptom {
		severity = "warning"
	}

	subject := subjectOf(opt.By)
	cluster := "--by " + strings.Join(opt.By, ",") + " --cluster " + subject
	return Rule{
		Alert: Name(r.ID),
		Expr: fmt.Sprintf("count_over_time((%s)[%s:%s]) >= %d and present_over_time((%s)[%s:%s])", condition,
			seconds(opt.Window), seconds(opt.Interval), least,
			condition, seconds(presentOf*opt.Interval), seconds(opt.Interval)),
		Labels: map[string]string{"severity": severity, "rule": r.ID, "kind": string(r.Kind)},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("%s: %s%s", subject, suspected(r), rules.LowerFirst(r.Title)),
			"description": fmt.Sprintf("The condition of %s held in {{ $value }} of the %d evaluations of the last %s. %s The condition alone proves nothing; for the verdict: plimsoll diagnose --prometheus URL %s --from -1h",
				r.ID, evaluations, seconds(opt.Window), r.Cause, cluster),
			"docs": r.Docs(),
		},
	}
}

// subjectOf names what an alert is about, by its labels.
func subjectOf(labels []string) string {
	which := make([]string, len(labels))
	for i, l := range labels {
		which[i] = fmt.Sprintf("{{ $labels.%s }}", l)
	}
	return strings.Join(which, "/")
}

// suspected prefixes claims that a condition alone cannot prove. Symptoms, which clients notice, need
// no proof.
func suspected(r rules.Rule) string {
	if r.Kind == rules.Symptom {
		return ""
	}
	return "suspected: "
}

// Name is the name of a rule's alert: PlimsollDiskIopsCapped.
func Name(id string) string {
	var b strings.Builder
	b.WriteString("Plimsoll")
	for _, part := range strings.FieldsFunc(id, func(r rune) bool { return r == '/' || r == '-' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }
