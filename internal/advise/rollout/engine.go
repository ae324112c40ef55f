package rollout

import (
	"context"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/engine"
)

// Engines are those whose plans can be carried out.
type Engines struct {
	emit.Engines
	// Procedures say how the members of each are handled.
	Procedures []engine.With[Procedure]
}

// A Procedure is how an engine's members are stopped and started, where their log lies, and what it
// is to be well.
type Procedure struct {
	// Log is the log's folder below the data folder: "member/wal".
	Log string
	// Into is the log's folder on a volume of its own. It is never the volume's root: if the volume
	// is not mounted, the folder is missing, and the engine does not start.
	Into string
	// IsLog reports whether a file in that folder is part of the log, by its name. A folder without
	// one is empty to the engine.
	IsLog func(name string) bool
	// Commands are the shell commands that start and stop a member whose site names none; nil if
	// there is no usual way.
	Commands func(m *Member) (start, stop string)
	// Running says by the engine's own marks in the data folder that a server uses it: "process
	// 4711"; "" if none does. Nil: there are none.
	Running func(m *Member) (string, error)
	// Answers is nil if a server answers at the member's address, whatever it says.
	Answers func(ctx context.Context, m *Member) error
	// Ready fails if the member must not be stopped now: its cluster needs it, or it is not the
	// server of the data folder.
	Ready func(ctx context.Context, m *Member) error
	// Healthy fails if the member does not serve, or does not make writes durable, or lags behind its
	// cluster.
	Healthy func(ctx context.Context, m *Member) error
	// Configure returns the configuration file with the log's new folder in it. Nil: the engine has
	// no such setting, the link is enough.
	Configure func(file string, text []byte, dir string) ([]byte, error)
}

// A Member is one server of the engine on this machine.
type Member struct {
	Name string `yaml:"name,omitempty"`
	// Data is its data folder.
	Data string `yaml:"data"`
	// Volumes are the mount points of new volumes, by their names in the plan.
	Volumes yamltree.Keyed[string] `yaml:"volumes"`
	// Unit is its systemd unit; or Start and Stop are the shell commands. Start must return while
	// the server runs on.
	Unit  string `yaml:"unit,omitempty"`
	Start string `yaml:"start,omitempty"`
	Stop  string `yaml:"stop,omitempty"`
	// Address is where it answers.
	Address string `yaml:"address,omitempty"`
	// Config is its configuration file, if that has to change.
	Config string `yaml:"config,omitempty"`
	// Patience is how long it may take to stop, or to be well after its start.
	Patience units.Duration `yaml:"patience,omitempty"`
}
