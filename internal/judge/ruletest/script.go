// Package ruletest runs the test scripts of rules without a Prometheus.
//
// A script has cases; a case loads series, says where a rule's condition holds, and what the whole
// diagnosis of these series says of the rule:
//
//	# rule: disk/iops-capped
//	# case: positive: the volume stands at its cap
//	# finding: 3,000 IOPS
//	# severity: critical
//	load 1s
//	    node_disk_io_time_seconds_total{device="sda"} 0+1x60
//	eval instant at 30s count({{when}})
//	    {} 1
//
// Series are written as in Prometheus' own test scripts (start+step x times; _ is no sample).
// {{when}} is the rule's condition over exporters' metrics. An eval without a line below it gives
// nothing. Of the directives, "finding: TEXT" wants a finding of the rule with that text in it, "no
// finding" none although it could be judged, "severity: S" that of its first finding, "missing:
// METRIC" that it is not measurable for want of it. The directive rule may be left out where the
// file's name is the rule's id with - for /.
package ruletest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/judge/rules"
)

// The bounds of a script.
const (
	scriptBytesMax  = 4 << 20
	scriptLineMax   = 64 << 10
	scriptValuesMax = 2_000_000 // samples of a case
)

// A Script is the cases of a rule.
type Script struct {
	Name  string
	Rule  rules.Rule
	Cases []Case
	pack  *rules.Pack
}

// A Case is one situation and what is to be said of it.
type Case struct {
	Kind, Title string
	Line        int
	series      []series
	evals       []eval
	directives  []string
}

type series struct {
	labels labels.Labels
	step   time.Duration
	values []float64 // NaN is no sample
}

type eval struct {
	line int
	at   time.Duration
	expr string // {{when}} in it is the condition
	want []sample
}

type sample struct {
	labels labels.Labels
	value  float64
}

// An Error is what is wrong with a script, and where.
type Error struct {
	Name string
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// ID is the rule that a script's name means: disk-iops-capped.test is disk/iops-capped.
func ID(name string) string {
	base := name[strings.LastIndexByte(name, '/')+1:]
	return strings.Replace(strings.TrimSuffix(base, ".test"), "-", "/", 1)
}

// Parse reads a script.
func Parse(pack *rules.Pack, name string, r io.Reader) (*Script, error) {
	p := &scriptParser{script: &Script{Name: name, pack: pack}, id: ID(name)}
	sc := bufio.NewScanner(io.LimitReader(r, scriptBytesMax+1))
	sc.Buffer(nil, scriptLineMax)

	size := 0
	for sc.Scan() {
		p.line++
		if size += len(sc.Bytes()) + 1; size > scriptBytesMax {
			return nil, p.fail(fmt.Errorf("a script of more than %d bytes", scriptBytesMax))
		}
		if err := p.take(sc.Text()); err != nil {
			return nil, p.fail(err)
		}
	}

	if err := sc.Err(); err != nil {
		p.line++
		return nil, p.fail(err)
	}

	if len(p.script.Cases) == 0 {
		return nil,
			p.fail(
				errors.New("no case: one begins with a line such as \"# case: positive: the volume stands at its cap\""))
	}

	var err error
	if p.script.Rule, err = pack.Rule(p.id); err != nil {
		return nil,
			p.fail(
				fmt.Errorf("%w; a script names its rule by a line \"# rule: disk/iops-capped\", or by its file's name",
					err))
	}

	return p.script, nil
}

type scriptParser struct {
	script *Script
	id     string
	line   int
	step   time.Duration // of the load that goes on, 0: an eval does, or nothing
	values int
}

func (p *scriptParser) fail(err error) error {
	return &Error{Name: p.script.Name, Line: p.line, Err: err}
}

func (p *scriptParser) take(line string) error {
	if rest, ok := strings.CutPrefix(line, "# rule: "); ok {
		p.id = strings.TrimSpace(rest)
		return nil
	}

	if rest, ok := strings.CutPrefix(line, "# case: "); ok {
		kind, title, _ := strings.Cut(rest, ": ")
		p.script.Cases = append(p.script.Cases, Case{Kind: strings.TrimSpace(kind), Title: title, Line: p.line})
		p.step, p.values = 0, 0
		return nil
	}

	text := strings.TrimSpace(line)
	if text == "" {
		return nil
	}

	if len(p.script.Cases) == 0 {
		if strings.HasPrefix(text, "#") {
			return nil
		}
		return errors.New("before the first case there are only remarks")
	}

	c := &p.script.Cases[len(p.script.Cases)-1]
	switch word, rest, _ := strings.Cut(text, " "); {
	case strings.HasPrefix(line, "# "):
		if d := strings.TrimPrefix(line, "# "); isDirective(d) {
			c.directives = append(c.directives, d)
		}
		return nil
	case word == "load":
		step, err := model.ParseDuration(rest)
		if err != nil || step <= 0 {
			return fmt.Errorf("load %s: want the distance of samples, as in load 15s", rest)
		}
		p.step = time.Duration(step)
		return nil
	case word == "eval":
		p.step = 0
		return c.eval(p.line, rest)
	case p.step > 0:
		return p.load(c, text)
	case len(c.evals) > 0:
		e := &c.evals[len(c.evals)-1]
		s, err := parseSample(text)
		e.want = append(e.want, s)
		return err
	}

	return fmt.Errorf("%q: want load, eval, or a line that begins with #", text)
}

func isDirective(d string) bool {
	word, _, _ := strings.Cut(d, ": ")
	return word == "finding" || word == "severity" || word == "missing" || d == "no finding"
}

// times is a repetition in a series' values: 0+1x60.
var times = regexp.MustCompile(`x([0-9]+)`)

func (p *scriptParser) load(c *Case, text string) error {
	// The values are bounded before they are made.
	values := text
	if i := strings.LastIndexByte(text, '}'); i >= 0 {
		values = text[i:]
	}

	p.values += len(values) / 2
	for _, m := range times.FindAllStringSubmatch(values, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > scriptValuesMax {
			return fmt.Errorf("x%s: a case has at most %d samples", m[1], scriptValuesMax)
		}
		p.values += n
	}

	if p.values > scriptValuesMax {
		return fmt.Errorf("a case has at most %d samples", scriptValuesMax)
	}

	l, seq, err := promql.ParseSeriesDesc(text)
	if err != nil {
		return err
	}

	s := series{labels: l, step: p.step}
	for _, v := range seq {
		switch {
		case v.Histogram != nil:
			return errors.New("native histograms are not read")
		case v.Omitted:
			s.values = append(s.values, math.NaN())
		default:
			s.values = append(s.values, v.Value)
		}
	}

	if l.Get(labels.MetricName) == "" {
		return errors.New("a series has a metric name")
	}

	c.series = append(c.series, s)
	return nil
}

var promql = parser.NewParser(parser.Options{})

var instantEval = regexp.MustCompile(`^instant at (\S+) (.+)$`)

func (c *Case) eval(line int, rest string) error {
	m := instantEval.FindStringSubmatch(rest)
	if m == nil {
		return fmt.Errorf("eval %s: want eval instant at 30s EXPRESSION", rest)
	}
	at, err := model.ParseDuration(m[1])
	if err != nil {
		return fmt.Errorf("eval at %s: %w", m[1], err)
	}
	if _, err := promql.ParseExpr(strings.ReplaceAll(m[2], when, "vector(1)")); err != nil {
		return err
	}
	c.evals = append(c.evals, eval{line: line, at: time.Duration(at), expr: m[2]})
	return nil
}

// when stands for the rule's condition.
const when = "{{when}}"

// parseSample reads a line such as {device="sda"} 1.
func parseSample(text string) (sample, error) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return sample{}, fmt.Errorf("%q: want labels and a value, as in {device=\"sda\"} 1", text)
	}
	l, err := promql.ParseMetric(text[:i])
	if err != nil {
		return sample{}, err
	}
	v, err := strconv.ParseFloat(text[i+1:], 64)
	if err != nil {
		return sample{}, fmt.Errorf("%q: the value is no number", text)
	}
	return sample{labels: l, value: v}, nil
}

// A Series is one of a case: its labels, and its values one Step apart; NaN is no sample.
type Series struct {
	Labels labels.Labels
	Step   time.Duration
	Values []float64
}

// Series are those that the case loads.
func (c *Case) Series() []Series {
	var out []Series
	for _, s := range c.series {
		out = append(out, Series{Labels: s.labels, Step: s.step, Values: s.values})
	}
	return out
}
