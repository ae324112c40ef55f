package prove

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A Setting is one that differs between the recordings.
type Setting struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Fixes are the names that [Options] take as Fixes, in alphabetical order.
func Fixes(pack *rules.Pack) []string {
	var out []string
	for _, m := range pack.Remedies() {
		if !slices.Contains(out, m.Name) {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}

// settingFacts begin the names of facts that are settings of the host.
var settingFacts = []string{"vm.", "wbt_lat_usec.", "scheduler.", "cgroup."}

// changed are the settings that both recordings tell, and differently.
func changed(a, b *side) []Setting {
	out := []Setting{}
	of := func(c *rules.Case) map[string]string {
		all := map[string]string{}
		begin := slices.Clone(settingFacts)
		for _, e := range c.Pack.Engines() {
			if slices.Contains(c.Engines, e.Database) {
				begin = append(begin, e.SettingFacts...)
				for _, s := range e.Settings {
					if x := timeline.Quantile(c.One(s), 0.5); x == x {
						all[s.Name] = units.Value(x, s.Unit)
					}
				}
			}
		}
		for name, v := range c.Facts {
			if slices.ContainsFunc(begin, func(p string) bool { return strings.HasPrefix(name, p) }) {
				all[name] = v
			}
		}
		return all
	}
	before, after := of(a.c), of(b.c)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if y, ok := after[name]; ok && y != before[name] {
			out = append(out, Setting{Name: name, Before: before[name], After: y})
		}
	}
	return out
}

// meant marks what got larger on purpose: by the fixes that were named, and by those whose settings
// changed.
func (r *Report) meant(pairs []pair, opt Options) {
	r.Fixes = []string{}
	raised := map[string]bool{}
	for _, m := range opt.Pack.Remedies() {
		named := slices.Contains(opt.Fixes, m.Name)
		seen := slices.ContainsFunc(r.Settings, func(s Setting) bool { return slices.Contains(m.Settings, s.Name) })
		if !named && !seen || slices.Contains(r.Fixes, m.Name) {
			continue
		}
		if named || len(opt.Fixes) == 0 {
			r.Fixes = append(r.Fixes, m.Name)
			for _, name := range m.Raises {
				raised[name] = true
			}
		}
	}
	for i := range pairs {
		f := &pairs[i].figure
		if raised[f.Name] && !pairs[i].kind.felt && (f.Verdict == Worse || f.Verdict == Higher) {
			f.Verdict = AsMeant
		}
	}
}

// checkFixes refuses a fix that no rule has.
func checkFixes(pack *rules.Pack, names []string) error {
	known := Fixes(pack)
	for _, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("no fix is called %q; known: %s", n, strings.Join(known, ", "))
		}
	}
	return nil
}
