//go:build linux

// Package buckets measures the cost of the granularity of bucket documents: sensor readings are
// pushed into documents that span a minute or an hour, in a real WiredTiger on an emulated volume.
//
// A growing document is not moved, and no index entry changes. What grows is the value that each
// push passes to the engine, if it passes the whole document, and in either case what a checkpoint
// writes. So for each granularity, documents are pushed to at three degrees of fill, once as whole
// values and once as differences (WT_MODIFY). The figures are:
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
// Time is counted in readings. Sensors read every [Interval] and mongod makes a checkpoint every 60
// s, so a checkpoint is made after twelve readings of each sensor, however fast they are made.
// There are [Config.Sensors] sensors instead of 10,000; their documents are placed as those of
// 10,000 would be. Figures per day are computed for 10,000. Long-term effects are not measured:
// files that grow for months, or a cache too small for the open documents.
package buckets

import (
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
)

// The published case's figures: 10,000 sensors, each with a reading of 40 B every 5 s (720 readings
// are 28 KB).
const (
	Sensors  = 10_000
	Interval = units.Duration(5 * time.Second)
	Entry    = units.Size(40)
)

// CheckpointRounds is the number of readings of each sensor between two checkpoints: 60 s of them
// (mongod's storage.syncPeriodSecs).
const CheckpointRounds = 12

// day is the period of all figures per day.
const day = units.Duration(24 * time.Hour)

// Limits of the configuration: a document has at most 16 MiB (BSON), and each granularity takes
// about ten seconds.
const (
	entriesMax       = 100_000
	granularitiesMax = 16
	sensorsMin       = 50
	sensorsMax       = 10_000
	sustainedMax     = 60 * units.Duration(time.Second)
)

// A Config defines a measurement. Its assignments are over the built-in [Scenario].
type Config = lab.Buckets

// Defaults are the published granularities, 1, 5, 15 and 60 minutes. They take less than two
// minutes.
func Defaults() Config {
	return Config{Entries: []int{12, 60, 180, 720}, Sensors: 1000, Sustained: units.Duration(3 * time.Second)}
}

// Check reports configurations that cannot be measured.
func Check(c *Config) inputerror.List {
	var l inputerror.List
	if len(c.Entries) == 0 || len(c.Entries) > granularitiesMax {
		l.Addf("entries", "want 1 to %d granularities, not %d", granularitiesMax, len(c.Entries))
	}

	for _, n := range c.Entries {
		if n < CheckpointRounds || n > entriesMax {
			l.Addf("entries", "bucket of %d readings: want %d (one minute) to %d", n,
				CheckpointRounds, entriesMax)
		}
	}

	if c.Sensors < sensorsMin || c.Sensors > sensorsMax {
		l.Addf("sensors", "%d sensors: want %d to %d", c.Sensors, sensorsMin, sensorsMax)
	}

	if c.Sustained <= 0 || c.Sustained > sustainedMax {
		l.Addf("sustained", "duration of %s: must be positive and at most %s", c.Sustained, sustainedMax)
	}

	return l
}

// A Result is the table of a measurement. Its JSON is a contract; units are seconds and bytes.
type Result struct {
	Version int      `json:"version"`
	Server  string   `json:"server"`
	Volume  []string `json:"volume"` // its limits, for display
	Sensors int      `json:"sensors"`
	Cores   int      `json:"cores"`
	// Path is the median time of an operation that does nothing. The times of pushes include it.
	Path      float64  `json:"path_seconds"`
	Rows      []Row    `json:"rows"`
	Saturated bool     `json:"saturated"` // the emulator could not keep up, so pushes per second are too low
	Notes     []string `json:"notes"`     // caveats of the table, one sentence each
}

// A Row is one granularity, written in one way.
type Row struct {
	Entries     int     `json:"entries"`
	SpanSeconds float64 `json:"span_seconds"`
	// Whole is set if each push passes the whole document to the engine, and not set for the
	// difference.
	Whole         bool  `json:"whole"`
	DocumentBytes int64 `json:"document_bytes"` // full
	// Fills are pushes to a document's first readings, those in the middle, and its last.
	Fills []Fill `json:"fills"`
	// PushesPerSecond is the rate of 32 writers to full documents, with checkpoints running.
	PushesPerSecond float64 `json:"pushes_per_second"`
	// Figures per day, for 10,000 sensors.
	DocumentsPerDay int64   `json:"documents_per_day"`
	StoragePerDay   float64 `json:"storage_bytes_per_day"` // by the files' size, before compression
	// A day of one sensor spans this many documents, each on a separate leaf, because other
	// sensors' documents lie between them.
	DayDocuments int64 `json:"day_documents"`
	DayBytes     int64 `json:"day_bytes"`
	// Published is what the case reports for this granularity; null if nothing.
	Published *Published `json:"published"`
}

// A Fill is a push into documents that have From to To readings after it.
type Fill struct {
	Name     string  `json:"name"` // first, half, full
	From     int     `json:"from_entries"`
	To       int     `json:"to_entries"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
	PerPush  float64 `json:"volume_bytes_per_push"` // with its checkpoint
	Requests float64 `json:"volume_writes_per_push"`
}

// Published are the figures of the published case of bucket granularity. They are shown for
// reference; nothing is compared with them. 0: not published.
type Published struct {
	Push            float64 `json:"push_seconds"`
	PushEntries     int     `json:"push_entries"` // readings in the document
	DocumentBytes   int64   `json:"document_bytes"`
	DocumentsPerDay int64   `json:"documents_per_day"`
	StoragePerDay   int64   `json:"storage_bytes_per_day"`
}

// published maps the readings of a full document to the published figures.
var published = map[int]Published{
	12:  {85e-6, 12, 500, 14_400_000, 0},
	60:  {180e-6, 60, 2400, 2_880_000, 8_200_000_000},
	180: {350e-6, 180, 7200, 960_000, 0},
	720: {650e-6, 360, 28_000, 240_000, 6_720_000_000},
}

// corrections lists what is wrong in the published cause and figures.
var corrections = []string{
	"Published cause: documents outgrow their padding, are relocated, and their index entries rewritten. That was MMAPv1, removed in MongoDB 4.2. " +
		"WiredTiger relocates no document: an index entry holds a RecordId, which growth does not change. What grows is the value passed to the engine and the leaf that a checkpoint writes.",
	"mongod passes on a difference (WT_MODIFY) if the document is over 1 KiB and the change at most a tenth of it, otherwise the whole document: a push into an hourly bucket is a difference.",
	"The published hourly push is timed at 360 readings, which is half an hour at one every 5 s; a full hour has 720.",
	"Published: a day of one sensor reads 2,880 documents instead of 240. It is 288 (5 minutes) instead of 24 (an hour).",
}
