package scenario

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// An Engine is what a scenario needs of a storage engine.
type Engine interface {
	engine.Engine
	// NewConfig returns settings with the engine's defaults: a pointer to a struct with YAML tags.
	NewConfig() Config
}

// A Config is an engine's settings in a scenario.
type Config interface {
	// Check finds what cannot be.
	Check() diagnostics.List
	// DataSize is the size of the data on its volume, 0 if that is not known.
	DataSize() units.Size
	// CacheSize is the memory of the engine's own cache: its setting is [engine.Traits.Cache].
	CacheSize() units.Size
	// Ask completes the workload with what the settings say about the data and the workload does
	// not.
	Ask(w *workload.Spec)
	// Fill completes the settings from the workload and the host.
	Fill(from *Filling)
}

// A Cluster is the Config of an engine that runs on several machines. Their names are m1, m2, ...
type Cluster interface {
	Config
	MemberCount() int
}

// A Lacker is a Config with which the engine needs only some of the volumes in its traits.
type Lacker interface {
	Config
	Lacks(volume string) bool
}

// A Filling is the source from which an engine's settings are completed.
type Filling struct {
	Host     *kernel.Config
	Workload *workload.Workload

	omits  func(setting string) bool
	blamed map[string]string
}

// Omits reports whether the scenario leaves a setting out: "cache".
func (f *Filling) Omits(setting string) bool { return f.omits(setting) }

// Blame says that a setting repeats another field of the scenario, "workload.document.size".
// Problems with the setting are reported there.
func (f *Filling) Blame(setting, field string) { f.blamed[setting] = field }

// A Chosen engine is the one that a scenario names, with its settings. The zero Chosen is none.
type Chosen struct {
	Engine
	Config Config

	all []engine.Engine // that could have been chosen
}

// Name is the engine's key in a scenario: "wiredtiger"; "" if none is chosen.
func (c *Chosen) Name() string {
	if c.Engine == nil {
		return ""
	}
	return c.Traits().Key
}

// Database is the product's name in recordings and rules: "mongodb"; "" if it is not a database.
func (c *Chosen) Database() string {
	if c.Engine == nil {
		return ""
	}
	return c.Traits().Database
}

// Volumes are those that the engine uses with these settings, in the order of its traits.
func (c *Chosen) Volumes() []engine.Role {
	roles := slices.Clone(c.Traits().Volumes)
	if l, ok := c.Config.(Lacker); ok {
		roles = slices.DeleteFunc(roles, func(r engine.Role) bool { return l.Lacks(r.Name) })
	}
	return roles
}

// ConfigOf returns the settings of a scenario's engine if they are of type T, else nil.
func ConfigOf[T Config](s *Scenario) T {
	c, _ := s.Engine.Config.(T)
	return c
}

// Facet returns what a core needs of a scenario's engine to do something. The error is an
// [*engine.LackError] that names the engines which can.
func Facet[T any](s *Scenario, verb string) (T, error) {
	return engine.Facet[T](s.Engine.all, s.Engine.Name(), verb)
}

func (c *checker) engine() {
	switch len(c.chosen) {
	case 0:
		if slices.ContainsFunc(c.undecoded, func(u yamltree.Placed) bool { return u.NoSuch && within(u.Field, "engine") }) {
			return // an unknown engine is named, which is reported elsewhere
		}
		c.add(diagnostics.Problem{Field: "engine", Text: "missing: exactly one of " + strings.Join(c.keys(), ", ") + ", {" + c.keys()[0] + ": {}} for instance"})
		return
	case 1:
	default:
		for _, more := range c.chosen[1:] {
			c.add(diagnostics.Problem{Field: "engine." + more.Name(), Text: fmt.Sprintf("a second engine, beside %s: a scenario has one", c.chosen[0].Name())})
		}
		return
	}
	if len(c.Volumes) > 0 {
		c.needed(&c.chosen[0])
	}
}

// needed checks that the scenario has exactly the volumes that the engine needs.
func (c *checker) needed(e *Chosen) {
	var oneOf, known []string
	for _, r := range e.Volumes() {
		known = append(known, r.Name)
		if r.Needed || r.OneOf {
			oneOf = append(oneOf, r.Name)
		}
	}
	if !slices.ContainsFunc(oneOf, func(name string) bool { return c.Volumes.Get(name) != nil }) {
		c.add(diagnostics.Problem{Field: "volumes", Text: fmt.Sprintf("%s needs a volume called %s", e.Name(), strings.Join(oneOf, " or "))})
	}
	check := func(field, name string) {
		if slices.Contains(known, name) {
			return
		}
		p := diagnostics.Problem{Field: field + "." + name, Text: fmt.Sprintf("%s uses no volume called %s: it has %s", e.Name(), name, strings.Join(known, ", "))}
		p.Nearest = diagnostics.Nearest(name, known)
		c.add(p)
	}
	for _, v := range c.Volumes {
		check("volumes", v.Name)
	}
	for _, m := range c.Members {
		for _, v := range m.Value.Volumes {
			check("members."+m.Name+".volumes", v.Name)
		}
	}
}

// together checks rules that involve two parts.
func (c *checker) together() {
	if len(c.chosen) != 1 {
		return
	}
	e := &c.chosen[0]
	if key, size := e.Traits().Cache, e.Config.CacheSize(); size >= c.Host.Memory && key != "" {
		nearest := (c.Host.Memory/2 - c.Host.Memory/2%units.MiB)
		c.add(diagnostics.Problem{
			Field: "engine." + e.Name() + "." + key, Text: fmt.Sprintf("a cache of %s does not fit the host's memory", size.Exact()),
			Limit: "less than " + c.Host.Memory.Exact() + ", host.memory", Nearest: nearest.Exact(),
		})
	}
	c.fits(e)
}

// fits checks the data against its volume.
func (c *checker) fits(e *Chosen) {
	data := c.Volumes.Get("data")
	if data == nil || data.Size == 0 || c.load == nil || len(c.problems) > 0 || len(c.undecoded) > 0 {
		return
	}
	size := units.Size(data.Members()) * data.Size
	if want := e.Config.DataSize(); want > size {
		c.add(diagnostics.Problem{
			Field: "volumes.data.size", Text: fmt.Sprintf("a database of %s does not fit", want),
			Limit: "the data volume's " + size.Exact(), Nearest: (want/units.GiB/units.Size(data.Members())*units.GiB + units.GiB).Exact(),
		})
	}
}

// fill completes the engine's settings and checks them.
func (c *checker) fill(e *Chosen, load *workload.Workload) {
	at := "engine." + e.Name()
	from := &Filling{
		Host: &c.Host.Config, Workload: load, blamed: map[string]string{},
		omits: func(setting string) bool { return !c.wrote(at + "." + setting) },
	}
	e.Config.Fill(from)
	for _, p := range e.Config.Check() {
		field, ok := from.blamed[p.Field]
		if !ok {
			field = at
			if p.Field != "" {
				field += "." + p.Field
			}
		}
		p.Field = field
		c.add(p)
	}
}
