//go:build linux

// Package buckets measures the cost of the granularity of bucket documents: sensor readings are
// pushed into documents that span a minute or an hour, in a real WiredTiger on an emulated volume.
//
// A growing document is not moved, and no index entry changes. What grows is the value that each
// push passes to the engine, if that is the whole document, and in either case what a checkpoint
// writes of it. So for each granularity, documents are pushed to at three degrees of fill, once as
// whole values and once as differences (WT_MODIFY). The figures are
//
//	a push          its time, one at a time, including the path to the engine and back:
//	                Result.Path says how much that is
//	bytes a push    that reached the volume: the log, the oplog and the data of one checkpoint
//	                every CheckpointRounds readings
//	pushes/s        of 32 writers to full documents, with checkpoints running
//	storage         of the files that hold full documents, with an index entry each
//
// # How it is scaled down
//
// Time is counted in readings: sensors read every [Interval] and mongod makes a checkpoint every
// 60 s, so a checkpoint is made after twelve readings of each sensor, however soon these are made.
// There are [Config.Sensors] sensors instead of 10,000; their documents are placed as those of
// 10,000 would be. Figures per day are computed for 10,000. Effects that take a long time are not
// measured: files that grow for months, a cache that does not hold the open documents.
package buckets

import (
	"time"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// The published case's figures: 10,000 sensors, a reading of 40 B every 5 s (720 readings are 28
// KB).
const (
	Sensors  = 10_000
	Interval = units.Duration(5 * time.Second)
	Entry    = units.Size(40)
)

// CheckpointRounds are the readings of each sensor between two checkpoints: 60 s of them (mongod's
// storage.syncPeriodSecs).
const CheckpointRounds = 12

// day is what is counted by the day.
const day = units.Duration(24 * time.Hour)

// Bounds of the configuration: a document has 16 MiB at most (BSON), and each granularity takes
// some ten seconds.
const (
	entriesMax       = 100_000
	granularitiesMax = 16
	sensorsMin       = 50
	sensorsMax       = 10_000
	sustainedMax     = 60 * units.Duration(time.Second)
)

// A Config says what is measured.
type Config struct {
	Language  *scenario.Language // of the scenario; needed to run
	Entries   []int              // readings of a full document, for each granularity
	Sensors   int                // documents that are pushed to
	Sustained units.Duration     // for how long the writers push
	Sets      []string           // assignments over the built-in scenario (Scenario)
	// Daemon is how the process that serves the volume is started; nil: this program's `lab serve`.
	Daemon   []string
	Progress func(what string, done, total int) // nil: no progress is reported
	Log      func(line string)                  // nil: the engine's output is discarded
}

// Defaults are the published granularities, 1, 5, 15 and 60 minutes, in less than two minutes.
func Defaults() Config {
	return Config{Entries: []int{12, 60, 180, 720}, Sensors: 1000, Sustained: units.Duration(3 * time.Second)}
}

// Check finds what cannot be measured.
func (c *Config) Check() diagnostics.List {
	var l diagnostics.List
	if len(c.Entries) == 0 || len(c.Entries) > granularitiesMax {
		l.Addf("entries", "1 to %d granularities can be measured, not %d", granularitiesMax, len(c.Entries))
	}

	for _, n := range c.Entries {
		if n < CheckpointRounds || n > entriesMax {
			l.Addf("entries", "%d readings are no bucket: want %d (a minute of them) to %d", n,
				CheckpointRounds, entriesMax)
		}
	}

	if c.Sensors < sensorsMin || c.Sensors > sensorsMax {
		l.Addf("sensors", "%d sensors: want %d to %d", c.Sensors, sensorsMin, sensorsMax)
	}

	if c.Sustained <= 0 || c.Sustained > sustainedMax {
		l.Addf("sustained", "%s is no time to push for: want more than none, up to %s", c.Sustained, sustainedMax)
	}

	return l
}

// A Result is the table. Its JSON is a contract: seconds, bytes.
type Result struct {
	Version int      `json:"version"`
	Server  string   `json:"server"`
	Volume  []string `json:"volume"` // its limits, for people
	Sensors int      `json:"sensors"`
	Cores   int      `json:"cores"`
	// Path is what an operation takes that does nothing, in the middle: it is in the times of
	// pushes.
	Path      float64  `json:"path_seconds"`
	Rows      []Row    `json:"rows"`
	Saturated bool     `json:"saturated"` // the emulator could not keep up: pushes a second are none
	Notes     []string `json:"notes"`     // what is to be known of the table, a sentence each
}

// A Row is one granularity, written in one way.
type Row struct {
	Entries     int     `json:"entries"`
	SpanSeconds float64 `json:"span_seconds"`
	// Whole says that each push hands the engine the whole document, else the difference.
	Whole         bool  `json:"whole"`
	DocumentBytes int64 `json:"document_bytes"` // full
	// Fills are the first readings of a document, those in the middle, and the last.
	Fills []Fill `json:"fills"`
	// PushesPerSecond is of 32 writers to full documents, with checkpoints.
	PushesPerSecond float64 `json:"pushes_per_second"`
	// By the day, of 10,000 sensors.
	DocumentsPerDay int64   `json:"documents_per_day"`
	StoragePerDay   float64 `json:"storage_bytes_per_day"` // by the files' size, before compression
	// A day of one sensor takes this many documents, each on a separate leaf, because other
	// sensors' documents are between them.
	DayDocuments int64 `json:"day_documents"`
	DayBytes     int64 `json:"day_bytes"`
	// Published is what the case says of this granularity; null: nothing.
	Published *Published `json:"published"`
}

// A Fill is a push into documents that have so many readings after it.
type Fill struct {
	Name     string  `json:"name"` // first, half, full
	From     int     `json:"from_entries"`
	To       int     `json:"to_entries"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
	PerPush  float64 `json:"volume_bytes_per_push"` // with its checkpoint
	Requests float64 `json:"volume_writes_per_push"`
}

// Published are the figures of the published case of bucket granularity. Nothing here is compared
// with them. 0: not published.
type Published struct {
	Push            float64 `json:"push_seconds"`
	PushEntries     int     `json:"push_entries"` // at which fill
	DocumentBytes   int64   `json:"document_bytes"`
	DocumentsPerDay int64   `json:"documents_per_day"`
	StoragePerDay   int64   `json:"storage_bytes_per_day"`
}

// published has them by the readings of a full document.
var published = map[int]Published{
	12:  {85e-6, 12, 500, 14_400_000, 0},
	60:  {180e-6, 60, 2400, 2_880_000, 8_200_000_000},
	180: {350e-6, 180, 7200, 960_000, 0},
	720: {650e-6, 360, 28_000, 240_000, 6_720_000_000},
}

// Corrections are what is wrong in the published cause and figures.
func Corrections() []string {
	return []string{
		"Published cause: documents outgrow their padding, are relocated, and their index entries rewritten. That was MMAPv1, removed in MongoDB 4.2. " +
			"WiredTiger relocates no document: an index entry holds a RecordId, which growth does not change. What grows is the value handed over and the leaf a checkpoint writes.",
		"mongod hands over a difference (WT_MODIFY) where the document is over 1 KiB and the change at most a tenth of it, else the whole: a push into an hourly bucket is a difference.",
		"The published hourly push is timed at 360 readings, half an hour of them at one each 5 s; a full hour has 720.",
		"Published: a day of one sensor reads 2,880 documents instead of 240. It is 288 (5 minutes) instead of 24 (an hour).",
	}
}
