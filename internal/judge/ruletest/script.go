// Package ruletest runs the test scripts of rules without a Prometheus server.
//
// A script has cases. A case loads series, states when a rule's condition holds, and states what a
// full diagnosis of these series reports for the rule:
//
//	# rule: disk/iops-capped
//	# case: positive: the volume is at its cap
//	# finding: 3,000 IOPS
//	# severity: critical
//	load 1s
//	    node_disk_io_time_seconds_total{device="sda"} 0+1x60
//	eval instant at 30s count({{when}})
//	    {} 1
//
// Series are written as in Prometheus' own test scripts (start+step x times; _ means no sample).
// {{when}} is the rule's condition over exporters' metrics. An eval without a line below it expects
// no result. The directive "finding: TEXT" expects a finding of the rule that contains the text,
// "omits: TEXT" findings that do not contain it, "no finding" none although the rule could be judged,
// "severity: S" is the severity of its first finding, and "missing: METRIC" expects the rule to be
// unmeasurable without that metric. The directive rule can be omitted if the file is named after the
// rule's ID, with - instead of /.
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

// Bounds of a script.
const (
	scriptBytesMax  = 4 << 20
	scriptLineMax   = 64 << 10
	scriptValuesMax = 2_000_000 // samples of a case
)

// A Script holds the test cases of a rule.
type Script struct {
	Name  string
	Rule  rules.Rule
	Cases []Case
	pack  *rules.Pack
}

// A Case is one situation and what a diagnosis should say about it.
type Case struct {
	Kind, Title string
	Line        int
	series      []Series
	evals       []eval
	directives  []string
}

// A Series is one series of a case: its labels, and its values one Step apart; NaN means no sample.
type Series struct {
	Labels labels.Labels
	Step   time.Duration
	Values []float64
}

type eval struct {
	line int
	at   time.Duration
	expr string // {{when}} in it stands for the condition
	want []sample
}

type sample struct {
	labels labels.Labels
	value  float64
}

// An Error says what is wrong with a script, and where.
type Error struct {
	Name string
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// ID returns the rule that a script is named after: disk-iops-capped.test is of disk/iops-capped.
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
			return nil, p.fail(fmt.Errorf("script is larger than %d bytes", scriptBytesMax))
		}
		if err := p.parseLine(sc.Text()); err != nil {
			return nil, p.fail(err)
		}
	}

	if err := sc.Err(); err != nil {
		p.line++
		return nil, p.fail(err)
	}

	if len(p.script.Cases) == 0 {
		// A script without a case would pass without testing anything.
		return nil,
			p.fail(
				errors.New("no case: a case starts with a line such as \"# case: positive: the volume is at its cap\""))
	}

	var err error
	if p.script.Rule, err = pack.Rule(p.id); err != nil {
		return nil,
			p.fail(
				fmt.Errorf("%w; a script names its rule in a line \"# rule: disk/iops-capped\" or in its file name",
					err))
	}

	return p.script, nil
}

type scriptParser struct {
	script *Script
	id     string
	line   int
	step   time.Duration // sampling period of the current load; 0 outside a load
	values int
}

func (p *scriptParser) fail(err error) error {
	return &Error{Name: p.script.Name, Line: p.line, Err: err}
}

func (p *scriptParser) parseLine(line string) error {
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

	// The head of a script may explain it before its first case.
	if len(p.script.Cases) == 0 {
		if strings.HasPrefix(text, "#") {
			return nil
		}
		return errors.New("only comments may precede the first case")
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
			return fmt.Errorf("load %s: want a sampling period, as in load 15s", rest)
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

	return fmt.Errorf("%q: want load, eval, or a line that starts with #", text)
}

// eachServer is the directive of cases with several servers, which are then separated and judged one by
// one, as `plimsoll diagnose` does.
const eachServer = "each server"

func isDirective(d string) bool {
	word, _, _ := strings.Cut(d, ": ")
	return word == "finding" || word == "severity" || word == "missing" || word == "omits" ||
		d == "no finding" || d == eachServer
}

// times matches a repetition in a series' values: 0+1x60.
var times = regexp.MustCompile(`x([0-9]+)`)

func (p *scriptParser) load(script *Case, text string) error {
	// Check the number of values before expanding them, so that a typo cannot exhaust memory.
	values := text
	if i := strings.LastIndexByte(text, '}'); i >= 0 {
		values = text[i:]
	}

	p.values += len(values) / 2
	for _, m := range times.FindAllStringSubmatch(values, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > scriptValuesMax {
			return fmt.Errorf("x%s: a case may have at most %d samples", m[1], scriptValuesMax)
		}
		p.values += n
	}

	if p.values > scriptValuesMax {
		return fmt.Errorf("a case may have at most %d samples", scriptValuesMax)
	}

	l, seq, err := promql.ParseSeriesDesc(text)
	if err != nil {
		return err
	}

	s := Series{Labels: l, Step: p.step}
	for _, v := range seq {
		switch {
		case v.Histogram != nil:
			return errors.New("native histograms are not supported")
		case v.Omitted:
			s.Values = append(s.Values, math.NaN())
		default:
			s.Values = append(s.Values, v.Value)
		}
	}

	if l.Get(labels.MetricName) == "" {
		return errors.New("series without a metric name")
	}

	script.series = append(script.series, s)
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

// when is the placeholder for the rule's condition.
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
		return sample{}, fmt.Errorf("%q: value is not a number", text)
	}
	return sample{labels: l, value: v}, nil
}

// Series returns the series that the case loads.
func (c *Case) Series() []Series { return c.series }
