//go:build linux

package run

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/recording"
)

// Options configure how to run a scenario.
type Options struct {
	// File and Sets are where the scenario was read from; the daemon that serves the volumes reads
	// it again.
	File string
	Sets []string
	// Record receives the series of the measured time; nil: they are not recorded. Run does not
	// close it.
	Record recording.Writer
	// Series includes time series in the result, for plots.
	Series bool
	// FileSystem is ext4 or xfs; "": the scenario's.
	FileSystem string
	// Images is a folder for the volumes' images; "": in memory.
	Images string
	// PowerLoss is how many times the machine loses power in the measured time.
	PowerLoss int
	// Model also simulates the scenario, once the machine is idle again.
	Model bool
	// Progress, if not nil, receives the run's progress about once a second.
	Progress func(Progress)
	// Log receives messages of the engine's processes and the volumes; nil: discarded.
	Log func(line string)
	// Existing means that Server is an existing server; nil: mount volumes and start an engine on
	// them.
	Existing *Existing
	Engines  []database.With[*lab.Engine]
	// Server creates the engine; nil: the scenario's.
	Server func(sc *scenario.Scenario) (lab.Server, error)
	// Daemon starts the process that serves the volumes; nil: this program's `lab serve`.
	Daemon []string
}

// Progress describes how far a run has got.
type Progress struct {
	Phase       string // "mounting volumes", "loading documents", "warming up", "measuring", ...
	Done, Total int64  // in the phase's own unit; seconds for warm-up and measurement; total 0: unknown
	// Timed means that Done and Total are seconds, and that Rate and P99 are valid.
	Timed bool
	Rate  units.Frequency // answers in the last second
	P99   units.Duration  // in the measured time so far; 0: nothing measured yet
}
