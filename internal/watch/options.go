package watch

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"time"

	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The defaults of [Options].
const (
	// WindowDefault is fifteen checkpoints of MongoDB, three of PostgreSQL.
	WindowDefault = 15 * time.Minute
	EveryDefault  = 30 * time.Second
)

// OneCore limits this process to one core, so that a database on the same machine is not affected.
// One core is enough, and fewer threads have to be woken. The returned function undoes this.
// GOMAXPROCS in the environment takes precedence.
func OneCore() (back func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

// An Input is a live source and how to read it.
type Input struct {
	Source  source.Source
	Options source.Options
}

// Options configure a watch.
type Options struct {
	// Pack holds the rules.
	Pack *rules.Pack
	// Window is how much recent time is diagnosed; 0 means [WindowDefault].
	Window time.Duration
	// Every is the time between two diagnoses; 0 means [EveryDefault].
	Every time.Duration
	// Known describes volumes and a machine whose limits need not be guessed.
	Known headroom.Known
	// Check, if not nil, is called once, as soon as each source has samples: it returns an error if
	// an option does not match any source. The error is logged, and returned by every [Watch.Lay]
	// from then on.
	Check func(ctx context.Context, in []recording.Reader) error
	// Ring, if not nil, stores the samples. The caller closes it after Run.
	Ring Ring
	// Push, if not nil, also receives the samples, for example a remote write receiver. The caller
	// closes it after Run.
	Push recording.Writer
	// Tracing configures traces of system calls; without a tracer there are none. Report is set
	// here.
	Tracing TracingOptions
	// Changes logs findings, and Log the watch's own events; nil discards them.
	Changes, Log *slog.Logger
	// Program is the name and version shown on the page: "plimsoll 1.0.0".
	Program string
	// Version is the program's version in the metrics.
	Version string
	// Location is the time zone of the page; nil means UTC.
	Location *time.Location
	// Host is this machine's name, which the page shows if no source has one; "": none.
	Host string
	// AcceptMarks reports whether requests may currently set marks, which must be true only if
	// everyone who can send requests may do so. nil: never.
	AcceptMarks func() bool
	// CPU returns the CPU time that this process has used so far, which limits the work; nil means
	// the kernel's figure.
	CPU func() time.Duration
}

// A Ring is a recording of bounded size: a [recording.Disk] with Keep and KeepBytes.
type Ring interface {
	recording.Writer
	// Bytes returns the size of its files.
	Bytes() (int64, error)
}
