package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// A Criterion is what an engine's vendor requires of its storage: a quantile of a duration.
type Criterion struct {
	Key      string  // stable: "wal_fsync"
	What     string  // in a sentence: "the WAL's fdatasync"
	Calls    string  // after a count: "WAL fdatasyncs"
	Quantile float64 // 0.99
	LimitS   float64
	// SlowS is the duration above which clients notice every call, regardless of the criterion.
	SlowS float64
	// LongS is the duration above which a call is reported even if the quantile hides it; 0 if another
	// rule reports these.
	LongS  float64
	Source string // "etcd's hardware page"
	// Classes and Count are the signals with the durations; nil if no recording has them.
	Classes, Count *Signal
	// Took is the signal with their sum per second; nil if there is none.
	Took *Signal
	// Sync means that each call is one fdatasync after a small write, so a benchmark of such calls
	// can answer the question.
	Sync bool
}

// A Verdict is the result of judging a Criterion.
type Verdict string

// The verdicts.
const (
	Meets        Verdict = "meets"
	MissesTail   Verdict = "misses in the tail"
	MissesBulk   Verdict = "misses in bulk"
	Undetermined Verdict = "undetermined"
)

// leastForQuantile is how many operations must be beyond a quantile before it means anything.
const leastForQuantile = 3.0

// Judge compares a distribution with a criterion. The verdict is Undetermined if the classes around
// the limit are missing, or if it depends on too few operations.
func (k Criterion) Judge(t Totals) Verdict {
	if t.All == 0 {
		return Undetermined
	}

	q, typical := t.Quantile(k.Quantile), t.Quantile(0.5)
	from, to := t.Within(k.Quantile)

	bulkFrom, bulkTo := t.Within(0.5)
	switch {
	// Interpolation within a class is trusted only if the class spans at most a factor of two.
	case bulkFrom >= k.LimitS, typical > k.LimitS && bulkFrom > 0 && bulkTo <= 2*bulkFrom:
		return MissesBulk
	case to <= k.LimitS:
		return Meets
	case t.SumExceeds(0.5, k.LimitS):
		return MissesBulk
	case (1-k.Quantile)*t.All < leastForQuantile && t.All < 100*leastForQuantile:
		return Undetermined
	case from >= k.LimitS, t.SumExceeds(k.Quantile, k.LimitS):
		return MissesTail
	case from == 0 || to > 2*from*(1+1e-9):
		return Undetermined // classes around the limit are missing
	case q > k.LimitS:
		return MissesTail
	}

	return Meets
}

// MissesCriterion is the rule that judges a single page of metrics, which has sums since the
// process started, by an engine's criteria. In a longer recording the engine's own rules show when it was
// slow.
func MissesCriterion(id, product string, criteria []Criterion, advice map[string]Advice) Rule {
	rule := Rule{ID: id, Title: "The storage misses the database's own criterion", Kind: Cause, Sums: true,
		Needs:   []*Signal{},
		NoAlert: "it judges a single page of metrics; the rules for each criterion have alerts",
		Cause:   "Every write waits for these calls. A single page of metrics holds their durations since the process started: it shows how many were slow, but not when.",
		Words: Words{
			"title, bulk":    "Most {{.calls}} are slow",
			"title, all":     "Nearly all {{.calls}} are slow",
			"title, tail":    "The slowest {{.calls}} miss the criterion",
			"bulk":           "{{.what}} is slow in general: {{.q}} is {{.value}} against the criterion of {{.limit}} ({{.source}}), and the median is {{.median}}.",
			"tail":           "{{.what}} is slow only in the tail: {{.q}} is {{.value}} against the criterion of {{.limit}} ({{.source}}); the median is {{.median}}.",
			"over":           "{{.over}} of {{.all}} {{.calls}} ({{.share}}) took over {{.edge}}.",
			"title, meets":   "{{.what}} meets the criterion",
			"title, unknown": "It is unknown whether {{.calls}} meet the criterion",
			"title, long":    "{{.what}} meets the criterion, but some {{.calls}} take over {{.edge}}",
			"long":           "{{.over}} of {{.all}} {{.calls}} ({{.share}}) took over {{.edge}}: each holds up the writes that wait for it, and {{.q}} does not show them.",
			"long, first":    "{{.what}} meets the criterion, but {{.over}} of {{.all}} {{.calls}} took over {{.edge}}.",
			"meets":          "{{.what}} meets the criterion ({{.source}}): {{.q}} is {{.value}} against {{.limit}}, over {{.all}} {{.calls}}.",
			"unknown":        "It is unknown whether {{.lower}} meets the criterion of {{.limit}} at {{.q}} ({{.source}}): for {{.all}} {{.calls}}, this histogram shows only that {{.q}} is between {{.from}} and {{.to}}.",
			"mean":           "Their mean is {{.mean}}, which shows it although classes around the limit are missing.",
			"since":          "These figures cover all calls since the process started; when the slow ones happened is unknown.",
		},
		Advice: advice,
	}

	for _, k := range criteria {
		rule.AnyOf = append(rule.AnyOf, k.Classes)
	}

	rule.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		if !c.SinceStart {
			return nil
		}

		for _, k := range criteria {
			for _, inst := range c.Instances(k.Classes) {
				t := c.TotalsOf(k.Classes, k.Count, inst)
				if k.Took != nil {
					t.SumS = max(0, timeline.Sum(c.For(k.Took, "instance", inst))*c.Grid.StepSeconds())
				}
				switch v := k.Judge(t); v {
				case MissesBulk, MissesTail:
					out = append(out, missFinding(rule, c, k, t, v, InstanceOf(product, inst)))
				case Meets, Undetermined:
					if t.All > 0 {
						out = append(out, meetsFinding(rule, c, k, t, v, InstanceOf(product, inst)))
					}
				}
			}
		}

		return out
	}

	return rule
}

// Instances returns the distinct values of the label "instance" of some signals.
func (sig *Signals) Instances(of ...*Signal) []string {
	var out []string
	for _, s := range of {
		for _, t := range sig.Signal(s) {
			if x := t.Labels.Get("instance"); !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// NearlyAll is the share above which operations count as all of them.
const NearlyAll = 0.9

func missFinding(rule Rule, input *Case, criterion Criterion, totals Totals, verdict Verdict,
	subject string) Finding {
	finding := rule.Finding(subject)
	finding.Foremost = true
	quantile := totals.Quantile(criterion.Quantile)
	from, _ := totals.Within(criterion.Quantile)
	values := criterion.values(totals)

	// Above SlowS, such as a heartbeat interval, clients notice every slow call.
	finding.Severity, finding.Weight = Warning, 0.4
	words, title := "tail", "title, tail"
	over, edge, ok := totals.Over(criterion.LimitS)

	if verdict == MissesBulk {
		finding.Severity, finding.Weight, words, title = Critical, 1, "bulk", "title, bulk"
		if ok && over >= NearlyAll*totals.All {
			title = "title, all"
		}
	} else if from >= criterion.SlowS {
		finding.Severity = Critical
	}

	finding.Entitle(title, values)
	finding.Say(words, values)
	if next, higher, found := totals.next(criterion.LimitS); found && next >= NearlyAll*totals.All {
		over, edge, ok = next, higher, true // nearly all are over the next edge as well, which says more
	}

	if ok {
		finding.Say("over", Values{"over": wholeCount(over), "all": wholeCount(totals.All),
			"calls": values["calls"],
			"share": nearlyWhole(over / totals.All), "edge": Seconds(edge)})
	}

	unaided := totals
	unaided.SumS = 0
	if criterion.Judge(unaided) != verdict {
		finding.Say("mean", Values{"mean": Seconds(totals.SumS / totals.All)})
	}

	finding.Say("since", nil)
	finding.Evidence = []Evidence{
		input.Figure(criterion.Calls, criterion.Classes, totals.All, "", nil),
		input.Figure(string(Percentile(criterion.Quantile))+" over all of them", criterion.Classes, quantile,
			"seconds", nil),
		input.Figure("median over all of them", criterion.Classes, totals.Quantile(0.5), "seconds", nil),
		input.Figure("criterion", nil, criterion.LimitS, "seconds", nil),
	}

	for _, name := range rule.AdviceNames() {
		finding.Advise(name, nil)
	}

	return finding
}

// values are the values that all words of a criterion use.
func (k Criterion) values(t Totals) Values {
	from, to := t.Within(k.Quantile)
	upTo := Value("infinity")
	if !math.IsInf(to, 1) {
		upTo = Seconds(to)
	}

	return Values{"what": UpperFirst(Called(k.What)), "lower": Called(k.What), "calls": Called(k.Calls),
		"q": Percentile(k.Quantile), "value": t.text(k.Quantile), "limit": Seconds(k.LimitS),
		"source": Called(k.Source), "median": t.text(0.5), "all": wholeCount(t.All),
		"from": Seconds(from), "to": upTo}
}

// InstanceOf names an instance of a product.
func InstanceOf(product, instance string) string {
	if instance == "" {
		return product
	}
	return product + " " + instance
}

// Calls over LongS are a warning if there are enough of them: a few in months are a restart, a move of the
// virtual machine or a snapshot of its disk.
const (
	longCalls = 10.0
	longShare = 1e-4 // of all calls
	// longWeight is less than that of a criterion that is not met.
	longWeight = 0.3
)

// sayLong adds the calls over LongS to a finding that the criterion is met.
func (k Criterion) sayLong(f *Finding, t Totals, values Values) {
	over, edge, ok := t.next(k.LongS)
	if k.LongS == 0 || !ok || over < 1 {
		return
	}

	more := Values{"what": values["what"], "calls": values["calls"], "all": values["all"], "q": values["q"],
		"over": wholeCount(over), "share": nearlyWhole(over / t.All), "edge": Seconds(edge)}
	f.Say("long", more)
	if over < longCalls || over < longShare*t.All {
		return
	}

	f.Kind, f.Severity, f.Weight = Symptom, Warning, longWeight
	f.Entitle("title, long", more)
	f.Open("long, first", more)
	f.Advise("when", nil)
}

// meetsFinding reports that a criterion is met, or that this is unknown: both answer the question
// whether the storage is good enough.
func meetsFinding(r Rule, c *Case, k Criterion, t Totals, v Verdict, subject string) Finding {
	f := r.Finding(subject)
	f.Kind, f.Severity, f.Cause = Refutation, Info, ""
	words := "meets"

	if v == Undetermined {
		f.Kind, words = Symptom, "unknown"
	}

	values := k.values(t)
	f.Entitle("title, "+words, values)
	f.Say(words, values)
	f.Open(words, values)
	if v == Meets {
		k.sayLong(&f, t, values)
	}

	f.Evidence = []Evidence{c.Figure(k.Calls, k.Classes, t.All, "", nil),
		c.Figure(string(Percentile(k.Quantile))+" over all of them", k.Classes, t.Quantile(k.Quantile),
			"seconds", nil),
		c.Figure("criterion", nil, k.LimitS, "seconds", nil)}

	return f
}

// next returns how many operations took longer than the lowest edge above a duration, and that
// edge.
func (t Totals) next(seconds float64) (n, edge float64, ok bool) {
	for i, e := range t.Edges {
		if e > seconds*(1+1e-9) {
			return t.All - t.UpTo[i], e, true
		}
	}
	return 0, 0, false
}

// text is a quantile, or the bounds that are known.
func (t Totals) text(q float64) Value {
	from, to := t.Within(q)
	switch {
	case math.IsInf(to, 1):
		return "over " + Seconds(from)
	case from == 0:
		return "at most " + Seconds(to)
	case to > 2*from*(1+1e-9):
		return "between " + Seconds(from) + " and " + Seconds(to)
	}
	return Seconds(t.Quantile(q))
}

// Percentile names a quantile: "p99".
func Percentile(q float64) Value { return Value("p" + strconv.FormatFloat(100*q, 'g', 4, 64)) }

// nearlyWhole formats a ratio so that one just below the whole does not read "100 %".
func nearlyWhole(r float64) Value {
	if r > 0.99 && r < 1 {
		return Value(fmt.Sprintf("%.1f %%", math.Min(99.9, 100*r)))
	}
	return Part(r)
}

func wholeCount(n float64) Value { return Value(units.Count(int64(n))) }
