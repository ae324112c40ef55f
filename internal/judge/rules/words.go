package rules

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"plimsoll/internal/base/units"
)

// Words are a rule's sentences, by name. They are templates of text/template over [Values]: "A sync
// was in progress in {{.covered}} of the stalled time". A Judge computes values and names a
// template; it writes no sentences.
type Words map[string]string

// Advice is a [Fix] whose parts are templates like [Words].
type Advice struct {
	Summary, Expect, TradeOff string
	// Do carries it out, in order of preference. NoCommand says why there is no command.
	Do        []*Remedy
	NoCommand string
	// Decisive means that it is a single setting that, measured on this engine, ended such stalls:
	// it is tried before advice that takes no more effort.
	Decisive bool
}

// Values are the figures and names that templates use.
type Values map[string]Value

// A Value is a figure or a name as it reads in a sentence. It is empty if not measured, and a
// template can test for that: {{with .calm}}; outside it one takes {{.}}{{end}}.
type Value string

// Seconds formats a duration: "8.10 s". NaN gives an empty Value, here and below.
func Seconds(s float64) Value { return of(s, units.Seconds) }

// Part formats a part of a whole: "87 %".
func Part(r float64) Value { return of(r, units.Percent) }

// Bytes formats an amount of data: "3.46 GB".
func Bytes(b float64) Value { return of(b, units.Bytes) }

// Number formats a figure without a unit.
func Number(x float64) Value { return of(x, units.Number) }

// Events formats a count of events: exact below 1,000.
func Events(n float64) Value {
	if n < 1000 {
		return Value(strconv.FormatFloat(n, 'f', 0, 64))
	}
	return Number(n)
}

// Moment formats a time in UTC: "2026-01-05 10:00:00".
func Moment(t time.Time) Value { return Value(t.UTC().Format("2006-01-02 15:04:05")) }

// Of formats a figure with a unit as used in evidence: "1/s", "bytes/s".
func Of(x float64, unit string) Value {
	return of(x, func(x float64) string { return units.Value(x, unit) })
}

// Things formats a count of things: "one episode", "3 episodes".
func Things(n int, what string) Value {
	if n == 1 {
		return Value("one " + what)
	}
	return Value(fmt.Sprintf("%d %ss", n, what))
}

// Called is a name: of a device, a setting or a member.
func Called(name string) Value { return Value(name) }

// If is a Value if something holds, and otherwise empty: the words then leave it out.
func If(holds bool, v Value) Value {
	if holds {
		return v
	}
	return ""
}

func of(x float64, text func(float64) string) Value {
	if math.IsNaN(x) {
		return ""
	}
	return Value(text(x))
}

// A Saying is a template that a Judge requested by name, with its values.
type Saying struct {
	Name   string
	Values Values
	// If is the rule whose finding the words refer to; "" if they refer to none.
	If string
}

// A Referral is text about another rule's finding, for the end of a summary. [Refer] adds it if that
// rule found a cause.
type Referral struct{ Rule, Text string }

// Asked is everything that a Judge requested for a finding; [Rule.Write] writes it and clears it.
type Asked struct {
	Says, Advises []Saying
	Title, Cause  *Saying // replaces the rule's own; nil if not
	Opens, Closes *Saying // begins or ends the verdict; nil if not
}

// Say adds words of the finding's rule to its summary. Words that begin with a punctuation mark (",
// ; . :") follow the preceding text without a space.
func (f *Finding) Say(words string, v Values) {
	f.Asked.Says = append(f.Asked.Says, Saying{Name: words, Values: v})
}

// SayIf is Say for words about a finding of another rule. They end the summary, and are left out if that
// rule finds no cause.
func (f *Finding) SayIf(rule, words string, v Values) {
	f.Asked.Says = append(f.Asked.Says, Saying{words, v, rule})
}

// Entitle and Explain replace the finding's title and its cause with words of its rule.
func (f *Finding) Entitle(words string, v Values) {
	f.Asked.Title = &Saying{Name: words, Values: v}
}

// Explain is described at Entitle.
func (f *Finding) Explain(words string, v Values) {
	f.Asked.Cause = &Saying{Name: words, Values: v}
}

// Open and Close make words of the finding's rule the first or the last sentence of the verdict.
func (f *Finding) Open(words string, v Values) { f.Asked.Opens = &Saying{Name: words, Values: v} }

// Close is described at Open.
func (f *Finding) Close(words string, v Values) { f.Asked.Closes = &Saying{Name: words, Values: v} }

// Advise adds advice of the finding's rule to its fixes.
func (f *Finding) Advise(advice string, v Values) {
	f.Asked.Advises = append(f.Asked.Advises, Saying{Name: advice, Values: v})
}

// Write turns a finding's requests into sentences, from its rule's words and its Judge's values. It
// fails if the rule has no words with a name, or if they use a value that does not exist.
func (r *Rule) Write(finding *Finding) error {
	var b strings.Builder
	for _, s := range finding.Asked.Says {
		text, err := r.print(r.Words[s.Name], s.Name, s.Values)
		if err != nil {
			return err
		}

		if s.If != "" {
			finding.Referrals = append(finding.Referrals, Referral{s.If, text})
			continue
		}

		// Words may continue the previous sentence, as in ", behind the checkpoint".
		if b.Len() > 0 && text != "" && !strings.ContainsRune(",;.:", rune(text[0])) {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}

	finding.Summary = b.String()
	for _, a := range finding.Asked.Advises {
		t := r.Advice[a.Name]
		var x Fix
		for _, part := range []struct {
			to   *string
			text string
		}{{&x.Summary, t.Summary}, {&x.Expect, t.Expect}, {&x.TradeOff, t.TradeOff}} {
			var err error
			if *part.to, err = r.print(part.text, a.Name, a.Values); err != nil {
				return err
			}
		}

		x.Do, x.Values, x.Decisive = t.Do, a.Values, t.Decisive
		finding.Fixes = append(finding.Fixes, x)
	}

	for _, x := range []struct {
		to *string
		by *Saying
	}{{&finding.Title, finding.Asked.Title}, {&finding.Cause, finding.Asked.Cause},
		{&finding.Opening, finding.Asked.Opens},
		{&finding.Closing, finding.Asked.Closes}} {
		if x.by == nil {
			continue
		}
		var err error
		if *x.to, err = r.print(r.Words[x.by.Name], x.by.Name, x.by.Values); err != nil {
			return err
		}
	}

	finding.Asked = Asked{}
	return nil
}

// Refer completes the summaries of the findings of one time with what they say about each other.
func Refer(found []Finding) {
	for i := range found {
		f := &found[i]
		for _, ref := range f.Referrals {
			if slices.ContainsFunc(found, func(o Finding) bool { return o.Rule == ref.Rule && o.Kind == Cause }) {
				f.Summary += " " + ref.Text
			}
		}
		f.Referrals = nil
	}
}

func (r *Rule) print(text, name string, v Values) (string, error) {
	if text == "" {
		return "", fmt.Errorf("rule %s has no words %q", r.ID, name)
	}
	if !strings.Contains(text, "{{") {
		return text, nil
	}

	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("rule %s: words %q: %w", r.ID, name, err)
	}

	var b strings.Builder
	if err := t.Execute(&b, v); err != nil {
		return "", fmt.Errorf("rule %s: words %q: %w", r.ID, name, err)
	}

	return b.String(), nil
}

// AdviceNames are the names of a rule's advice: advice with a command first, both in alphabetical
// order.
func (r *Rule) AdviceNames() []string {
	names := slices.Sorted(maps.Keys(r.Advice))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(effort(r.Advice[a]), effort(r.Advice[b]))
	})
	return names
}

// effort ranks a piece of advice by what it takes: nothing, a restart, money, no command.
func effort(a Advice) int {
	if len(a.Do) == 0 {
		return 4
	}
	e := 0
	for _, r := range a.Do[0].Recipes {
		if r.Restart != "" {
			e = 1
		}
	}
	if a.Do[0].Money != "" {
		e += 2
	}
	return e
}

// UpperFirst begins a sentence with a value.
func UpperFirst(v Value) Value { return Value(strings.ToUpper(string(v[:1]))) + v[1:] }

// LowerFirst puts a title into a sentence. Acronyms (CPU, I/O) keep their capitals.
func LowerFirst(s string) string {
	if len(s) < 2 || s[1] != ' ' && (s[1] < 'a' || s[1] > 'z') {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
