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

// A Setting is a setting that differs between the recordings.
type Setting struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Fixes returns the names that Options.Fixes accepts, in alphabetical order.
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

// settingFacts are the prefixes of facts that are settings of the host.
var settingFacts = []string{"vm.", "wbt_lat_usec.", "scheduler.", "cgroup."}

// settings returns the host's and the engine's settings as reported by a side's sources.
func (s *side) settings() map[string]string {
	c := s.c
	all := map[string]string{}

	begin := slices.Clone(settingFacts)
	for _, e := range c.Pack.Engines() {
		if !slices.Contains(c.Engines, e.Database) {
			continue
		}
		begin = append(begin, e.SettingFacts...)
		for _, of := range e.Settings {
			if x := timeline.Quantile(c.One(of), 0.5); x == x {
				all[of.Name] = units.Value(x, of.Unit)
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

// changed returns the settings that both recordings report with different values.
func changed(a, b *side) []Setting {
	out := []Setting{}
	before, after := a.settings(), b.settings()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if y, ok := after[name]; ok && y != before[name] {
			out = append(out, Setting{Name: name, Before: before[name], After: y})
		}
	}
	return out
}

// contradict warns about named fixes if none of the settings that they change differs between the
// recordings, and records them. If no source reports a fix's settings, the user is trusted.
func (r *Report) contradict(a, b *side, opt Options) {
	before, after := a.settings(), b.settings()
	for _, m := range opt.Pack.Remedies() {
		if !slices.Contains(opt.Fixes, m.Name) || slices.Contains(r.undone, m.Name) {
			continue
		}

		var same []string
		differs := false
		for _, name := range m.Settings {
			x, known := before[name]
			y, alsoKnown := after[name]
			switch {
			// A setting that one side does not report proves nothing.
			case !known || !alsoKnown:
			case x == y:
				same = append(same, name+" is "+x)
			default:
				differs = true
			}
		}

		if differs || len(same) == 0 {
			continue
		}

		r.undone = append(r.undone, m.Name)
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("--fix %s is not in effect: %s in both recordings", m.Name, strings.Join(same, ", ")))
	}
}

// meant marks the figures that rose on purpose: because of the named fixes, or if none are named, of those
// whose settings changed.
func (r *Report) meant(pairs []pair, opt Options) {
	r.Fixes = []string{}
	raised := map[string]bool{}
	for _, m := range opt.Pack.Remedies() {
		named := slices.Contains(opt.Fixes, m.Name)
		if named && slices.Contains(r.undone, m.Name) {
			continue // its settings are not in effect, so a rise has another cause
		}

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

// checkFixes fails if a fix is unknown.
func checkFixes(pack *rules.Pack, names []string) error {
	known := Fixes(pack)
	for _, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("unknown fix %q: want one of %s", n, strings.Join(known, ", "))
		}
	}
	return nil
}
