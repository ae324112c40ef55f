// Package act chooses what to do now: the commands that end what a diagnosis found, for the place
// where the database runs, each with commands to look first, check, keep and undo it.
//
// The commands themselves are defined next to the rules, as remedies. This package chooses among
// them: it takes the causes in the order in which they explain the stall, and leaves out what the
// verdict refutes, what the recording shows to be set already, and what cannot be done in that
// place. Remedies that cost nothing and restart nothing come first, and among them those that
// measurably ended such stalls.
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

// An Action is one thing to do. Its commands are lines for a POSIX shell, to be run in this order:
// Look, Do, Check; Keep once it has helped; Undo if it has not.
type Action struct {
	Remedy  string `json:"remedy"` // as `prove --fix` accepts it
	Title   string `json:"title"`
	Rule    string `json:"rule"` // of the finding that calls for it
	Subject string `json:"subject"`
	Expect  string `json:"expect"`
	// Place is where the commands run, and PlaceKnown whether the sources show it. Host is that
	// host's name; "" if unknown.
	Place      string   `json:"place"`
	PlaceKnown bool     `json:"place_known"`
	Host       string   `json:"host,omitempty"`
	Look       []string `json:"look"`
	Do         []string `json:"do"`
	Keep       []string `json:"keep"`
	Check      []string `json:"check"`
	Undo       []string `json:"undo"`
	// Kept says why Keep is empty, NoUndo why Undo is.
	Kept   string `json:"kept,omitempty"`
	NoUndo string `json:"no_undo,omitempty"`
	// Restart is what is restarted and Money what it costs in money; "" for nothing.
	Restart string  `json:"restart"`
	Cost    string  `json:"cost"`
	Money   string  `json:"money"`
	WaitS   float64 `json:"wait_seconds"` // until it can be judged
	Until   string  `json:"until"`        // what must have happened by then
	// RecordS is how long to record afterwards for prove, in seconds.
	RecordS float64  `json:"record_seconds"`
	Notes   []string `json:"notes"`
	// Raises are figures of prove that it increases on purpose.
	Raises []string `json:"larger_on_purpose"`
	// Prove compares before with after; to be run after the wait.
	Prove []string `json:"prove"`
}

// Most bounds the actions of a verdict.
const Most = 5

// A Setting is what is known about where a database runs and how it was recorded.
type Setting struct {
	Sources []Source
	// Recorded is the folder of the recording that contains all sources, "" if there is none. prove
	// uses it in place of a source, which may have been a server's address, or a name without a
	// file.
	Recorded string
	// Kept is the folder in which a live diagnosis keeps its samples, "" if it does not.
	Kept string
	// Span is the recorded time, and Incident the part that the findings are about.
	Span, Incident rules.Span
	Marked         Marked
}

// A Marked is a recording's folder in which a change was marked; the zero value is none.
type Marked struct {
	Folder string
	At     time.Time // of the newest mark
	// Judged is true if enough was recorded on both sides of the mark to compare them, and Growing
	// if the folder is still being recorded to.
	Judged, Growing bool
}

// A Source is a source that was read. Host is the host that it names; "" if none.
type Source struct {
	Kind, Name, Engine, Version, Host string
	// Again is the argument for a command that samples it again, such as its address with its user, if that
	// differs from Name.
	Again string
}

// Of returns the actions for an incident's findings, the first one to try first.
func Of(input *rules.Case, findings []rules.Finding, setting Setting) []Action {
	if !input.Stall.Any() || rules.Trifle(input.Seconds(input.Stall.Cells),
		input.Seconds(input.Stall.Observed)) {
		return []Action{}
	}

	// The place decides which recipe of a remedy applies.
	place := whereIs(input, setting)
	refuted := refuted(input.Pack, findings)

	var found []choice
	for i := range findings {
		f := &findings[i]
		if f.Kind != rules.Cause || f.Severity == rules.Info {
			continue
		}
		for _, x := range f.Fixes {
			for _, m := range x.Do {
				if k, ok := place.choose(input, f, x, m, refuted); ok {
					found = append(found, k)
				}
			}
		}
	}

	// Free remedies always come before paid ones. Within each group, a cause that explains the others comes
	// first: no setting helps against a volume whose credits ran out. After that, restarts come after
	// remedies without one, and remedies that may help after those that measurably did.
	slices.SortStableFunc(found, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.paid(), b.paid()), cmp.Compare(a.secondary(), b.secondary()),
			cmp.Compare(a.effort(), b.effort()), cmp.Compare(a.unproven(), b.unproven()))
	})

	out := []Action{}
	changed := map[string]bool{}
	for _, k := range found {
		// Two remedies that change the same setting would undo each other.
		if changed[k.remedy.Name] || slices.ContainsFunc(k.remedy.Settings,
			func(n string) bool { return changed[n] }) {
			continue
		}

		changed[k.remedy.Name] = true
		for _, n := range k.remedy.Settings {
			changed[n] = true
		}

		if out = append(out, place.action(input, k, setting)); len(out) == Most {
			break
		}
	}

	if a := place.first(input, out); a != nil && found[0].paid() > 0 {
		out = append([]Action{*a}, out[:min(len(out), Most-1)]...)
	}

	// First compare the effect of the change that was already made.
	if m := setting.Marked; m.Judged && len(out) > 0 {
		out[0].Look = append([]string{"plimsoll prove " + shellword.Quote(m.Folder) + " --at-mark"}, out[0].Look...)
	}

	return out
}

// refuted returns the resources that would not help, according to the findings.
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

// A choice is a remedy that fits the place.
type choice struct {
	remedy  *rules.Remedy
	recipe  *rules.Recipe
	finding *rules.Finding
	fix     rules.Fix
	values  rules.Values
}

// explains is the share of the stalled time above which a cause that explains others is dealt with
// first.
const explains = 0.5

// secondary is 0 for a remedy of a cause that explains the others, and 1 for the rest.
func (k choice) secondary() int {
	if k.finding.Foremost && k.finding.Weight >= explains {
		return 0
	}
	return 1
}

// paid is 1 for remedies that cost more than before, and 0 for the rest.
func (k choice) paid() int {
	if k.remedy.Money != "" && !k.remedy.Saves {
		return 1
	}
	return 0
}

// effort orders actions: immediate and free ones, then restarts, then paid ones.
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

// unproven is 0 for remedies that, when measured on this engine, ended such stalls, and 1 for the rest.
func (k choice) unproven() int {
	if k.fix.Decisive {
		return 0
	}
	return 1
}

// choose returns the remedy in the form for the place where the database runs; false if it is
// refuted, already done or not possible there.
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

	// Computed values win over those of the advice, unless they are empty.
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

// RecipeFor is the recipe of a remedy for a place, a cloud and a version; nil if there is none. If
// the cloud is unknown, only recipes for every cloud fit; if the place has none of these, the first
// for any cloud.
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

		// If the version is unknown, only recipes for all versions are safe.
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

// compareVersions compares "3.5.10" and "3.5.6" number by number; missing numbers count as 0.
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

// action prints a choice as an action.
func (w *where) action(c *rules.Case, k choice, s Setting) Action {
	m := k.remedy
	p := printer{w: w, values: k.values}
	x, proof := p.steps(k.recipe), proofOf(c, k, s)
	return Action{
		Remedy: m.Name, Title: m.Title, Rule: k.finding.Rule, Subject: k.finding.Subject, Expect: k.fix.Expect,
		Place: string(w.place), PlaceKnown: w.known, Host: w.host, Look: append(proof.record, x.Look...), Do: x.Do,
		Keep: x.Keep, Check: x.Check, Undo: x.Undo,
		Kept: x.Kept, NoUndo: x.NoUndo, Restart: x.Restart, Cost: costs(restarting(x.Restart),
			p.text(m.Cost), x.Cost), Money: p.text(m.Money),
		WaitS: m.Wait.Seconds(), Until: m.Until, Notes: append(proof.notes, x.Notes...),
		Raises: append([]string{}, m.Raises...),
		Prove:  proof.compare, RecordS: proof.seconds,
	}
}

// restarting says what is restarted; "" if nothing is.
func restarting(what string) string {
	if what == "" {
		return ""
	}
	return "restarts " + what
}

// Effort describes in a few words what an action takes: "no restart, free".
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

// Judged describes when the action can be judged: "wait 2m until a checkpoint has passed, record
// 10m, then compare".
func (a *Action) Judged() string {
	return "wait " + units.Seconds(a.WaitS) + ", until " + a.Until + "; record for " + units.Seconds(a.RecordS) +
		"; then compare"
}
