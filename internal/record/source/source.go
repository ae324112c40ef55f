// Package source is the contract between the origins of samples and the recording that receives
// them.
//
// A [Source] is something that users have at hand: a diagnostic.data folder, an iostat log, a
// /metrics address, this machine. It reads once, from its start, and passes batches to a
// recording.Writer, with the names that the ecosystem's exporters use. Each kind of source has its
// own package; package record/recognise recognises which one an argument means.
//
// A live source is sampled repeatedly. [Polled] is the common loop: a sample each period, a gap
// while there are none, and samples again when the database is back, until the user ends it. A new
// live source is a [Sampler], which takes one sample and reconnects if its connection broke.
// [NewGroup] joins the members of a cluster.
//
// A source that finds damage keeps what it can read, leaves a recording.Note with file and offset,
// and continues if possible. It returns an error only if nothing was readable, or if the context
// ended.
package source

import (
	"context"
	"time"

	"plimsoll/internal/record/recording"
)

// Options say what to read from a source, and how.
type Options struct {
	// Want reports whether a metric (by its final name) is needed; nil means all. Sources may skip
	// the others.
	Want func(metric string) bool
	// ClockOffset is added to each time of the source.
	ClockOffset time.Duration
	// Location is the time zone of sources that print local times without one (iostat); nil means
	// time.Local.
	Location *time.Location
	// From and To bound the samples to read; zero means unbounded.
	From, To time.Time
	// Period is the sampling period of a live source; 0 means one second.
	Period time.Duration
	// For is how long to read a live source; 0 means until the context ends.
	For time.Duration
	// Parallel bounds the goroutines that decode; 0 means GOMAXPROCS.
	Parallel int
	// Progress, if not nil, is called regularly, from one goroutine at a time, with the work done
	// and the total: bytes for files, nanoseconds for live sources (total 0 means unknown).
	Progress func(done, total int64)
}

// Environment variables with the user and the password for addresses that have none. They are sent
// only to the addresses on the command line, and appear in no output.
const (
	EnvUser     = "PLIMSOLL_USER"
	EnvPassword = "PLIMSOLL_PASSWORD"
)

// A Source is an origin of samples.
type Source interface {
	// Describe returns the kind and the name, and more after Read.
	Describe() recording.Source
	// Live reports whether Read waits for time to pass.
	Live() bool
	// Read passes all samples to w. The end of the context ends a live source without an error.
	Read(ctx context.Context, w recording.Writer, opt Options) error
}

// A Part is a source that may be one of several files of a whole, such as a capture for which a
// server starts a new file every few hours.
type Part interface {
	Source
	// Whole returns what it is a part of, the same for all parts of a whole, or "" if it is not a part.
	Whole() string
	// With returns the source of this and other parts, in any order.
	With(others []Source) Source
}

// Join merges the parts of each whole into one source, so that nothing is lost between two of them.
// Elements that were merged into another become nil.
func Join(all []Source) {
	firsts := map[string]Part{}
	parts := map[string][]int{}

	given := map[string]bool{}
	for i, s := range all {
		p, ok := s.(Part)
		if !ok || p.Whole() == "" || given[p.Describe().Name] {
			continue // a file that is given twice is not merged, so that it is reported
		}
		given[p.Describe().Name] = true
		if firsts[p.Whole()] == nil {
			firsts[p.Whole()] = p
		}
		parts[p.Whole()] = append(parts[p.Whole()], i)
	}

	for whole, at := range parts {
		if len(at) < 2 {
			continue
		}
		var others []Source
		for _, i := range at[1:] {
			others = append(others, all[i])
			all[i] = nil
		}
		all[at[0]] = firsts[whole].With(others)
	}
}

// A Charged is a source whose requests a provider counts, and may charge for.
type Charged interface {
	// Charge returns the cost of reading so far, in words.
	Charge() string
}
