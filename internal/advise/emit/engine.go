package emit

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
)

// An Engine is what emit must know of a storage engine.
type Engine interface {
	engine.Engine
	// Deployment says how the engine is deployed and configured.
	Deployment() Deployment
}

// A Deployment is how an engine is deployed: where its volumes are mounted, which files configure
// it, and why one changes its settings. Settings are named by their keys in scenarios, below the
// engine's: "cache".
type Deployment struct {
	// Targets write the engine's own configuration.
	Targets []Target
	// Places are where volumes are, by name. A volume without one is mounted below /srv.
	Places map[string]Place
	// Reasons say why one changes a setting: what it acts upon, not what it should be.
	Reasons map[string]string
	// Elsewhere says who changes what no target writes. The first that fits is taken; one without a
	// setting fits all of the engine's.
	Elsewhere []Elsewhere
	// Containers are what the engine's container is usually called, the likeliest first.
	Containers []string
	// MountIn is where a container mounts a further volume, given its arguments and where it has
	// the data, if that is known. Nil or "": in the root, by the volume's name.
	MountIn func(volume, data string, args []string) string
	// Renew says how pods come to new claims, given how a volume gets what belongs on it.
	Renew func(bring string) string
	// BesideCache is the memory that the engine needs besides its cache; 0 if that is not known.
	BesideCache units.Size
	// Members is the setting that is the number of a cluster's members; "" without one.
	Members string
	// MembersChange says what has to be done when it changes, after what changed.
	MembersChange string
}

// A Target is one kind of an engine's configuration.
type Target struct {
	Name  string
	About string // in a few words
	// Write makes the files; nil if the layout changes nothing that they have.
	Write func(*Layout) (*Part, error)
}

// A Place is where a volume is.
type Place struct {
	// Mount is where a machine mounts it, as Debian's packages have it.
	Mount string
	// Tell is how the engine is told of another place; "" if it need not be.
	Tell string
	// Bring says how a new volume gets what belongs on it; "" for what is copied, or synced anew.
	Bring string
}

// Elsewhere is who makes a change that no target writes.
type Elsewhere struct{ Setting, Text string }

// place is where a volume goes.
func (l *Layout) place(volume string) Place {
	if p, ok := l.deployment.Places[volume]; ok {
		return p
	}
	return Place{Mount: "/srv/" + l.engine() + "-" + volume, Tell: "its configuration"}
}

// bring says how a new volume gets what belongs on it.
func (l *Layout) bring(volume string) string {
	if text := l.place(volume).Bring; text != "" {
		return text
	}
	return "Move the data on the old " + volume + " volume to the new one: with the engine stopped (`rsync -a`), or by an initial sync of one replica after another. Keep the old volume until the new one has proved itself."
}

// engine is the engine's key in scenarios.
func (l *Layout) engine() string { return l.After.Engine.Name() }

// setting is the path of one of the engine's settings in a scenario.
func (l *Layout) setting(name string) string { return "engine." + l.engine() + "." + name }
