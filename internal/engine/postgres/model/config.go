package model

import (
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
)

// Sizes that are compiled into PostgreSQL (BLCKSZ, RELSEG_SIZE, wal_segment_size by default).
const (
	PageSize       = 8 * units.KiB
	FileSegment    = 1 * units.GiB
	WALSegment     = 16 * units.MiB
	pagesPerFile   = int64(FileSegment / PageSize)
	docPage        = "PostgreSQL 15 documentation, 20.4-20.7"
	tableSizeMax   = 2 * units.TiB // of this model: it keeps two bits a page
	pinsPerOp      = 4             // pages that a transaction holds at the same time
	connectionsMax = 10_000        // of this model; PostgreSQL allows 262,143
	sharedMax      = 256 * units.GiB
)

// A Config is what postgresql.conf says, under its names, and the table that is worked on. Defaults
// are those of PostgreSQL 15 unless said otherwise. PostgreSQL's "kB" and "MB" are binary: its
// 256kB is written 256KiB here.
type Config struct {
	// SharedBuffers is the cache of pages (128 MB).
	SharedBuffers units.Size `yaml:"shared_buffers"`
	// MaxConnections is how many transactions run at the same time (100). Further ones wait here,
	// as in a pool; PostgreSQL itself refuses them.
	MaxConnections int `yaml:"max_connections"`

	// CheckpointTimeout is the time from a checkpoint's start to the next one's (5 min).
	CheckpointTimeout units.Duration `yaml:"checkpoint_timeout"`
	// CheckpointCompletionTarget is the share of it over which its writes are spread (0.9 from
	// version 14 on, 0.5 before).
	CheckpointCompletionTarget units.Ratio `yaml:"checkpoint_completion_target"`
	// CheckpointFlushAfter is how much a checkpoint writes before it has the kernel write it out
	// (256 kB; 0: it leaves that to the fsync at its end).
	CheckpointFlushAfter units.Size `yaml:"checkpoint_flush_after"`
	// MaxWALSize is how much log there may be before a checkpoint is requested (1 GB). It comes at
	// MaxWALSize / (1 + CheckpointCompletionTarget), since the log of the interval before is kept.
	MaxWALSize units.Size `yaml:"max_wal_size"`
	// MinWALSize is the minimum size of the log's folder (80 MB).
	MinWALSize units.Size `yaml:"min_wal_size"`
	// FullPageWrites logs the whole page when it first changes after a checkpoint began (on).
	FullPageWrites bool `yaml:"full_page_writes"`

	// WALBuffers is the log's buffer; 0 is automatic: 1/32 of SharedBuffers, 64 kB to 16 MB.
	WALBuffers units.Size `yaml:"wal_buffers"`
	// SynchronousCommit: acknowledged when durable (on). Off: when logged in memory; the WAL
	// writer makes it durable every WALWriterDelay (200 ms), and a crash loses what it had not.
	SynchronousCommit bool           `yaml:"synchronous_commit"`
	WALWriterDelay    units.Duration `yaml:"wal_writer_delay"`
	// CommitDelay is how long a flush waits for other commits to join it (0) where CommitSiblings
	// (5) other transactions are active.
	CommitDelay    units.Duration `yaml:"commit_delay"`
	CommitSiblings int            `yaml:"commit_siblings"`

	// Every BgwriterDelay (200 ms) the background writer cleans buffers that will soon be needed:
	// BgwriterLRUMultiplier (2) times the recent demand, no more than BgwriterLRUMaxpages (100),
	// and has the kernel write them out after BgwriterFlushAfter (512 kB).
	BgwriterDelay         units.Duration `yaml:"bgwriter_delay"`
	BgwriterLRUMaxpages   int            `yaml:"bgwriter_lru_maxpages"`
	BgwriterLRUMultiplier units.Ratio    `yaml:"bgwriter_lru_multiplier"`
	BgwriterFlushAfter    units.Size     `yaml:"bgwriter_flush_after"`
	// BackendFlushAfter is the same for what backends write themselves (0: off).
	BackendFlushAfter units.Size `yaml:"backend_flush_after"`

	// Rows is how many rows the table has at the start: pgbench's scale times 100,000 (scale
	// 100; no default of PostgreSQL's).
	Rows int64 `yaml:"rows"`
	// Row is the size of a row with its header: 121 B are pgbench's accounts (24 B of header,
	// 97 B of columns; PostgreSQL 15 documentation, 73.6 and pgbench).
	Row units.Size `yaml:"row"`
	// FillFactor is how full the table's pages were loaded (100 %); updates use the rest.
	FillFactor units.Ratio `yaml:"fillfactor"`
	// HistoryRow is the row that an update inserts into a second table without an index, as
	// pgbench's history (48 B with its header); 0: none.
	HistoryRow units.Size `yaml:"history_row"`
	// JustLoaded says that the data was just loaded and the log has no more segments than that
	// took, as in a benchmark or a laboratory: before its first checkpoint has ended the server
	// makes new ones, and all commits wait for each (off: it has run for long, and has them).
	JustLoaded bool `yaml:"just_loaded"`
	// CPU is the CPU time of a transaction, client included: 300 us (assumed: simple updates of
	// pgbench run at some 3,000 per second and core).
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

// Check finds what cannot be. Fields are named as in YAML.
func (c *Config) Check() diagnostics.List {
	var l diagnostics.List
	size := func(field string, v, least, most units.Size, source string) {
		if v < least || v > most {
			l = append(l, outside(field, v.Exact(), least.Exact(), most.Exact(), v < least, source))
		}
	}

	duration := func(field string, v units.Duration, least, most time.Duration, source string) {
		if v.Std() < least || v.Std() > most {
			l = append(l, outside(field, v.Std().String(), least.String(), most.String(), v.Std() < least, source))
		}
	}

	number := func(field string, v, least, most float64, source string) {
		if !(v >= least && v <= most) {
			l = append(l, outside(field, exact(v), exact(least), exact(most), !(v > most), source))
		}
	}

	const model = "a bound of this model"
	number("max_connections", float64(c.MaxConnections), 1, connectionsMax, model)
	pinned := PageSize * units.Size(min(max(c.MaxConnections, 1), connectionsMax)*pinsPerOp)
	size("shared_buffers", c.SharedBuffers, max(128*units.KiB, pinned+16*PageSize), sharedMax,
		"a bound of this model: four pages for each of max_connections")
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
	if len(l) == 0 {
		most := float64(int64(tableSizeMax/PageSize) * c.rowsPerPage())
		number("rows", float64(c.Rows), 1, most, "a bound of this model: a table of "+tableSizeMax.Exact())
	}

	return l
}

// exact writes a number as a person writes it in YAML.
func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func outside(field, value, least, most string, low bool, source string) diagnostics.Problem {
	p := diagnostics.Problem{Field: field, Limit: least + " to " + most, Source: source, Nearest: most}
	p.Text = fmt.Sprintf("%s is over the maximum", value)
	if low {
		p.Text, p.Nearest = fmt.Sprintf("%s is under the minimum", value), least
	}
	return p
}

// Page layout (PostgreSQL 15 documentation, 73.6 and 67.4): a page has a header of 24 B, a row
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

// rowsPerPage is how many rows a loaded page has: 61 of accounts.
func (c *Config) rowsPerPage() int64 {
	reserved := int64(float64(PageSize) * float64(1-c.FillFactor))
	return max(1, (int64(PageSize)-pageHeader-reserved)/itemBytes(c.Row))
}

// historyPerPage is the same of history: 157.
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

// checkpointSegments is how many segments of log request a checkpoint:
// CalculateCheckpointSegments in PostgreSQL 15's xlog.c.
func (c *Config) checkpointSegments() int64 {
	return max(1, int64(float64(c.MaxWALSize/WALSegment)/float64(1+c.CheckpointCompletionTarget)))
}

// flushPages is a *_flush_after in pages, rounded up; 0 is never.
func flushPages(after units.Size) int { return int((after + PageSize - 1) / PageSize) }
