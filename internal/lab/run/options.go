//go:build linux

package run

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
)

// Options say how a scenario is run.
type Options struct {
	// File and Sets are what the scenario was read from: the process that serves the volumes reads
	// it again.
	File string
	Sets []string
	// Record takes the series of the measured time; nil: none are kept. Run does not close it.
	Record recording.Writer
	// Series says whether the result holds series over time, for plots.
	Series bool
	// FileSystem is ext4 or xfs; "": the scenario's.
	FileSystem string
	// Images is a folder for the volumes' images; "": they are in memory.
	Images string
	// PowerLoss is how many times the machine loses power in the measured time.
	PowerLoss int
	// Model says whether the scenario is simulated as well, when the machine is idle again.
	Model bool
	// Progress, if not nil, is told how far the run has come, about once a second.
	Progress func(Progress)
	// Log takes what the engine's processes and the volumes have to say; nil: nobody does.
	Log func(line string)
	// Existing says that the server runs already, and that Server gives it; nil: volumes are
	// mounted and an engine started on them.
	Existing *Existing
	// Engines are those that the program knows.
	Engines []engine.Engine
	// Server makes the engine; nil: that of the scenario.
	Server func(sc *scenario.Scenario) (lab.Server, error)
	// Daemon is how the process that serves the volumes is started; nil: this program's `lab
	// serve`.
	Daemon []string
}

// Progress is how far a run has come.
type Progress struct {
	Phase       string // "mounting volumes", "loading documents", "warming up", "measuring", ...
	Done, Total int64  // in the phase's own unit; seconds of warm-up and measurement; total 0 is unknown
	// Timed says that Done and Total are seconds, and that the rest counts.
	Timed bool
	Rate  units.Frequency // answered in the last second
	P99   units.Duration  // of the measured time so far; 0: nothing is measured yet
}

// Result is what a run comes to: a simulated one's result, by the same counting and the same
// contract, and what is to be known of the laboratory.
type Result struct {
	*simulate.Result
	Source string `json:"source"` // "lab"
	Lab    Lab    `json:"lab"`
	// PowerLoss is what losses of power took; null: none were asked for.
	PowerLoss *PowerLoss `json:"power_loss"`
	// Model is the same scenario, simulated; null: it was not asked for.
	Model *simulate.Result `json:"model"`
}

// Lab is where and how well it was run. Times are seconds.
type Lab struct {
	Server     string `json:"server"`       // engine and version
	Kernel     string `json:"kernel"`       // "Linux 6.18.5"
	Cores      int    `json:"cores"`        // of this machine
	Memory     int64  `json:"memory_bytes"` // of this machine
	FileSystem string `json:"filesystem"`
	Backing    string `json:"backing"` // "memory", or the images' folder
	// Existing is what was done to a server that ran already; null: the engine was ours, on
	// emulated volumes.
	Existing *Existing `json:"visit"`
	// Settings are the kernel's that were changed for the run.
	Settings map[string]string `json:"settings"`
	Volumes  []Emulation       `json:"volumes"`
	// Saturated says that the emulator could not keep up, and the result is none.
	Saturated bool     `json:"saturated"`
	Dispatch  Dispatch `json:"dispatch"`
	// Pauses are times in which this machine stood still.
	Pauses Pauses `json:"pauses"`
	// Awake says that its cores did not sleep: waking one costs a virtual machine up to a
	// millisecond.
	Awake bool `json:"awake"`
	// Failed are operations that ended with an error; Errors counts them by text.
	Failed int64            `json:"failed"`
	Errors map[string]int64 `json:"errors"`
	// Remarks are what a reader of the result has to know, a sentence each.
	Remarks []string `json:"remarks"`
}

// Emulation is how well a volume was emulated, over the measured time.
type Emulation struct {
	Name      string   `json:"name"`
	Gives     []string `json:"gives"` // its limits, for people
	LateP50   float64  `json:"late_p50_seconds"`
	LateP99   float64  `json:"late_p99_seconds"`
	LateMax   float64  `json:"late_max_seconds"`
	LateShare float64  `json:"late_share"`       // of its requests, later than 100 us and 5 % of what they were to take
	LateWorst float64  `json:"late_share_worst"` // in the worst ten seconds
	// What a read or write took in the mean, as the kernel counts it, and what it was to take;
	// null: there was none. Added is the most by which the first was over the second in ten
	// seconds, Slow whether that is more than the path to the emulator may add.
	Kernel    *float64 `json:"kernel_mean_seconds"`
	Asked     *float64 `json:"asked_mean_seconds"`
	Added     float64  `json:"path_added_worst_seconds"`
	Slow      bool     `json:"path_slow"`
	Saturated bool     `json:"saturated"`
	Resident  int64    `json:"resident_bytes"`
	Refused   int64    `json:"refused_writes"` // for want of room for the image
}

// Dispatch is how late operations began for which a connection was free.
type Dispatch struct {
	LateP50 float64 `json:"late_p50_seconds"`
	LateP99 float64 `json:"late_p99_seconds"`
	LateMax float64 `json:"late_max_seconds"`
	// Behind says that this is a part of the latencies that counts: see loadgen.Result.
	Behind bool `json:"behind"`
}

// Pauses are times in which nobody ran, because what runs this machine had its cores elsewhere.
type Pauses struct {
	Count   int     `json:"count"`
	Total   float64 `json:"total_seconds"`
	Longest float64 `json:"longest_seconds"`
	// Aside are operations for whose latency pauses account by half or more. They count as done,
	// and have none.
	Aside int64 `json:"operations_set_aside"`
}

// PowerLoss is what losses of power took.
type PowerLoss struct {
	Cuts int `json:"cuts"`
	// Acknowledged are the writes that had been answered by the last cut, warm-up included; Keys
	// the documents they went to, which were read after it.
	Acknowledged int64 `json:"acknowledged_writes"`
	Keys         int64 `json:"keys"`
	// Lost are documents that had gone, or were older than their last acknowledged write; Wrong
	// those that held what nobody had written; Unreadable those whose reading failed.
	Lost       int64 `json:"lost"`
	Wrong      int64 `json:"wrong"`
	Unreadable int64 `json:"unreadable"`
	// FailedRecoveries are restarts after which the engine did not serve. The run ends with the
	// first.
	FailedRecoveries int `json:"failed_recoveries"`
	// RecoverySeconds are from the power's return until the engine served, for each cut.
	RecoverySeconds []float64 `json:"recovery_seconds"`
	// Kept, Torn and Dropped are writes in flight, as the volumes left them.
	Kept    int `json:"volume_writes_kept"`
	Torn    int `json:"volume_writes_torn"`
	Dropped int `json:"volume_writes_dropped"`
	// Examples are what was found wrong, the first of it, a sentence each.
	Examples []string `json:"examples"`
}

// Held tells whether everything acknowledged was there each time.
func (p *PowerLoss) Held() bool {
	return p.Lost == 0 && p.Wrong == 0 && p.Unreadable == 0 && p.FailedRecoveries == 0
}
