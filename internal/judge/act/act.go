// Package act says what to do now: the commands that end what a diagnosis found, for the place the
// database runs in, each with how to look first, check, keep and undo it.
//
// The commands themselves stand beside the rules, as remedies. This package chooses: it takes the
// causes in the order in which they explain the stall, and leaves out what the verdict refutes, what
// the recording says is set already, and what cannot be done in that place. What costs nothing and
// restarts nothing comes first, and of that what ended such stalls where it was measured.
package act

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
)

// An Action is one thing to do. Its commands are lines of a POSIX shell, to be run in this order:
// Look, Do, Check; Keep once it has helped; Undo if it has not.
type Action struct {
	Remedy  string `json:"remedy"` // as `prove --fix` takes it
	Title   string `json:"title"`
	Rule    string `json:"rule"` // of the finding that asks for it
	Subject string `json:"subject"`
	Expect  string `json:"expect"`
	// Place is where the commands are for, and PlaceKnown whether the sources show it. Host is that
	// host's name; "" if it is not known.
	Place      string   `json:"place"`
	PlaceKnown bool     `json:"place_known"`
	Host       string   `json:"host,omitempty"`
	Look       []string `json:"look"`
	Do         []string `json:"do"`
	Keep       []string `json:"keep"`
	Check      []string `json:"check"`
	Undo       []string `json:"undo"`
	// Kept says what keeps it where Keep is empty, NoUndo why Undo is.
	Kept   string `json:"kept,omitempty"`
	NoUndo string `json:"no_undo,omitempty"`
	// Restart is what is restarted and Money what is paid for; "" for nothing.
	Restart string  `json:"restart"`
	Cost    string  `json:"cost"`
	Money   string  `json:"money"`
	WaitS   float64 `json:"wait_seconds"` // until it can be judged
	Until   string  `json:"until"`        // what has happened by then
	// RecordS is how long to record then for prove.
	RecordS float64  `json:"record_seconds"`
	Notes   []string `json:"notes"`
	// Raises are figures of prove that it makes larger on purpose.
	Raises []string `json:"larger_on_purpose"`
	// Prove compares before with after; to be run after the wait.
	Prove []string `json:"prove"`
}

// Most bounds the actions of a verdict.
const Most = 5

// A Setting is what is known of where a database runs and how it was recorded.
type Setting struct {
	Sources []Source
	// Recorded is the folder of the recording that all of them are of, "" if there is none: prove takes it
	// in place of a source, which may have been a server's address or has a name but no file.
	Recorded string
	// Span is what was recorded, and Incident the part that the findings are about.
	Span, Incident rules.Span
	Marked         Marked
}

// A Marked is a recording's folder in which somebody marked a change; the zero value is none.
type Marked struct {
	Folder string
	At     time.Time // of the newest mark
	// Judged tells whether enough of both sides of the mark was recorded to compare them, and Growing
	// whether something records to the folder now.
	Judged, Growing bool
}

// A Source is one that was read. Host is the host that it names; "" if it does not.
type Source struct {
	Kind, Name, Engine, Version, Host string
}

// Of are the actions for an incident's findings, the first to try first.
func Of(c *rules.Case, findings []rules.Finding, s Setting) []Action {
	if !c.Stall.Any() || rules.Trifle(c.Seconds(c.Stall.Cells), c.Seconds(c.Stall.Observed)) {
		return []Action{}
	}

	w := whereIs(c, s)
	refuted := refuted(c.Pack, findings)

	var found []choice
	for i := range findings {
		f := &findings[i]
		if f.Kind != rules.Cause || f.Severity == rules.Info {
			continue
		}
		for _, x := range f.Fixes {
			for _, m := range x.Do {
				if k, ok := w.choose(c, f, x, m, refuted); ok {
					found = append(found, k)
				}
			}
		}
	}

	// What is free comes before what is paid for, always. Of either, what explains the other causes is dealt
	// with first: with a volume whose credits ran out, no setting helps. Within the causes' order, what
	// restarts something waits for what does not, and what may help waits for what did.
	slices.SortStableFunc(found, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.paid(), b.paid()), cmp.Compare(a.beside(), b.beside()),
			cmp.Compare(a.effort(), b.effort()), cmp.Compare(a.unsure(), b.unsure()))
	})

	out := []Action{}
	changed := map[string]bool{}
	for _, k := range found {
		if changed[k.remedy.Name] || slices.ContainsFunc(k.remedy.Settings,
			func(n string) bool { return changed[n] }) {
			continue
		}
		changed[k.remedy.Name] = true
		for _, n := range k.remedy.Settings {
			changed[n] = true
		}
		if out = append(out, w.action(c, k, s)); len(out) == Most {
			break
		}
	}

	if a := w.first(c, out); a != nil && found[0].paid() > 0 {
		out = append([]Action{*a}, out[:min(len(out), Most-1)]...)
	}

	if m := s.Marked; m.Judged && len(out) > 0 { // first of all, what the change did that was made
		out[0].Look = append([]string{"plimsoll prove " + shellword.Quote(m.Folder) + " --at-mark"}, out[0].Look...)
	}

	return out
}

// refuted are the resources of which the findings say that more would change nothing.
func refuted(pack *rules.Pack, findings []rules.Finding) map[rules.Resource]bool {
	out := map[rules.Resource]bool{}
	for _, f := range findings {
		if f.Kind != rules.Refutation && (f.Kind != rules.Cause || f.Severity == rules.Info) {
			continue
		}
		r, err := pack.Rule(f.Rule)
		if err != nil {
			continue
		}
		for _, x := range r.Refutes {
			out[x] = true
		}
	}
	return out
}

// A choice is a remedy that fits.
type choice struct {
	remedy  *rules.Remedy
	recipe  *rules.Recipe
	finding *rules.Finding
	fix     rules.Fix
	values  rules.Values
}

// explains is the share of the stalled time from which a cause that explains others is dealt with first.
const explains = 0.5

// beside is 0 for what deals with a cause that explains the others, and 1 for the rest.
func (k choice) beside() int {
	if k.finding.Foremost && k.finding.Weight >= explains {
		return 0
	}
	return 1
}

// paid is 1 for what costs more than before, and 0 for the rest.
func (k choice) paid() int {
	if k.remedy.Money != "" && !k.remedy.Saves {
		return 1
	}
	return 0
}

// effort orders actions: what is in force at once and free, what restarts, what is paid for.
func (k choice) effort() int {
	e := 0
	if k.recipe.Restart != "" {
		e++
	}
	if k.remedy.Money != "" {
		e += 2
	}
	return e
}

// unsure is 0 for what ended such stalls of the very engine where it was measured, and 1 for the rest.
func (k choice) unsure() int {
	if k.fix.Decisive {
		return 0
	}
	return 1
}

// choose is the remedy as it is done where the database runs; false if it is refuted, done already
// or not possible there.
func (w *where) choose(c *rules.Case, f *rules.Finding, x rules.Fix, m *rules.Remedy,
	refuted map[rules.Resource]bool) (choice, bool) {
	if m = c.Pack.RemedyFor(w.database, m); m == nil ||
		slices.ContainsFunc(m.Relieves, func(r rules.Resource) bool { return refuted[r] }) {
		return choice{}, false
	}

	recipe := RecipeFor(m, w.place, w.cloud, w.version)
	if recipe == nil || recipe.None != "" {
		return choice{}, false
	}

	v := w.values(c, f)
	for k, text := range x.Values {
		v[k] = text
	}

	if m.Size != nil {
		for k, text := range m.Size(c, f) {
			if text != "" || v[k] == "" {
				v[k] = text
			}
		}
	}

	if m.Needed != nil && !m.Needed(c, v) {
		return choice{}, false
	}

	return choice{remedy: m, recipe: recipe, finding: f, fix: x, values: v}, true
}

// RecipeFor is the recipe of a remedy for a place, a cloud and a version; nil if there is none. If the
// cloud is not known, only recipes for every cloud fit; if there are none for the place, the first for any.
func RecipeFor(m *rules.Remedy, place rules.Place, cloud rules.Cloud, version string) *rules.Recipe {
	if r := recipeFor(m, place, cloud, version); r != nil || cloud != "" {
		return r
	}
	for i := range m.Recipes {
		for _, c := range m.Recipes[i].Clouds {
			if r := recipeFor(m, place, c, version); r != nil {
				return r
			}
		}
	}
	return nil
}

func recipeFor(m *rules.Remedy, place rules.Place, cloud rules.Cloud, version string) *rules.Recipe {
	for i := range m.Recipes {
		r := &m.Recipes[i]
		if len(r.Places) > 0 && !slices.Contains(r.Places, place) ||
			len(r.Clouds) > 0 && !slices.Contains(r.Clouds, cloud) {
			continue
		}

		if version == "" && (r.From != "" || r.Before != "") {
			continue
		}
		if r.From != "" && compareVersions(version, r.From) < 0 ||
			r.Before != "" && compareVersions(version, r.Before) >= 0 {
			continue
		}

		return r
	}
	return nil
}

// compareVersions compares "3.5.10" and "3.5.6" number by number; what is missing counts as 0.
func compareVersions(a, b string) int {
	x, y := strings.FieldsFunc(a, notDigit), strings.FieldsFunc(b, notDigit)
	for i := range max(len(x), len(y)) {
		p, q := 0, 0
		if i < len(x) {
			p, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			q, _ = strconv.Atoi(y[i])
		}
		if p != q {
			return cmp.Compare(p, q)
		}
	}
	return 0
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// action prints a choice.
func (w *where) action(c *rules.Case, k choice, s Setting) Action {
	m := k.remedy
	p := printer{w: w, values: k.values}
	x, proof := p.steps(k.recipe), proofOf(c, k, s)
	return Action{
		Remedy: m.Name, Title: m.Title, Rule: k.finding.Rule, Subject: k.finding.Subject, Expect: k.fix.Expect,
		Place: string(w.place), PlaceKnown: w.known, Host: w.host, Look: append(proof.record, x.Look...), Do: x.Do,
		Keep: x.Keep, Check: x.Check, Undo: x.Undo,
		Kept: x.Kept, NoUndo: x.NoUndo, Restart: x.Restart, Cost: p.text(m.Cost), Money: p.text(m.Money),
		WaitS: m.Wait.Seconds(), Until: m.Until, Notes: x.Notes, Raises: append([]string{}, m.Raises...),
		Prove: proof.compare, RecordS: proof.seconds,
	}
}

// Effort says in a few words what an action takes: "no restart, free".
func (a *Action) Effort() string {
	out := "no restart"
	if a.Restart != "" {
		out = "restarts " + a.Restart
	}
	if a.Money == "" {
		return out + "; free"
	}
	return out + "; " + a.Money
}

// Judged says when the action can be judged: "wait 2m until a checkpoint has passed, record 10m, then
// compare".
func (a *Action) Judged() string {
	return "wait " + units.Seconds(a.WaitS) + ", until " + a.Until + "; record for " + units.Seconds(a.RecordS) +
		"; then compare"
}
