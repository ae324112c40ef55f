package emit

import (
	"plimsoll/internal/advise/budget"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// Engines are those whose layouts can be emitted.
type Engines struct {
	// Language reads a plan's scenario.
	Language *scenario.Language
	// Deployments describe how each engine is deployed and configured.
	Deployments []engine.With[Deployment]
	// Others writes what the data's volume gives as settings of databases that are no engine here;
	// nil: of none. It says how to use each file, and what has to restart for them.
	Others func(l *Layout, data budget.Budget) (files []File, apply []string, restarts string)
}

// A Deployment is how an engine is deployed: where its volumes are mounted, which files configure
// it, and why to change its settings. Settings are identified by their keys in scenarios, below the
// engine's: "cache".
type Deployment struct {
	// Targets write the engine's own configuration.
	Targets []Target
	// Places are the volumes' mount points, by name. A volume without one is mounted below /srv.
	Places map[string]Place
	// Reasons say why to change a setting: what it affects, not what it should be.
	Reasons map[string]string
	// Elsewhere says who makes changes that no target writes. The first match counts; an entry
	// without a setting matches all of the engine's.
	Elsewhere []Elsewhere
	// Containers are the usual names of the engine's container, the likeliest first.
	Containers []string
	// Log is how a pod's log moves to a volume of its own; nil if it does not.
	Log *LogInPod
	// Move says how a machine's does; nil if it does not.
	Move *LogMove
	// Renew says how pods get new claims, given how a volume gets its data.
	Renew func(bring string) string
	// BesideCache is the memory that the engine needs besides its cache; 0 if unknown.
	BesideCache units.Size
	// Budget writes the engine's own settings for the I/O that the data's volume gives, and says how
	// to apply them; nil: it has none.
	Budget func(l *Layout, data budget.Budget) (files []File, apply, restarts string)
	// Members is the setting for the number of a cluster's members; "" if there is none.
	Members string
	// MembersChange says what to do if it changes, as a continuation of the change.
	MembersChange string
}

// A Target is one kind of an engine's configuration.
type Target struct {
	Name  string
	About string // in a few words
	// Write makes the files; nil if the layout changes nothing in them.
	Write func(*Layout) (*Part, error)
}

// A Place is where a volume is.
type Place struct {
	// Mount is where a machine mounts it, following Debian's packages.
	Mount string
	// Tell says how to configure the engine for a different place; "" if that is not necessary.
	Tell string
	// Bring says how a new volume gets its data; "" if it is copied, or synced again.
	Bring string
}

// Elsewhere says who makes a change that no target writes.
type Elsewhere struct{ Setting, Text string }

// place returns a volume's mount point.
func (l *Layout) place(volume string) Place {
	if p, ok := l.deployment.Places[volume]; ok {
		return p
	}
	return Place{Mount: "/srv/" + l.engine() + "-" + volume, Tell: "its configuration"}
}

// Mount returns where a volume is mounted.
func (l *Layout) Mount(volume string) string { return l.place(volume).Mount }

// bring says how a new volume gets its data.
func (l *Layout) bring(volume string) string {
	if text := l.place(volume).Bring; text != "" {
		return text
	}
	return "Move the data on the old " + volume +
		" volume to the new one: with the engine stopped (`rsync -a`), or by an initial sync of one replica after another. Keep the old volume until the new one has proved itself."
}

// engine returns the engine's key in scenarios.
func (l *Layout) engine() string { return l.After.Engine.Name() }

// setting returns the path of one of the engine's settings in a scenario.
func (l *Layout) setting(name string) string { return "engine." + l.engine() + "." + name }
