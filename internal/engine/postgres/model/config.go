package model

import (
	"strconv"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// Sizes that are compiled into PostgreSQL (BLCKSZ, RELSEG_SIZE, wal_segment_size by default).
const (
	PageSize       = 8 * units.KiB
	FileSegment    = 1 * units.GiB
	WALSegment     = 16 * units.MiB
	pagesPerFile   = int64(FileSegment / PageSize)
	docPage        = "PostgreSQL 15 documentation, 20.4-20.7"
	tableSizeMax   = 2 * units.TiB // a limit of this model, which keeps two bits per page
	pinsPerOp      = 4             // pages that a transaction pins concurrently
	connectionsMax = 10_000        // a limit of this model; PostgreSQL allows 262,143
	sharedMax      = 256 * units.GiB
)

// A Config holds settings of postgresql.conf, under the same names, and the table that the load
// uses. Defaults are those of PostgreSQL 15 unless stated otherwise. PostgreSQL's "kB" and "MB" are
// binary: its 256kB is written 256KiB here.
type Config struct {
	// SharedBuffers is the size of the page cache (128 MB).
	SharedBuffers units.Size `yaml:"shared_buffers"`
	// MaxConnections limits concurrent transactions (100). Further ones wait, as in a connection
	// pool; PostgreSQL itself refuses them.
	MaxConnections int `yaml:"max_connections"`

	// CheckpointTimeout is the time between the starts of two checkpoints (5 min).
	CheckpointTimeout units.Duration `yaml:"checkpoint_timeout"`
	// CheckpointCompletionTarget is the share of the interval over which a checkpoint spreads its
	// writes (0.9 from version 14 on, 0.5 before).
	CheckpointCompletionTarget units.Ratio `yaml:"checkpoint_completion_target"`
	// CheckpointFlushAfter is how much a checkpoint writes before it asks the kernel to write it
	// out (256 kB; 0 leaves that to the final fsync).
	CheckpointFlushAfter units.Size `yaml:"checkpoint_flush_after"`
	// MaxWALSize is the amount of log that triggers a checkpoint (1 GB). The trigger is MaxWALSize
	// / (1 + CheckpointCompletionTarget), because the previous interval's log is kept.
	MaxWALSize units.Size `yaml:"max_wal_size"`
	// MinWALSize is the minimum size of the log's folder (80 MB).
	MinWALSize units.Size `yaml:"min_wal_size"`
	// FullPageWrites logs the whole page at its first change after a checkpoint begins (on).
	FullPageWrites bool `yaml:"full_page_writes"`

	// WALBuffers is the size of the log buffers; 0 is automatic: 1/32 of SharedBuffers, 64 kB to 16
	// MB.
	WALBuffers units.Size `yaml:"wal_buffers"`
	// SynchronousCommit acknowledges a commit when it is durable (on). If off, commits are
	// acknowledged once logged in memory, the WAL writer makes them durable every WALWriterDelay
	// (200 ms), and a crash loses the rest.
	SynchronousCommit bool           `yaml:"synchronous_commit"`
	WALWriterDelay    units.Duration `yaml:"wal_writer_delay"`
	// CommitDelay is how long a flush waits for other commits to join it (0) if CommitSiblings (5)
	// other transactions are active.
	CommitDelay    units.Duration `yaml:"commit_delay"`
	CommitSiblings int            `yaml:"commit_siblings"`

	// Every BgwriterDelay (200 ms) the background writer cleans buffers that will soon be needed:
	// BgwriterLRUMultiplier (2) times the recent demand, at most BgwriterLRUMaxpages (100). It asks
	// the kernel to write them out after BgwriterFlushAfter (512 kB).
	BgwriterDelay         units.Duration `yaml:"bgwriter_delay"`
	BgwriterLRUMaxpages   int            `yaml:"bgwriter_lru_maxpages"`
	BgwriterLRUMultiplier units.Ratio    `yaml:"bgwriter_lru_multiplier"`
	BgwriterFlushAfter    units.Size     `yaml:"bgwriter_flush_after"`
	// BackendFlushAfter is the same for pages that backends write themselves (0: off).
	BackendFlushAfter units.Size `yaml:"backend_flush_after"`

	// Rows is the table's initial number of rows: pgbench's scale times 100,000 (scale 100; not a
	// PostgreSQL default).
	Rows int64 `yaml:"rows"`
	// Row is the size of a row including its header. 121 B is a row of pgbench's accounts (24 B of
	// header, 97 B of columns; PostgreSQL 15 documentation, 73.6 and pgbench).
	Row units.Size `yaml:"row"`
	// FillFactor is how full the table's pages were loaded (100 %); updates use the rest.
	FillFactor units.Ratio `yaml:"fillfactor"`
	// HistoryRow is the size of the row that each update inserts into a second table without an
	// index, like pgbench's history (48 B including its header); 0: none.
	HistoryRow units.Size `yaml:"history_row"`
	// JustLoaded is true if the data was just loaded, as in a benchmark or a lab, so that the log
	// has only the segments that loading took. Until its first checkpoint ends the server creates
	// new ones, and all commits wait for each (off: the server has run for long and has enough).
	JustLoaded bool `yaml:"just_loaded"`
	// CPU is the CPU time of a transaction including the client: 300 us (assumed: pgbench runs
	// about 3,000 simple updates per second and core).
	CPU units.Duration `yaml:"cpu"`
}

// Defaults are PostgreSQL 15's, and pgbench's tables at scale 100.
func Defaults() Config {
	return Config{
		SharedBuffers: 128 * units.MiB, MaxConnections: 100,
		CheckpointTimeout: units.Duration(5 * time.Minute), CheckpointCompletionTarget: 0.9,
		CheckpointFlushAfter: 256 * units.KiB, MaxWALSize: units.GiB, MinWALSize: 80 * units.MiB,
		FullPageWrites: true, SynchronousCommit: true,
		WALWriterDelay: units.Duration(200 * time.Millisecond), CommitSiblings: 5,
		BgwriterDelay: units.Duration(200 * time.Millisecond), BgwriterLRUMaxpages: 100,
		BgwriterLRUMultiplier: 2, BgwriterFlushAfter: 512 * units.KiB,
		Rows: 10_000_000, Row: 121, FillFactor: 1, HistoryRow: 48,
		CPU: units.Duration(300 * time.Microsecond),
	}
}

// Check reports invalid settings, with the field names of the YAML.
func (c *Config) Check() inputerror.List {
	var problems inputerror.List
	size := func(field string, v, least, most units.Size, source string) {
		inputerror.AddOutside(&problems, field, v, least, most, units.Size.Exact, beyond(v > most), source)
	}

	duration := func(field string, v units.Duration, least, most time.Duration, source string) {
		inputerror.AddOutside(&problems, field, v.Std(), least, most, time.Duration.String,
			beyond(v.Std() > most), source)
	}

	number := func(field string, v, least, most float64, source string) {
		inputerror.AddOutside(&problems, field, v, least, most, exact, beyond(v > most), source)
	}

	const model = "a limit of this model"
	number("max_connections", float64(c.MaxConnections), 1, connectionsMax, model)
	pinned := PageSize * units.Size(min(max(c.MaxConnections, 1), connectionsMax)*pinsPerOp)
	size("shared_buffers", c.SharedBuffers, max(128*units.KiB, pinned+16*PageSize), sharedMax,
		"a limit of this model: four pages per connection")
	duration("checkpoint_timeout", c.CheckpointTimeout, 30*time.Second, 24*time.Hour, docPage)
	number("checkpoint_completion_target", float64(c.CheckpointCompletionTarget), 0, 1, docPage)
	size("checkpoint_flush_after", c.CheckpointFlushAfter, 0, 2*units.MiB, docPage)
	size("max_wal_size", c.MaxWALSize, 2*WALSegment, 16*units.TiB, docPage)
	size("min_wal_size", c.MinWALSize, 2*WALSegment, 16*units.TiB, docPage)

	if c.WALBuffers != 0 {
		size("wal_buffers", c.WALBuffers, 32*units.KiB, units.GiB, docPage)
	}

	duration("wal_writer_delay", c.WALWriterDelay, time.Millisecond, 10*time.Second, docPage)
	duration("commit_delay", c.CommitDelay, 0, 100*time.Millisecond, docPage)
	number("commit_siblings", float64(c.CommitSiblings), 0, 1000, docPage)
	duration("bgwriter_delay", c.BgwriterDelay, 10*time.Millisecond, 10*time.Second, docPage)
	number("bgwriter_lru_maxpages", float64(c.BgwriterLRUMaxpages), 0, 1<<30-1, docPage)
	number("bgwriter_lru_multiplier", float64(c.BgwriterLRUMultiplier), 0, 10, docPage)
	size("bgwriter_flush_after", c.BgwriterFlushAfter, 0, 2*units.MiB, docPage)
	size("backend_flush_after", c.BackendFlushAfter, 0, 2*units.MiB, docPage)
	size("row", c.Row, 24,
		2032, "the TOAST threshold, PostgreSQL 15 documentation, 73.2; larger rows are not modelled")
	number("fillfactor", float64(c.FillFactor), 0.1, 1, "PostgreSQL 15 documentation, CREATE TABLE")

	if c.HistoryRow != 0 {
		size("history_row", c.HistoryRow, 24, 2032, "the TOAST threshold, PostgreSQL 15 documentation, 73.2")
	}

	duration("cpu", c.CPU, 0, time.Second, model)

	// The number of rows per page is only meaningful for a valid row size and fill factor.
	if len(problems) == 0 {
		most := float64(int64(tableSizeMax/PageSize) * c.rowsPerPage())
		number("rows", float64(c.Rows), 1, most, "a limit of this model: a table of "+tableSizeMax.Exact())
	}

	return problems
}

// exact formats a number the way a user writes it in YAML.
func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func beyond(high bool) string {
	if high {
		return " is above the maximum"
	}
	return " is below the minimum"
}

// Page layout (PostgreSQL 15 documentation, 73.6 and 67.4): a page has a header of 24 B; a row
// takes its size aligned to 8 B and a line pointer of 4 B. An index leaf has 16 B at its end,
// entries of 16 B + 4 B for an 8-byte key, and is loaded to 90 %.
const (
	pageHeader   = 24
	linePointer  = 4
	leafSpecial  = 16
	leafEntry    = 20
	leafEntries  = (int64(PageSize) - pageHeader - leafSpecial) * 9 / 10 / leafEntry
	rowAlignment = 8
)

func itemBytes(row units.Size) int64 {
	return (int64(row)+rowAlignment-1)/rowAlignment*rowAlignment + linePointer
}

// rowsPerPage returns how many rows a loaded page has: 61 of pgbench's accounts.
func (c *Config) rowsPerPage() int64 {
	reserved := int64(float64(PageSize) * float64(1-c.FillFactor))
	return max(1, (int64(PageSize)-pageHeader-reserved)/itemBytes(c.Row))
}

// historyPerPage is the same for history: 157.
func (c *Config) historyPerPage() int64 {
	return (int64(PageSize) - pageHeader) / itemBytes(c.HistoryRow)
}

// walBuffers resolves the automatic size: 1/32 of shared_buffers, 64 kB to one segment
// (PostgreSQL 15 documentation, 20.5).
func (c *Config) walBuffers() int64 {
	if c.WALBuffers > 0 {
		return int64(c.WALBuffers)
	}
	return int64(min(max(c.SharedBuffers/32, 64*units.KiB), WALSegment))
}

// checkpointSegments returns how many segments of log trigger a checkpoint
// (CalculateCheckpointSegments in PostgreSQL 15's xlog.c).
func (c *Config) checkpointSegments() int64 {
	return max(1, int64(float64(c.MaxWALSize/WALSegment)/float64(1+c.CheckpointCompletionTarget)))
}

// flushPages converts a *_flush_after setting to pages, rounded up; 0 means never.
func flushPages(after units.Size) int { return int((after + PageSize - 1) / PageSize) }
