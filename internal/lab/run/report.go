package run

import "plimsoll/internal/model/simulate"

// Result is the outcome of a run: counted like a simulated result and with the same contract, plus
// what the reader should know about the lab.
type Result struct {
	*simulate.Result
	Source string `json:"source"` // "lab"
	Lab    Lab    `json:"lab"`
	// PowerLoss is the outcome of the power losses; null: none were requested.
	PowerLoss *PowerLoss `json:"power_loss"`
	// Model is the same scenario, simulated; null: not requested.
	Model *simulate.Result `json:"model"`
}

// Lab describes where the scenario ran, and how well it was emulated. Times are in seconds.
type Lab struct {
	Server     string `json:"server"`       // engine and version
	Kernel     string `json:"kernel"`       // "Linux 6.18.5"
	Cores      int    `json:"cores"`        // of this machine
	Memory     int64  `json:"memory_bytes"` // of this machine
	FileSystem string `json:"filesystem"`
	Backing    string `json:"backing"` // "memory", or the images' folder
	// Existing is what the run did to an existing server; null: the lab itself started the engine,
	// on emulated volumes.
	Existing *Existing `json:"visit"`
	// Settings are the kernel settings changed for the run.
	Settings map[string]string `json:"settings"`
	Volumes  []Emulation       `json:"volumes"`
	// Saturated means that the emulator could not keep up, so the result is not valid.
	Saturated bool     `json:"saturated"`
	Dispatch  Dispatch `json:"dispatch"`
	// Pauses are the times in which this machine was paused.
	Pauses Pauses `json:"pauses"`
	// Awake means that the CPUs did not sleep: waking one costs a virtual machine up to a
	// millisecond.
	Awake bool `json:"awake"`
	// Failed counts operations that returned an error; Errors counts them by text.
	Failed int64            `json:"failed"`
	Errors map[string]int64 `json:"errors"`
	// Remarks are what a reader of the result should know, one sentence each.
	Remarks []string `json:"remarks"`
}

// Emulation describes how well a volume was emulated during the measured time.
type Emulation struct {
	Name    string   `json:"name"`
	Gives   []string `json:"gives"` // its limits, as human-readable text
	LateP50 float64  `json:"late_p50_seconds"`
	LateP99 float64  `json:"late_p99_seconds"`
	LateMax float64  `json:"late_max_seconds"`
	// share of requests that were late by more than 100 us plus 5 % of their planned latency
	LateShare float64 `json:"late_share"`
	LateWorst float64 `json:"late_share_worst"` // in the worst ten seconds
	// The mean latency of reads and writes as counted by the kernel, and the planned one; null: no
	// requests. Added is the largest excess of the first over the second within ten seconds. Slow
	// means that this is more than the path to the emulator may add.
	Kernel    *float64 `json:"kernel_mean_seconds"`
	Asked     *float64 `json:"asked_mean_seconds"`
	Added     float64  `json:"path_added_worst_seconds"`
	Slow      bool     `json:"path_slow"`
	Saturated bool     `json:"saturated"`
	Resident  int64    `json:"resident_bytes"`
	Refused   int64    `json:"refused_writes"` // because the image's backing store was full
}

// Dispatch says how late operations began although a connection was free.
type Dispatch struct {
	LateP50 float64 `json:"late_p50_seconds"`
	LateP99 float64 `json:"late_p99_seconds"`
	LateMax float64 `json:"late_max_seconds"`
	// Behind means that this lateness is a significant part of the latencies: see loadgen.Result.
	Behind bool `json:"behind"`
}

// Pauses are times in which nothing ran because the hypervisor used this machine's CPUs for
// something else.
type Pauses struct {
	Count   int     `json:"count"`
	Total   float64 `json:"total_seconds"`
	Longest float64 `json:"longest_seconds"`
	// Aside counts operations for which pauses made up at least half of the latency. They count as done,
	// without a latency.
	Aside int64 `json:"operations_set_aside"`
}

// PowerLoss is the outcome of the power losses.
type PowerLoss struct {
	Cuts int `json:"cuts"`
	// Acknowledged counts the writes answered before the last cut, including the warm-up. Keys
	// counts the documents that they changed, which were read afterwards.
	Acknowledged int64 `json:"acknowledged_writes"`
	Keys         int64 `json:"keys"`
	// Lost counts documents that were missing, or older than their last acknowledged write; Wrong
	// those with content that was never written; Unreadable those that could not be read.
	Lost       int64 `json:"lost"`
	Wrong      int64 `json:"wrong"`
	Unreadable int64 `json:"unreadable"`
	// FailedRecoveries counts restarts after which the engine did not serve. The run ends with the
	// first.
	FailedRecoveries int `json:"failed_recoveries"`
	// RecoverySeconds is, for each cut, the time from the return of power until the engine served.
	RecoverySeconds []float64 `json:"recovery_seconds"`
	// Kept, Torn and Dropped count the writes in flight by what the volumes did to them.
	Kept    int `json:"volume_writes_kept"`
	Torn    int `json:"volume_writes_torn"`
	Dropped int `json:"volume_writes_dropped"`
	// Examples are the first few errors found, one sentence each.
	Examples []string `json:"examples"`
}

// Held reports whether everything acknowledged survived all power losses.
func (p *PowerLoss) Held() bool {
	return p.Lost == 0 && p.Wrong == 0 && p.Unreadable == 0 && p.FailedRecoveries == 0
}

// An Existing describes a run on an existing server: the same workload, sent the same way, but
// without emulated volumes. Options.Server is the server; it creates a database and removes it
// afterwards. The run changes nothing on this machine and needs no privileges.
type Existing struct {
	Address  string `json:"address"`  // product and hosts, without secrets
	Database string `json:"database"` // the one created there, or the key prefix
	Kept     bool   `json:"kept"`
	// Local means that the server is on this machine, so that its devices and CPUs are recorded.
	Local bool `json:"local"`
}
