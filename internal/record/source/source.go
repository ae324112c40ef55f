// Package source is the contract between the places that samples come from and the recording they
// end in.
//
// A [Source] is something a person has at hand: a diagnostic.data folder, an iostat log, a /metrics
// address, this machine. It reads once, from its start, and hands batches to a recording.Writer
// under the names that the ecosystem's own exporters use. Each kind of source is a package of its
// own; package record/sources recognises which one an argument means.
//
// A live source is sampled again and again. [Polled] is the loop of all of them: a sample each
// period, a gap where there is none, and on again when the database is back, until somebody ends
// it. A new live source is a [Sampler], which takes one sample and reconnects if its connection
// broke. [NewGroup] joins the members of a cluster.
//
// A source that meets damage keeps what it could read, leaves a recording.Note with file and
// offset, and continues if it can. It returns an error only if nothing could be read, or if the
// context ended.
package source

import (
	"context"
	"time"

	"plimsoll/internal/record/recording"
)

// Options say what to read from a source, and how.
type Options struct {
	// Want reports whether a metric (by its final name) is needed; nil means all. A source that can
	// skips the work for the others.
	Want func(metric string) bool
	// ClockOffset is added to each time of the source.
	ClockOffset time.Duration
	// Location is the time zone of sources that print local times without one (iostat); nil means
	// time.Local.
	Location *time.Location
	// From and To bound the samples taken; zero means unbounded.
	From, To time.Time
	// Period is the sampling period of a live source; 0 means one second.
	Period time.Duration
	// For is how long a live source is read; 0 means until the context ends.
	For time.Duration
	// Parallel bounds the goroutines that decode; 0 means GOMAXPROCS.
	Parallel int
	// Progress, if not nil, is called now and then, from one goroutine at a time, with the work
	// done and the total: bytes for files, nanoseconds for live sources (total 0: unknown).
	Progress func(done, total int64)
}

// The environment variables with the user and the password for addresses that have none. They are
// sent only to the addresses on the command line, and appear in no text.
const (
	EnvUser     = "PLIMSOLL_USER"
	EnvPassword = "PLIMSOLL_PASSWORD"
)

// A Source is one place that samples come from.
type Source interface {
	// Describe returns the kind and the name; more once Read has run.
	Describe() recording.Source
	// Live reports whether Read waits for time to pass.
	Live() bool
	// Read hands all samples to w. The end of the context ends a live source without an error.
	Read(ctx context.Context, w recording.Writer, opt Options) error
}

// A Part is a source that may be one of several files of the same thing, such as a capture that a server
// writes to a new file every few hours.
type Part interface {
	Source
	// Whole is what it is a part of, the same for all parts of one thing; "" if it is none.
	Whole() string
	// With is the source of it and of other parts, in any order.
	With(others []Source) Source
}

// Join makes one source of the parts of one thing, so that nothing is lost between two of them. Elements
// that became part of another are nil afterwards.
func Join(all []Source) {
	firsts := map[string]Part{}
	parts := map[string][]int{}

	given := map[string]bool{}
	for i, s := range all {
		p, ok := s.(Part)
		if !ok || p.Whole() == "" || given[p.Describe().Name] {
			continue // a file that is given twice stays twice, and is reported
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
	// Charge is what reading it took so far, in words.
	Charge() string
}
