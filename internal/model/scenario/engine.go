package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// An Engine is what scenarios and the simulator need from a storage engine. Its functions take settings
// that NewConfig returned.
type Engine struct {
	database.Traits
	// NewConfig returns settings with the engine's defaults: a pointer to a struct with YAML tags.
	NewConfig func() Config
	// NewModel makes the engine from settings that Check accepted.
	NewModel func(cfg Config, env *database.Env) (database.Model, error)
	// ConfigKeys are settings under the names of the engine's own configuration.
	ConfigKeys []ConfigKey
	// Evidence says what the model was compared with.
	Evidence database.Evidence

	// CyclePeriod is the longest time from the start of one checkpoint, or its equivalent, to the start
	// of the next, excluding the checkpoint's own duration; nil if they do not run on a schedule.
	CyclePeriod func(cfg Config) time.Duration
	// Cluster is set if the engine runs on several machines.
	Cluster *Cluster
	// Lacks reports that with these settings the engine does not use one of the volumes in its
	// traits; nil: it uses all.
	Lacks func(cfg Config, volume string) bool
	// Loaded is how many rows there are before the first operation; nil: as many as the workload has
	// documents.
	Loaded func(cfg Config) int64
	// SourceFacts are facts that settings add to a recording's source; nil: none.
	SourceFacts func(cfg Config) map[string]string
	// Queries find a result's figures in the engine's recordings.
	Queries database.Queries
	// DirtyMetric is the model's series for the bytes that its cache has yet to write; "" if there
	// is none.
	DirtyMetric string
	// Reporting reads what the model reports about a run in addition to its series; nil: nothing.
	Reporting *database.Reporting
}

// A Config is an engine's settings in a scenario.
type Config interface {
	// Check reports impossible settings.
	Check() inputerror.List
	// DataSize is the size of the data on its volume, 0 if unknown.
	DataSize() units.Size
	// CacheSize is the memory of the engine's own cache: its setting is [database.Traits.Cache].
	CacheSize() units.Size
	// Ask completes the workload with information about the data that only the settings have.
	Ask(w *workload.Spec)
	// Fill completes the settings from the workload and the host.
	Fill(from *Filling)
}

// A Cluster is an engine on several machines. Their names are m1, m2, ...
type Cluster struct {
	// Members is the number of members, and Leader the number of the leader, from 1.
	Members, Leader func(cfg Config) int
}

// A Filling holds the parts of a scenario from which an engine's settings are completed.
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

// A Chosen is the engine that a scenario names, with its settings. The zero value means none.
type Chosen struct {
	*Engine
	Config Config
}

// Name is the engine's key in a scenario: "mongodb"; "" if none is chosen.
func (c *Chosen) Name() string {
	if c.Engine == nil {
		return ""
	}
	return c.Key
}

// Database is the product's name in recordings and rules: "mongodb"; "" if it is not a database.
func (c *Chosen) Database() string {
	if c.Engine == nil {
		return ""
	}
	return c.Traits.Database
}

// Volumes are the volumes that the engine uses with these settings, in the order of its traits.
func (c *Chosen) Volumes() []database.Role {
	roles := slices.Clone(c.Traits.Volumes)
	if c.Lacks != nil {
		roles = slices.DeleteFunc(roles, func(r database.Role) bool { return c.Lacks(c.Config, r.Name) })
	}
	return roles
}

// ConfigOf returns the settings of a scenario's engine if they are of type T, otherwise nil.
func ConfigOf[T Config](s *Scenario) T {
	c, _ := s.Engine.Config.(T)
	return c
}

func (c *checker) engine() {
	switch len(c.chosen) {
	case 0:
		if slices.ContainsFunc(c.undecoded,
			func(u yamltree.Placed) bool { return u.NoSuch && within(u.Field, "engine") }) {
			return // an unknown engine is named, which is reported elsewhere
		}
		c.add(inputerror.Problem{Field: "engine", Text: "missing: exactly one of " + strings.Join(c.keys(), ", ") +
			"; for example {" + c.keys()[0] + ": {}}"})
		return
	case 1:
	default:
		for _, more := range c.chosen[1:] {
			c.add(inputerror.Problem{Field: "engine." + more.Name(),
				Text: fmt.Sprintf("a second engine in addition to %s: a scenario has one", c.chosen[0].Name())})
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
		c.add(inputerror.Problem{Field: "volumes",
			Text: fmt.Sprintf("%s needs a volume called %s", e.Name(), strings.Join(oneOf, " or "))})
	}

	check := func(field, name string) {
		if slices.Contains(known, name) {
			return
		}
		p := inputerror.Problem{Field: field + "." + name,
			Text: fmt.Sprintf("%s uses no volume called %s: it has %s", e.Name(), name, strings.Join(known, ", "))}
		p.Nearest = inputerror.Nearest(name, known)
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
	if key, size := e.Cache, e.Config.CacheSize(); size >= c.Host.Memory && key != "" {
		nearest := (c.Host.Memory/2 - c.Host.Memory/2%units.MiB)
		c.add(inputerror.Problem{
			Field: "engine." + e.Name() + "." + key,
			Text:  fmt.Sprintf("a cache of %s does not fit the host's memory", size.Exact()),
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
		c.add(inputerror.Problem{
			Field: "volumes.data.size", Text: fmt.Sprintf("a database of %s does not fit", want),
			Limit:   "the data volume's " + size.Exact(),
			Nearest: (want/units.GiB/units.Size(data.Members())*units.GiB + units.GiB).Exact(),
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
