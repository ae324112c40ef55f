//go:build linux

package server

import (
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/lab"
)

// cyclesMax bounds the checkpoints that are remembered: six weeks of one every 30 s.
const cyclesMax = 131_072

// A moment is what a line of the log says about a checkpoint.
type moment int

const (
	none moment = iota
	starting
	completed
)

// stampLayout is what log_line_prefix '%m ' writes with log_timezone UTC.
const stampLayout = "2006-01-02 15:04:05.000 UTC"

// parseLine reads a line of the server's log: its time, and what it says about a checkpoint. The
// texts are those of PostgreSQL 9.x to 18 (xlog.c, LogCheckpointStart and LogCheckpointEnd).
func parseLine(line string) (at time.Time, what moment) {
	if len(line) <= len(stampLayout) {
		return time.Time{}, none
	}

	text, ok := strings.CutPrefix(line[len(stampLayout):], " LOG:  checkpoint ")
	switch {
	case !ok:
		return time.Time{}, none
	case strings.HasPrefix(text, "starting:"):
		what = starting
	case strings.HasPrefix(text, "complete:"):
		what = completed
	default:
		return time.Time{}, none
	}

	at, err := time.ParseInLocation(stampLayout, line[:len(stampLayout)], time.UTC)

	// Parse accepts more than PostgreSQL writes
	if err != nil || at.Format(stampLayout) != line[:len(stampLayout)] {
		return time.Time{}, none
	}

	return at, what
}

// checkpoints are those in the log.
type checkpoints struct {
	mu  sync.Mutex
	all []lab.Cycle
}

func (c *checkpoints) hear(line string) {
	at, what := parseLine(line)
	if what == none {
		return
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	switch n := len(c.all); {
	case what == starting:
		if n == cyclesMax {
			c.all = slices.Delete(c.all, 0, 1)
		}
		c.all = append(c.all, lab.Cycle{From: at})
	case n > 0 && c.all[n-1].To.IsZero():
		c.all[n-1].To = at
	}
}

// broken ends the one in progress, which was not completed.
func (c *checkpoints) broken(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.all); n > 0 && c.all[n-1].To.IsZero() {
		c.all[n-1].To = at
	}
}

func (c *checkpoints) list() []lab.Cycle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}
