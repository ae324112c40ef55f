// Package source is the contract between the places samples come from and the
// recording they end in.
//
// A [Source] is something a person has at hand: a diagnostic.data folder, an iostat log,
// a /metrics address, this machine. It reads once, from its start, and hands
// batches to a recording.Writer under the names the ecosystem's own exporters
// use. Each kind of source is a package of its own under observe; package observe
// recognises which one an argument means.
//
// A source that runs is asked again and again. [Polled] is the loop of all of them: a sample each period, a gap
// where there is none, and on again when its database is back, until somebody ends it. A new live source is a
// [Sampler], which takes one sample, and a connection that it makes anew where that broke. [NewGroup] joins
// the members of a cluster.
//
// A source that meets damage keeps what it could read, leaves a
// recording.Note with file and offset, and goes on if it can. It returns an error only
// when nothing could be read, or when the context ended.
package source

import (
	"context"
	"time"

	"plimsoll/internal/record/recording"
)

// Options say what to take from a source, and how.
type Options struct {
	// Want says whether a metric (its final name) is needed; nil means all. A
	// source that can, skips the work for the others.
	Want func(metric string) bool
	// ClockOffset is added to each of the source's times.
	ClockOffset time.Duration
	// Location is the time zone of sources that print local times without one
	// (iostat); nil means time.Local.
	Location *time.Location
	// From and To bound the samples taken; zero means unbounded.
	From, To time.Time
	// Period is the sampling period of a live source; 0 means one second.
	Period time.Duration
	// For is how long a live source is read; 0 means until the context ends.
	For time.Duration
	// Parallel bounds the goroutines that decode; 0 means GOMAXPROCS.
	Parallel int
	// Progress, if not nil, is called now and then from one goroutine at a time with the
	// work done and in all: bytes for files, nanoseconds for live sources
	// (total 0: unknown).
	Progress func(done, total int64)
}

// The environment variables that user and password are taken from where an address has none. They are sent to the
// addresses on the command line only, and appear in no text.
const (
	EnvUser     = "PLIMSOLL_USER"
	EnvPassword = "PLIMSOLL_PASSWORD"
)

// A Source is one place samples come from.
type Source interface {
	// Describe tells the kind and the name; more once Read has run.
	Describe() recording.Source
	// Live reports whether Read waits for time to pass.
	Live() bool
	// Read hands all samples to w. The end of the context ends a live source
	// without an error.
	Read(ctx context.Context, w recording.Writer, opt Options) error
}
