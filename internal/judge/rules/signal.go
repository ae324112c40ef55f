package rules

import (
	"fmt"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// A Signal is a quantity the rules speak of, independent of who measured it.
type Signal struct {
	Name string // "plimsoll:disk_busy:ratio"
	Unit string // "ratio", "seconds", "bytes", "bytes/s", "1/s", "s/s", ""
	Help string
	// Exprs are PromQL over exporters' metrics, the most exact first; the first of
	// which a recording holds every metric is used. $w stands for a range that
	// covers two samples.
	Exprs []string
	// By are the labels that tell its series apart; a source's other labels
	// (job, instance) are dropped.
	By []string
}

// SignalPrefix starts every signal's name.
const SignalPrefix = "plimsoll:"

// window is what $w becomes where it only has to parse: on a timeline, irate is
// the interval's own rate whatever its range.
const window = "1m"

var promql = parser.NewParser(parser.Options{})

// Parse parses one of a signal's alternatives or a rule's condition.
func Parse(expr string) (parser.Expr, error) {
	e, err := promql.ParseExpr(strings.ReplaceAll(expr, "$w", window))
	if err != nil {
		return nil, fmt.Errorf("PromQL %q: %w", expr, err)
	}
	return e, nil
}

// Names are the metric names an expression reads, each once, in order; a selector without an
// exact name counts as none.
func Names(e parser.Expr) []string {
	var out []string
	seen := map[string]bool{}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if sel, ok := n.(*parser.VectorSelector); ok {
			for _, m := range sel.LabelMatchers {
				if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual && !seen[m.Value] {
					seen[m.Value] = true
					out = append(out, m.Value)
				}
			}
		}
		return nil
	})
	return out
}

// SignalByName finds a signal.
func SignalByName(name string) (Signal, bool) {
	s, ok := signalIndex[name]
	return s, ok
}

// Signals are all signals, in the order they are defined.
func Signals() []Signal { return allSignals }

var allSignals = concat(diskSignals, hostSignals, containerSignals, mongodbSignals, etcdSignals, postgresSignals, irisSignals, fioSignals, clientSignals, deploymentSignals)

var signalIndex = func() map[string]Signal {
	m := map[string]Signal{}
	for _, s := range allSignals {
		if _, twice := m[s.Name]; twice {
			panic("signal defined twice: " + s.Name)
		}
		m[s.Name] = s
	}
	return m
}()

func concat(groups ...[]Signal) []Signal {
	var out []Signal
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// Wanted tells which metrics, by name, any signal can be read from: what a diagnosis
// takes from a source. The function may be called from several goroutines.
func Wanted() func(metric string) bool {
	exact := map[string]bool{}
	var patterns []*labels.Matcher
	for _, s := range allSignals {
		for _, x := range s.Exprs {
			e, err := Parse(x)
			if err != nil {
				panic(err) // the pack is part of the program
			}
			for _, n := range Names(e) {
				exact[n] = true
			}
			patterns = append(patterns, namePatterns(e)...)
		}
	}
	return func(metric string) bool {
		if exact[metric] {
			return true
		}
		for _, m := range patterns {
			if m.Matches(metric) {
				return true
			}
		}
		return false
	}
}

// namePatterns are the matchers by which an expression selects names it does not spell.
func namePatterns(e parser.Expr) []*labels.Matcher {
	var out []*labels.Matcher
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if sel, ok := n.(*parser.VectorSelector); ok {
			for _, m := range sel.LabelMatchers {
				if m.Name == model.MetricNameLabel && m.Type == labels.MatchRegexp {
					out = append(out, m)
				}
			}
		}
		return nil
	})
	return out
}

// Inline writes a condition over signals as PromQL over exporters' metrics: each
// signal becomes its alternatives joined by "or", with $w replaced by the given range.
func Inline(expr, window string) (string, error) {
	e, err := Parse(expr)
	if err != nil {
		return "", err
	}
	var failed error
	out := inline(e, window, &failed)
	return out, failed
}

func inline(e parser.Expr, window string, failed *error) string {
	const mark = "\x00"
	text := e.String()
	for _, n := range Names(e) {
		if !strings.HasPrefix(n, SignalPrefix) {
			continue
		}
		s, ok := SignalByName(n)
		if !ok {
			*failed = fmt.Errorf("no signal %q", n)
			return ""
		}
		alts := make([]string, len(s.Exprs))
		for i, x := range s.Exprs {
			alts[i] = strings.ReplaceAll(x, "$w", window)
			if len(s.Exprs) > 1 {
				alts[i] = "(" + alts[i] + ")"
			}
		}
		body := "(" + strings.Join(alts, " or ") + ")"
		// A name may begin another one's: replace whole names only.
		text = replaceName(text, n, mark+body)
	}
	return strings.ReplaceAll(text, mark, "")
}

func replaceName(text, name, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, name)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(name)
		whole := end == len(text) || !isNameByte(text[end])
		b.WriteString(text[:i])
		if whole {
			b.WriteString(by)
		} else {
			b.WriteString(name)
		}
		text = text[end:]
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
