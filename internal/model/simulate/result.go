package simulate

import (
	"plimsoll/internal/base/latency"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/volume"
)

// ResultVersion is the version of Result's JSON. Additions keep it; other changes raise it.
const ResultVersion = 1

// A Result is the result of a simulated run. Its JSON is a contract: fields are added, never changed.
// Times are in seconds, sizes in bytes, rates per second, and shares from 0 to 1. Values that cannot be
// measured are null.
type Result struct {
	Version  int    `json:"version"`
	Scenario string `json:"scenario"` // its name
	Variant  string `json:"variant,omitempty"`
	Engine   string `json:"engine"`
	// CycleWord is the engine's name for its Checkpoints, such as "write daemon cycle". It is for
	// display and not part of the JSON.
	CycleWord string `json:"-"`
	// Queries are the engine's queries. They are not part of the JSON.
	Queries database.Queries `json:"-"`
	Seed    uint64           `json:"seed"`
	// Seconds is the virtual time that was measured, after WarmupSeconds.
	Seconds       float64 `json:"seconds"`
	WarmupSeconds float64 `json:"warmup_seconds"`

	// OpenLoop reports whether arrivals were independent of the system. Latency then counts from
	// the intended start.
	OpenLoop    bool    `json:"open_loop"`
	AskedPerSec float64 `json:"asked_per_second"` // arrivals; in a closed loop, completed operations
	DonePerSec  float64 `json:"done_per_second"`
	Unanswered  int64   `json:"unanswered"` // started in the measured time, not acknowledged at its end
	// Refused counts operations of an open loop that arrived while half a million waited for a
	// connection. They count as asked and unanswered, and have no latency.
	Refused       int64               `json:"refused"`
	Writes        Class               `json:"writes"`
	Reads         Class               `json:"reads"`
	Checkpoints   Cycles              `json:"checkpoints"`
	Volumes       []VolumeResult      `json:"volumes"`
	Waits         []WaitResult        `json:"waits"` // of writes, ordered by the slow writes' share
	EngineFigures map[string]*float64 `json:"engine_figures"`
	// FigureUnits are the figures' units: "seconds", "bytes", "ratio", "1/s", or another word.
	FigureUnits map[string]string `json:"engine_figure_units"`
	Host        HostResult        `json:"host"`
	// MonthlyUSD is the price of volumes and instances; null: a price is not known.
	MonthlyUSD *float64 `json:"monthly_usd"`
	// MonthlyVolumesUSD is the volumes' part of MonthlyUSD.
	MonthlyVolumesUSD *float64          `json:"monthly_volumes_usd"`
	Objectives        []ObjectiveResult `json:"objectives"`
	// Caveats explain why the figures do not decide the objectives, or do so only for a while.
	Caveats    []Caveat `json:"caveats,omitempty"`
	ModelError string   `json:"model_error"` // the error bar, in words
	// Warnings are about settings that may be unintended, such as a volume faster than its
	// instance.
	Warnings []string `json:"warnings,omitempty"`
	Series   *Series  `json:"series,omitempty"`
	// Mattered lists the limits that ever decided when a request passed ([volume.State]), by
	// volume, in the order of members and of each member's volumes. With all other limits higher,
	// the run would have been the same. Searches use it; it is not part of the JSON.
	Mattered [][volume.Limits]bool `json:"-"`
}

// The latencies of a result: see package latency.
type (
	Class   = latency.Class
	Phase   = latency.Phase
	Latency = latency.Latency
)

// Cycles are the checkpoints, or the engine's equivalent.
type Cycles struct {
	Count         int      `json:"count"` // ended in the measured time
	Requested     int      `json:"requested"`
	MedianSeconds *float64 `json:"median_seconds"`
	// MaxSeconds includes one that is still running at the end, with the time until then.
	MaxSeconds     *float64 `json:"max_seconds"`
	RunningSeconds float64  `json:"running_seconds,omitempty"` // how long the one that is still running has run
	DirtyBytesMax  *float64 `json:"dirty_bytes_max"`           // in the engine's cache at a checkpoint's start
	WrittenBytes   float64  `json:"written_bytes"`             // by all of them
	ShareOfTime    float64  `json:"share_of_time"`             // that one was running
	PeriodSeconds  *float64 `json:"period_seconds"`            // median time between two starts
}

// A VolumeResult is a volume's use.
type VolumeResult struct {
	Name              string   `json:"name"`
	IOPS              float64  `json:"iops"`     // mean, reads and writes
	IOPSMax           float64  `json:"iops_max"` // in the busiest second
	ReadIOPS          float64  `json:"read_iops"`
	WriteIOPS         float64  `json:"write_iops"`
	BytesPerSec       float64  `json:"bytes_per_second"`
	BytesPerSecMax    float64  `json:"bytes_per_second_max"`
	Busy              float64  `json:"busy"`     // share of time with I/O in flight
	BusyMax           float64  `json:"busy_max"` // of the busiest 10 s
	QueueMean         float64  `json:"queue_mean"`
	AwaitSeconds      *float64 `json:"await_seconds"` // mean time of a request
	ReadAwaitSeconds  *float64 `json:"read_await_seconds"`
	WriteAwaitSeconds *float64 `json:"write_await_seconds"`
	// HeldBy lists the limits that held requests back, and for how long, summed over requests.
	HeldBy  []HeldBy `json:"held_by"`
	Credits *float64 `json:"credits_left"` // share of the burst bucket left at the end; null: no bucket
}

// HeldBy is the time that requests waited for one limit.
type HeldBy struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// A WaitResult is one reason why writes waited.
type WaitResult struct {
	Name        string  `json:"name"`
	Share       float64 `json:"share"`        // of all writes' latency
	SlowShare   float64 `json:"slow_share"`   // of the latency of writes over the p99
	SlowSeconds float64 `json:"slow_seconds"` // mean per write over the p99
	// CauseShare and SlowCauseShare are the same shares after the waits for a connection and for a
	// sync in progress are attributed to their causes.
	CauseShare     float64 `json:"cause_share"`
	SlowCauseShare float64 `json:"slow_cause_share"`
}

// A HostResult is the machine's use.
type HostResult struct {
	Machine       string  `json:"machine"`         // "m6i.xlarge", or its cores and memory
	DirtyBytesMax float64 `json:"dirty_bytes_max"` // of the page cache
	CPUBusy       float64 `json:"cpu_busy"`        // share of its cores
	// CPUBusyMax is that of the busiest member, as a share of its quota.
	CPUBusyMax float64 `json:"cpu_busy_max,omitempty"`
}

// An ObjectiveResult is an objective of the scenario and whether the run met it.
type ObjectiveResult struct {
	Name   string   `json:"name"` // "write_p99"
	Wanted float64  `json:"wanted"`
	Got    *float64 `json:"got"`
	Met    bool     `json:"met"`
	// Caveat says why an objective is not met although its figure is within the bound.
	Caveat string `json:"caveat,omitempty"`
	Unit   string `json:"unit"`
}

// Series holds values over time, for plots: one for each second of the measured time, null where
// nothing was measured.
type Series struct {
	StepSeconds float64    `json:"step_seconds"`
	WriteP99    []*float64 `json:"write_p99_seconds"`
	WriteMax    []*float64 `json:"write_max_seconds"`
	EngineDirty []*float64 `json:"engine_dirty_bytes"`
	HostDirty   []*float64 `json:"host_dirty_bytes"`
	// Busy is, by volume, the share of each second with I/O in flight.
	Busy map[string][]*float64 `json:"volume_busy"`
	// Checkpoints are the starts and ends, in seconds since the measured time began.
	Checkpoints [][2]float64 `json:"checkpoints"`
	// Writes are the writes of each step by latency class, from which the percentiles were read.
	// They are for plots and not part of the JSON.
	Writes []latency.Cell `json:"-"`
}
