package act

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
)

// Steps are the commands of a recipe for one place. None says why there are none.
type Steps struct {
	None    string   `json:"none,omitempty"`
	Look    []string `json:"look,omitempty"`
	Do      []string `json:"do,omitempty"`
	Keep    []string `json:"keep,omitempty"`
	Check   []string `json:"check,omitempty"`
	Undo    []string `json:"undo,omitempty"`
	Kept    string   `json:"kept,omitempty"`
	NoUndo  string   `json:"no_undo,omitempty"`
	Restart string   `json:"restart,omitempty"`
	// Cost is the cost in this place, in addition to the remedy's own cost.
	Cost  string   `json:"cost,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

// costs joins everything that a remedy costs besides money: what restarts, and the costs of the remedy and of
// the place.
func costs(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

func (p printer) steps(r *rules.Recipe) Steps {
	// Of several calls that change something, none runs once one has failed.
	out := Steps{None: p.text(r.None), Look: p.lines(r.Look, ""), Do: p.lines(r.Do, " && "),
		Keep: p.lines(r.Keep, " && "), Check: p.lines(r.Check, ""), Undo: p.lines(r.Undo, " && "),
		Kept: p.text(r.Kept), NoUndo: p.text(r.NoUndo), Restart: p.text(r.Restart),
		Cost: p.text(r.Cost), Notes: []string{}}
	for _, n := range r.Notes {
		out.Notes = append(out.Notes, p.text(n))
	}
	return out
}

// A Description is a remedy as shown on pages: for every place, with example values.
type Description struct {
	Remedy   string   `json:"remedy"`
	Title    string   `json:"title"`
	Database string   `json:"engine,omitempty"` // the engine that implements it; "" for all
	Cost     string   `json:"cost"`
	Money    string   `json:"money"`
	WaitS    float64  `json:"wait_seconds"`
	Until    string   `json:"until"`
	Raises   []string `json:"larger_on_purpose"`
	Ways     []Way    `json:"ways"`
}

// A Way describes how to do it in one place, for versions from From and before Before. Clouds are
// the clouds whose hosts it applies to; none means every host.
type Way struct {
	Place  string   `json:"place"`
	Clouds []string `json:"clouds,omitempty"`
	From   string   `json:"from_version,omitempty"`
	Before string   `json:"before_version,omitempty"`
	// Tested says how these steps were tested; "" if there are none.
	Tested string `json:"tested,omitempty"`
	Steps
}

// A Fix is a piece of a rule's advice with the remedies that carry it out.
type Fix struct {
	Advice    string        `json:"advice"` // its name in the rule
	Summary   string        `json:"summary"`
	NoCommand string        `json:"no_command,omitempty"`
	Remedies  []Description `json:"remedies"`
}

// Describe describes a remedy as a database implements it. Values, if any, replace those of the
// example.
func Describe(pack *rules.Pack, database string, remedy *rules.Remedy, values rules.Values) Description {
	renderer := printer{w: &where{database: database}, values: rules.Values{}}
	maps.Copy(renderer.values, remedy.Example)
	// Values of a finding replace those of the example, which are complete.
	maps.Copy(renderer.values, values)

	for _, e := range pack.Engines() {
		if e.Database == database {
			renderer.w.client = e.Client
		}
		// Any engine's Azure command serves as the example, unless the remedy's own engine has one.
		if e.AzureCommand != "" && (renderer.values["azure"] == "" || e.Database == database) {
			renderer.values["azure"] = rules.Value(e.AzureCommand)
		}
	}

	out := Description{Remedy: remedy.Name, Title: remedy.Title, Cost: renderer.text(remedy.Cost),
		Money: renderer.text(remedy.Money),
		WaitS: remedy.Wait.Seconds(), Until: remedy.Until, Raises: append([]string{}, remedy.Raises...)}
	for i := range remedy.Recipes {
		r := &remedy.Recipes[i]
		places := r.Places
		if len(places) == 0 {
			// A recipe without places applies to every place that no earlier recipe names.
			places = others(remedy.Recipes[:i])
		}

		for _, place := range places {
			renderer.w.place = place
			var clouds []string
			for _, c := range r.Clouds {
				clouds = append(clouds, string(c))
			}
			way := Way{Place: string(place), Clouds: clouds, From: r.From, Before: r.Before, Steps: renderer.steps(r)}
			if way.None == "" {
				way.Tested = tested(remedy.Name, place, r)
			}
			out.Ways = append(out.Ways, way)
		}
	}

	return out
}

// others are the places without an earlier recipe for all versions and clouds.
func others(earlier []rules.Recipe) []rules.Place {
	taken := map[rules.Place]bool{}
	for _, r := range earlier {
		for _, place := range r.Places {
			taken[place] = taken[place] || r.From == "" && r.Before == "" && len(r.Clouds) == 0
		}
	}
	var out []rules.Place
	for _, place := range rules.Places {
		if !taken[place] {
			out = append(out, place)
		}
	}
	return out
}

// Fixes are a rule's pieces of advice, by name. A rule without an engine shows every engine's
// implementation.
func Fixes(pack *rules.Pack, r *rules.Rule) []Fix {
	out := []Fix{}
	for _, name := range r.AdviceNames() {
		a := r.Advice[name]
		x := Fix{Advice: name, Summary: a.Summary, NoCommand: a.NoCommand, Remedies: []Description{}}
		for _, m := range a.Do {
			// A remedy with its own recipes is shown unless the rule's engine has a different
			// implementation.
			if len(m.Recipes) > 0 && (r.Engine == "" || pack.RemedyFor(r.Engine, m) == m) {
				x.Remedies = append(x.Remedies, Describe(pack, r.Engine, m, nil))
			}
			for _, e := range pack.Engines() {
				if own := e.Remedies[m]; own != nil && (r.Engine == "" || r.Engine == e.Database) {
					d := Describe(pack, e.Database, own, nil)
					d.Database = e.Database
					x.Remedies = append(x.Remedies, d)
				}
			}
		}

		out = append(out, x)
	}

	return out
}
