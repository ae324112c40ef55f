package rollout

import (
	"context"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/database"
)

// Engines are the engines that rollouts support.
type Engines struct {
	emit.Engines
	// Procedures define how to handle the members of each engine.
	Procedures []database.With[Procedure]
}

// A Procedure defines how to stop and start an engine's members, where their log is, and when they are
// healthy.
type Procedure struct {
	// Log is the log's folder below the data folder: "member/wal".
	Log string
	// Into is the log's folder on the separate volume. It is never the volume's root: if the volume is
	// not mounted, the folder is missing, and the engine does not start.
	Into string
	// IsLog reports by its name whether a file in that folder is part of the log. To the engine, a
	// folder without such a file is empty.
	IsLog func(name string) bool
	// Commands returns the shell commands that start and stop a member if its site has none; nil if
	// there is no standard way.
	Commands func(m *Member) (start, stop string)
	// Running returns which server uses the data folder, according to the engine's own marks in it:
	// "process 4711"; "" if none does. Nil: the engine leaves no marks.
	Running func(m *Member) (string, error)
	// Answers returns nil if a server answers at the member's address, regardless of the answer.
	Answers func(ctx context.Context, m *Member) error
	// Ready fails if the member must not be stopped now: its cluster needs it, or it does not use the
	// data folder.
	Ready func(ctx context.Context, m *Member) error
	// Healthy fails if the member does not serve requests, does not make writes durable, or lags behind
	// its cluster.
	Healthy func(ctx context.Context, m *Member) error
	// Configure returns the configuration file with the log's new folder set. Nil: the engine has no
	// such setting, and the link is sufficient.
	Configure func(file string, text []byte, dir string) ([]byte, error)
}

// A Member is one server of the engine on this machine.
type Member struct {
	Name string `yaml:"name,omitempty"`
	// Data is its data folder.
	Data string `yaml:"data"`
	// Volumes are the mount points of new volumes, by their names in the plan.
	Volumes yamltree.Keyed[string] `yaml:"volumes"`
	// Unit is its systemd unit. Alternatively, Start and Stop are shell commands. Start must return while
	// the server keeps running.
	Unit  string `yaml:"unit,omitempty"`
	Start string `yaml:"start,omitempty"`
	Stop  string `yaml:"stop,omitempty"`
	// Address is the address that it listens on.
	Address string `yaml:"address,omitempty"`
	// Config is its configuration file, if the file has to change.
	Config string `yaml:"config,omitempty"`
	// Patience is how long it may take to stop, or to become healthy after a start.
	Patience units.Duration `yaml:"patience,omitempty"`
}
