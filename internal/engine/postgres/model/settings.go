package model

import (
	"fmt"
	"strconv"

	"plimsoll/internal/base/units"
)

// A Setting is a setting of postgresql.conf.
type Setting struct {
	Name    string
	Value   any  // units.Size, units.Duration, units.Ratio, int or bool
	Restart bool // it needs a restart; the others need a reload
}

// Settings lists the settings of postgresql.conf in a configuration. Source of which ones need a restart:
// PostgreSQL 15 documentation, chapter 20.
func (c *Config) Settings() []Setting {
	return []Setting{
		{"shared_buffers", c.SharedBuffers, true},
		{"max_connections", c.MaxConnections, true},
		{"checkpoint_timeout", c.CheckpointTimeout, false},
		{"checkpoint_completion_target", c.CheckpointCompletionTarget, false},
		{"checkpoint_flush_after", c.CheckpointFlushAfter, false},
		{"max_wal_size", c.MaxWALSize, false},
		{"min_wal_size", c.MinWALSize, false},
		{"full_page_writes", c.FullPageWrites, false},
		{"wal_buffers", c.WALBuffers, true},
		{"synchronous_commit", c.SynchronousCommit, false},
		{"wal_writer_delay", c.WALWriterDelay, false},
		{"commit_delay", c.CommitDelay, false},
		{"commit_siblings", c.CommitSiblings, false},
		{"bgwriter_delay", c.BgwriterDelay, false},
		{"bgwriter_lru_maxpages", c.BgwriterLRUMaxpages, false},
		{"bgwriter_lru_multiplier", c.BgwriterLRUMultiplier, false},
		{"bgwriter_flush_after", c.BgwriterFlushAfter, false},
		{"backend_flush_after", c.BackendFlushAfter, false},
	}
}

// Text writes the value for postgresql.conf, with functions for sizes and durations.
func (s Setting) Text(size func(units.Size) string, span func(units.Duration) string) string {
	switch x := s.Value.(type) {
	case units.Size:
		return size(x)
	case units.Duration:
		if s.Name == "commit_delay" { // a number of microseconds
			return strconv.FormatInt(x.Std().Microseconds(), 10)
		}
		return span(x)
	case units.Ratio:
		return strconv.FormatFloat(float64(x), 'f', -1, 64)
	case bool:
		if x {
			return "on"
		}
		return "off"
	}
	return fmt.Sprint(s.Value)
}
