package emit

import (
	"plimsoll/internal/advise/budget"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// Engines are the engines that emit supports.
type Engines struct {
	// Language parses a plan's scenario.
	Language *scenario.Language
	// Deployments describe how each engine is deployed and configured.
	Deployments []database.With[Deployment]
	// Others writes the I/O budget of the data volume as settings of databases that are not engines of
	// this program: files, how to apply each, how to go back, and what restarts; nil: none.
	Others func(l *Transition, data budget.Budget) *Part
}

// A Deployment describes how an engine is deployed: where its volumes are mounted, which files configure
// it, and why to change its settings. It identifies settings by their keys in scenarios below the
// engine's key: "cache".
type Deployment struct {
	// Targets write the engine's own configuration.
	Targets []Target
	// Places are the volumes' mount points, by name. A volume without one is mounted below /srv.
	Places map[string]Place
	// Reasons say why to change each setting: what it affects, not what it should be.
	Reasons map[string]string
	// Elsewhere is how to make changes that no target writes. The first match counts; an entry without a
	// setting matches all of the engine's settings.
	Elsewhere []Elsewhere
	// Containers are the usual names of the engine's container, the most likely first.
	Containers []string
	// Log describes how a pod's log moves to a separate volume; nil: not supported.
	Log *LogInPod
	// Move describes the same for a machine's log; nil: not supported.
	Move *LogMove
	// Renew describes how pods get new claims, given how a volume gets its data.
	Renew func(bring string) string
	// BesideCache is the memory that the engine needs in addition to its cache; 0 if unknown.
	BesideCache units.Size
	// Budget returns the engine's own settings for the I/O budget of the data volume: files, how to apply
	// them, how to go back, and what restarts; nil: it has none.
	Budget func(l *Transition, data budget.Budget) *Part
	// Members is the setting for the number of a cluster's members; "" if there is none.
	Members string
	// MembersChange is what to do if it changes, as a continuation of the sentence with the change.
	MembersChange string
}

// A Target is one kind of an engine's configuration.
type Target struct {
	Name  string
	About string // in a few words
	// Write creates the files; nil if the layout changes nothing in them.
	Write func(*Transition) (*Part, error)
}

// A Place is where a volume is mounted.
type Place struct {
	// Mount is the mount point on a machine, following Debian's packages.
	Mount string
	// Configure is how to configure the engine for a different mount point; "" if that is not necessary.
	Configure string
	// MoveData is how a new volume gets its data; "" if the data is copied or resynced.
	MoveData string
}

// Elsewhere is how to make a change that no target writes.
type Elsewhere struct{ Setting, Text string }

// place returns a volume's mount point.
func (l *Transition) place(volume string) Place {
	if p, ok := l.deployment.Places[volume]; ok {
		return p
	}
	return Place{Mount: "/srv/" + l.engine() + "-" + volume, Configure: "its configuration"}
}

// Mount returns where a volume is mounted.
func (l *Transition) Mount(volume string) string { return l.place(volume).Mount }

// bring returns how a new volume gets its data.
func (l *Transition) bring(volume string) string {
	if text := l.place(volume).MoveData; text != "" {
		return text
	}
	if l.isNew {
		return "Mount the new " + volume + " volume before the engine creates its first files."
	}
	return "Move the data on the old " + volume +
		" volume to the new one: either with the engine stopped (`rsync -a`), or by an initial sync of one replica at a time. Keep the old volume until you are satisfied with the new one."
}

// engine returns the engine's key in scenarios.
func (l *Transition) engine() string { return l.After.Engine.Name() }

// setting returns the path of one of the engine's settings in a scenario.
func (l *Transition) setting(name string) string { return "engine." + l.engine() + "." + name }
