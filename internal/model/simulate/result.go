package simulate

import (
	"plimsoll/internal/base/latency"
	"plimsoll/internal/model/volume"
)

// ResultVersion is the version of Result's JSON: additions leave it, changes raise it.
const ResultVersion = 1

// A Result is what a simulated run comes to. Its JSON is a contract: fields are added, never
// changed. Times are seconds, sizes bytes, rates a second, shares from 0 to 1; what cannot be
// told is null.
type Result struct {
	Version  int    `json:"version"`
	Scenario string `json:"scenario"` // its name
	Variant  string `json:"variant,omitempty"`
	Engine   string `json:"engine"`
	// CycleWord is what the engine calls its Checkpoints: "write daemon cycle". It is for people,
	// and not part of the JSON.
	CycleWord string `json:"-"`
	// Queries are those of the engine, and not part of the JSON either.
	Queries Queries `json:"-"`
	Seed    uint64  `json:"seed"`
	// Seconds is the virtual time that was measured, after WarmupSeconds.
	Seconds       float64 `json:"seconds"`
	WarmupSeconds float64 `json:"warmup_seconds"`

	// OpenLoop tells whether operations came whatever the system did, their latency counted
	// from when they were meant to start.
	OpenLoop    bool    `json:"open_loop"`
	AskedPerSec float64 `json:"asked_per_second"` // arrivals; in a closed loop what was done
	DonePerSec  float64 `json:"done_per_second"`
	Unanswered  int64   `json:"unanswered"` // begun in the measured time, not acknowledged at its end
	// Refused are operations of an open loop that came while half a million waited for a
	// connection: they are counted as asked and unanswered, and have no latency.
	Refused       int64               `json:"refused"`
	Writes        Class               `json:"writes"`
	Reads         Class               `json:"reads"`
	Checkpoints   Cycles              `json:"checkpoints"`
	Volumes       []VolumeResult      `json:"volumes"`
	Waits         []WaitResult        `json:"waits"` // of writes, ordered by the slow writes' share
	EngineFigures map[string]*float64 `json:"engine_figures"`
	// FigureUnits are their units: "seconds", "bytes", "ratio", "1/s", or another word.
	FigureUnits map[string]string `json:"engine_figure_units"`
	Host        HostResult        `json:"host"`
	// MonthlyUSD is what volumes and instances cost; null: a price is not known.
	MonthlyUSD *float64 `json:"monthly_usd"`
	// MonthlyVolumesUSD is the volumes' part of it.
	MonthlyVolumesUSD *float64          `json:"monthly_volumes_usd"`
	Objectives        []ObjectiveResult `json:"objectives"`
	ModelError        string            `json:"model_error"` // the error bar, in words
	// Warnings are what the scenario says and may not mean: a volume faster than its instance.
	Warnings []string `json:"warnings,omitempty"`
	Series   *Series  `json:"series,omitempty"`
	// Mattered are, by volume in the order of members and of each one's volumes, the limits that
	// ever decided when a request passed ([volume.State]). With all others higher the run would
	// have been the same. It is for searches, and not part of the JSON.
	Mattered [][volume.Limits]bool `json:"-"`
}

// The latencies of a result: see package latency.
type (
	Class   = latency.Class
	Phase   = latency.Phase
	Latency = latency.Latency
)

// Cycles are the checkpoints, or what the engine has of the kind.
type Cycles struct {
	Count         int      `json:"count"` // that ended in the measured time
	Requested     int      `json:"requested"`
	MedianSeconds *float64 `json:"median_seconds"`
	MaxSeconds    *float64 `json:"max_seconds"`
	DirtyBytesMax *float64 `json:"dirty_bytes_max"` // in the engine's cache as one started
	WrittenBytes  float64  `json:"written_bytes"`   // by all of them
	ShareOfTime   float64  `json:"share_of_time"`   // that one was running
	PeriodSeconds *float64 `json:"period_seconds"`  // median distance of two starts
}

// A VolumeResult is how a volume was used.
type VolumeResult struct {
	Name              string   `json:"name"`
	IOPS              float64  `json:"iops"`     // mean, reads and writes
	IOPSMax           float64  `json:"iops_max"` // in the busiest second
	ReadIOPS          float64  `json:"read_iops"`
	WriteIOPS         float64  `json:"write_iops"`
	BytesPerSec       float64  `json:"bytes_per_second"`
	BytesPerSecMax    float64  `json:"bytes_per_second_max"`
	Busy              float64  `json:"busy"`     // share of time with anything in flight
	BusyMax           float64  `json:"busy_max"` // of the busiest 10 s
	QueueMean         float64  `json:"queue_mean"`
	AwaitSeconds      *float64 `json:"await_seconds"` // mean time of a request
	ReadAwaitSeconds  *float64 `json:"read_await_seconds"`
	WriteAwaitSeconds *float64 `json:"write_await_seconds"`
	// HeldBy are the limits that held requests back, and the time they did, summed over requests.
	HeldBy  []HeldBy `json:"held_by"`
	Credits *float64 `json:"credits_left"` // share of the burst bucket at the end; null: it has none
}

// HeldBy is the waiting for one limit.
type HeldBy struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// A WaitResult is where writes waited.
type WaitResult struct {
	Name        string  `json:"name"`
	Share       float64 `json:"share"`        // of all writes' latency
	SlowShare   float64 `json:"slow_share"`   // of the latency of writes over the p99
	SlowSeconds float64 `json:"slow_seconds"` // mean, of a write over the p99
	// CauseShare and SlowCauseShare are the same shares with the time for a connection, and for a
	// sync under way, handed on to what those had waited for who held it.
	CauseShare     float64 `json:"cause_share"`
	SlowCauseShare float64 `json:"slow_cause_share"`
}

// A HostResult is the machine's share in it.
type HostResult struct {
	Machine       string  `json:"machine"`         // "m6i.xlarge", or its cores and memory
	DirtyBytesMax float64 `json:"dirty_bytes_max"` // of the page cache
	CPUBusy       float64 `json:"cpu_busy"`        // share of its cores
}

// An ObjectiveResult is an objective of the scenario and whether it was met.
type ObjectiveResult struct {
	Name   string   `json:"name"` // "write_p99"
	Wanted float64  `json:"wanted"`
	Got    *float64 `json:"got"`
	Met    bool     `json:"met"`
	Unit   string   `json:"unit"`
}

// Series are over time, for plots: one value a second of the measured time, null where
// nothing was measured.
type Series struct {
	StepSeconds float64    `json:"step_seconds"`
	WriteP99    []*float64 `json:"write_p99_seconds"`
	WriteMax    []*float64 `json:"write_max_seconds"`
	EngineDirty []*float64 `json:"engine_dirty_bytes"`
	HostDirty   []*float64 `json:"host_dirty_bytes"`
	// Busy is the share of each second that a volume had anything in flight, by its name.
	Busy map[string][]*float64 `json:"volume_busy"`
	// Checkpoints are the starts and ends, in seconds since the measured time began.
	Checkpoints [][2]float64 `json:"checkpoints"`
	// Writes are the writes of each step by classes of latency: what the percentiles were read
	// from. They are for plots, and not part of the JSON.
	Writes []latency.Cell `json:"-"`
}
