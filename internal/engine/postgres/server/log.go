//go:build linux

package server

import (
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/lab"
)

// cyclesMax bounds the remembered checkpoints: six weeks at one every 30 s.
const cyclesMax = 131_072

// A moment is the event that a log line reports about a checkpoint.
type moment int

const (
	none moment = iota
	starting
	completed
)

// stampLayout is the format of log_line_prefix '%m ' with log_timezone UTC.
const stampLayout = "2006-01-02 15:04:05.000 UTC"

// parseLine parses a line of the server's log: its time and what it reports about a checkpoint. The
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

	// Parse accepts more formats than PostgreSQL writes.
	if err != nil || at.Format(stampLayout) != line[:len(stampLayout)] {
		return time.Time{}, none
	}

	return at, what
}

// checkpoints collects the checkpoints of a run.
type checkpoints struct {
	mu  sync.Mutex
	all []lab.Cycle
}

// addLine records the start or end of a checkpoint that a line of the log reports.
func (c *checkpoints) addLine(line string) {
	switch at, what := parseLine(line); what {
	case starting:
		c.add(lab.Cycle{From: at})
	case completed:
		c.end(at)
	}
}

func (c *checkpoints) add(x lab.Cycle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == cyclesMax {
		c.all = slices.Delete(c.all, 0, 1)
	}
	c.all = append(c.all, x)
}

// end ends a running checkpoint, which may also be interrupted by the crash of the server.
func (c *checkpoints) end(at time.Time) {
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
