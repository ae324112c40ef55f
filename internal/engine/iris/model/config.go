package model

import (
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// BlockSize is a database block (8 KB; InterSystems IRIS documentation, "Configuring Databases").
const BlockSize = 8 * units.KiB

// Config describes an instance of IRIS.
type Config struct {
	// Database is the total size of all databases, Buffers the size of the global buffers.
	Database units.Size `yaml:"database"`
	Buffers  units.Size `yaml:"buffers"`
	// Cycle is the time from one start of the write daemon to the next (80 s; documentation of the
	// System Monitor, which alerts from 90 s).
	Cycle units.Duration `yaml:"cycle"`
	// WakeDirty is the share of dirty buffers that wakes the daemon early, HoldDirty the share at
	// which updates wait until it has written some (both assumed; the documentation only says that
	// such limits exist).
	WakeDirty units.Ratio `yaml:"wake_dirty"`
	HoldDirty units.Ratio `yaml:"hold_dirty"`
	// Writes is how many database writes the daemon keeps in flight, with its helpers (assumed: 64,
	// which gives the published 40,000 writes per second at 0.7 ms, and at most twice that).
	Writes int `yaml:"database_writes"`
	// WIJRequest is the size of a write to the WIJ, and WIJWrites how many are in flight (256 KB,
	// one after the other, from the published case; assumed).
	WIJRequest units.Size `yaml:"wij_request"`
	WIJWrites  int        `yaml:"wij_writes"`
	// Pause is how long phases 2 to 4 hold global updates (assumed).
	Pause units.Duration `yaml:"pause"`

	// Synchronous makes each update wait until its journal record is durable.
	Synchronous bool `yaml:"synchronous_commit"`
	// JournalInterval is the longest time that a record stays in memory (2 s; documentation,
	// "Journaling"). JournalBuffer is the memory for records, which is written when it is full (64
	// KB blocks; mgstat's unit).
	JournalInterval units.Duration `yaml:"journal_interval"`
	JournalBuffer   units.Size     `yaml:"journal_buffer"`
	// JournalOverhead is a record's size in addition to its value: header, reference, pointer to the old
	// value (assumed).
	JournalOverhead units.Size `yaml:"journal_overhead"`

	CPU CPU `yaml:"cpu"`
}

// CPU is the CPU time of each step (assumed: the order of magnitude of measured systems with
// 100,000 to 500,000 global references per second and core).
type CPU struct {
	Read   units.Duration `yaml:"read"`
	Update units.Duration `yaml:"update"`
}

// Defaults returns IRIS' defaults, with 64 GB of databases and 8 GB of buffers.
func Defaults() Config {
	return Config{
		Database: 64 * units.GiB, Buffers: 8 * units.GiB,
		Cycle:     units.Duration(80 * time.Second),
		WakeDirty: 0.5, HoldDirty: 0.9,
		Writes: 64, WIJRequest: 256 * units.KiB, WIJWrites: 1,
		Pause:           units.Duration(2 * time.Millisecond),
		JournalInterval: units.Duration(2 * time.Second), JournalBuffer: 64 * units.KiB, JournalOverhead: 64,
		CPU: CPU{Read: units.Duration(5 * time.Microsecond), Update: units.Duration(8 * time.Microsecond)},
	}
}

// Limits of the model. Each touched block takes a byte of memory, so databasesMax limits it to 512
// MiB.
const (
	databasesMax = 4 * units.TiB
	inFlightMax  = 1 << 14
	intervalMax  = time.Hour
)

// Check reports impossible values.
func (c *Config) Check() inputerror.List {
	var problems inputerror.List
	size := func(field string, s, least, most units.Size) {
		inputerror.AddOutside(&problems, field, s, least, most, units.Size.Exact, " out of range", "")
	}

	span := func(field string, d units.Duration, least, most time.Duration) {
		inputerror.AddOutside(&problems, field, d.Std(), least, most, time.Duration.String, " out of range", "")
	}

	size("database", c.Database, units.MiB, databasesMax)
	size("buffers", c.Buffers, 128*BlockSize, databasesMax)
	span("cycle", c.Cycle, time.Second, intervalMax)

	// Written as a negation so that NaN is rejected as well.
	if !(c.WakeDirty > 0 && c.WakeDirty <= c.HoldDirty) {
		problems.Addf("wake_dirty", "%v of the buffers: want above 0 and at most hold_dirty (%v)", float64(c.WakeDirty),
			float64(c.HoldDirty))
	}

	if !(c.HoldDirty > 0 && c.HoldDirty <= 0.95) {
		problems = append(problems, inputerror.Problem{
			Field: "hold_dirty", Text: c.HoldDirty.String() + " of the buffers leaves none for reads", Limit: "95%",
			Nearest: "95%",
		})
	}

	for _, n := range []struct {
		field string
		n     int
	}{{"database_writes", c.Writes}, {"wij_writes", c.WIJWrites}} {
		if n.n < 1 || n.n > inFlightMax {
			problems.Addf(n.field, "%d writes in flight: want 1 to %d", n.n, inFlightMax)
		}
	}

	size("wij_request", c.WIJRequest, BlockSize, 4*units.MiB)
	span("pause", c.Pause, 0, time.Second)
	span("journal_interval", c.JournalInterval, 10*time.Millisecond, intervalMax)
	size("journal_buffer", c.JournalBuffer, 4*units.KiB, 256*units.MiB)
	size("journal_overhead", c.JournalOverhead, 0, units.MiB)
	span("cpu.read", c.CPU.Read, 0, time.Second)
	span("cpu.update", c.CPU.Update, 0, time.Second)

	return problems
}
