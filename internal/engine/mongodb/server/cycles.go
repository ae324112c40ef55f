//go:build linux

package server

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/lab"
	"plimsoll/internal/record/source"
)

const (
	// lookEvery is the polling interval for checkpoints. The end of one is noticed up to that much
	// late, but its length is exact.
	lookEvery = 500 * time.Millisecond
	// cyclesMax limits the checkpoints that are remembered: a week of them, a minute apart.
	cyclesMax = 10_080
)

// The fields of serverStatus about checkpoints, under wiredTiger: section and name by version. The
// section is transaction up to 7.0, and checkpoint since 8.0 (diagnostic.data of 3.6.3, 8.0.0 and
// 8.2.1).
var (
	countOf = [][]string{
		{"wiredTiger", "transaction", "transaction checkpoints"},
		{"wiredTiger", "checkpoint", "total succeed number of checkpoints"},
		{"wiredTiger", "checkpoint", "number of checkpoints"},
	}
	lastedOf = [][]string{
		{"wiredTiger", "transaction", "transaction checkpoint most recent time (msecs)"},
		{"wiredTiger", "checkpoint", "most recent time (msecs)"},
		{"wiredTiger", "checkpoint", "transaction checkpoint most recent time (msecs)"},
	}
	runningOf = [][]string{
		{"wiredTiger", "transaction", "transaction checkpoint currently running"},
		{"wiredTiger", "checkpoint", "progress state"},
		{"wiredTiger", "checkpoint", "currently running"},
	}
)

// first returns the value at the first of the paths that a document has.
func first(d bson.Raw, paths [][]string) (float64, bool) {
	for _, p := range paths {
		// One key at a time: with several, the driver's lookup panics if an inner length is wrong.
		of, ok, last := d, true, len(p)-1
		for _, key := range p[:last] {
			if of, ok = of.Lookup(key).DocumentOK(); !ok {
				break
			}
		}
		if v, err := of.LookupErr(p[last]); ok && err == nil {
			x, _ := v.AsFloat64OK()
			return x, true
		}
	}
	return 0, false
}

// cycles collects the checkpoints that serverStatus shows.
type cycles struct {
	all    []lab.Cycle
	count  float64 // in the last answer: checkpoints that ended, in 5.0 those that began
	lasted float64 // ms, of the last ended checkpoint at that time
	known  bool
}

// observe evaluates an answer. A running flag shows a beginning; a missing one, or a new duration
// of the last checkpoint, shows an end. The count alone shows neither, because 5.0 counts a
// checkpoint when it begins and other versions when it ends.
func (c *cycles) observe(at time.Time, d bson.Raw) {
	count, ok := first(d, countOf)
	if !ok {
		return // a mongos, or another storage engine
	}

	lasted, _ := first(d, lastedOf)
	running, _ := first(d, runningOf)
	length := time.Duration(lasted * float64(time.Millisecond))
	newLength := c.known && lasted != c.lasted

	open := len(c.all) > 0 && c.all[len(c.all)-1].To.IsZero()
	switch {
	case open && (running == 0 || newLength):
		last := &c.all[len(c.all)-1]
		if last.To = last.From.Add(length); last.To.After(at) {
			last.To = at
		}
		open = false
	case !open && (newLength || c.known && count > c.count && running == 0):
		c.add(lab.Cycle{From: at.Add(-length), To: at}) // it began and ended between two polls
	}

	if running > 0 && !open {
		c.add(lab.Cycle{From: at})
	}

	c.count, c.lasted, c.known = count, lasted, true
}

func (c *cycles) add(one lab.Cycle) {
	if len(c.all) == cyclesMax {
		c.all = slices.Delete(c.all, 0, 1)
	}
	c.all = append(c.all, one)
}

// watch polls for checkpoints until the store is closed.
func (s *store) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	s.watcher = cancel
	s.watched.Go(func() {
		for {
			if d, err := serverStatus(ctx, s.client); err == nil {
				s.mu.Lock()
				s.cycles.observe(time.Now(), d)
				s.mu.Unlock()
			}
			if !source.Pause(ctx, lookEvery) {
				return
			}
		}
	})
}

func (s *store) seen() []lab.Cycle {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cycles.all)
}
