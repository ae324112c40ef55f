//go:build linux

package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/ioloop"
)

// A Profile defines which streams a probe runs, which of them matters, and what is good enough.
type Profile struct {
	Name  string
	About string
	// Measured is the stream whose latency is reported and explained.
	Measured string
	// Stage is how long each stage is measured.
	Stage units.Duration
	// Criterion is what the engine's own documentation requires; nil: none.
	Criterion *Criterion
	Streams   []Stream
}

// A Criterion is a bound on the measured stream.
type Criterion struct {
	// Of is the bounded quantity: "fdatasync", the call alone, or "latency", counted from when the
	// operation was due.
	Of string `yaml:"of"`
	// Quantile is mean, p50, p95, p99, p999 or max.
	Quantile string         `yaml:"quantile"`
	Under    units.Duration `yaml:"under"`
	Source   string         `yaml:"source"`
}

// A Kind is an I/O pattern.
type Kind string

// The kinds of streams.
const (
	Append      Kind = "append"       // sequential, wrapping at the end of the file
	RandomWrite Kind = "random-write" // blocks anywhere in a file
	RandomRead  Kind = "random-read"  // blocks anywhere in a file
)

// A Stream is one thread of I/O on its own file.
type Stream struct {
	Name string     `yaml:"-"`
	Kind Kind       `yaml:"kind"`
	Size units.Size `yaml:"size"` // of one operation
	// Rate is how often an operation is due (an open loop); 0: as soon as the previous one is done
	// (a closed loop).
	Rate units.Frequency `yaml:"rate"`
	// Poisson makes due times random with that mean rate, like those of many users; otherwise they
	// are evenly spaced.
	Poisson bool `yaml:"-"`
	// Depth is the maximum number of operations in flight. More than 1 requires Direct.
	Depth int `yaml:"-"`
	// Direct bypasses the page cache.
	Direct bool `yaml:"direct"`
	// Sync is the number of writes between two fdatasyncs; 0: never.
	Sync int `yaml:"fdatasync"`
	// SyncAtEnd ends each on-time with an fdatasync, which counts as part of it.
	SyncAtEnd bool `yaml:"sync_at_end"`
	// File is the size of the stream's file.
	File units.Size `yaml:"file"`
	// Prewritten means that the file's blocks are written beforehand, so that writes do not change
	// metadata. Files of read streams always are.
	Prewritten bool `yaml:"-"`
	// On and Off alternate, beginning with Off; both 0: always on.
	On  units.Duration `yaml:"on"`
	Off units.Duration `yaml:"off"`
	// Burst is the maximum number of bytes written in one on-time; 0: unlimited.
	Burst units.Size `yaml:"burst"`
}

// Writes reports whether the stream writes.
func (s *Stream) Writes() bool { return s.Kind != RandomRead }

// Limits of a profile: what one machine's threads, disks and patience can handle.
const (
	streamsMax   = 16
	depthMax     = 1024
	operationMax = 16 * units.MiB
	fileMax      = units.TiB
	stageMax     = time.Hour
	rateMax      = 1_000_000
)

// quantiles are those that a criterion may bound.
var quantiles = []string{"mean", "p50", "p95", "p99", "p999", "max"}

// stream returns a stream by name; nil if there is none.
func (p *Profile) stream(name string) *Stream {
	for i := range p.Streams {
		if p.Streams[i].Name == name {
			return &p.Streams[i]
		}
	}
	return nil
}

// Check reports what is invalid. Fields are paths in the profile: "streams.wal.rate".
func (p *Profile) Check() inputerror.List {
	var l inputerror.List
	if len(p.Streams) == 0 {
		l.Addf("streams", "empty: want at least one stream")
		return l
	}

	if len(p.Streams) > streamsMax {
		l.Addf("streams", "%d streams: want at most %d", len(p.Streams), streamsMax)
	}

	if p.stream(p.Measured) == nil {
		l.Addf("measured", "no stream is called %q", p.Measured)
	}

	if d := p.Stage.Std(); d < 10*time.Millisecond || d > stageMax {
		l.Addf("stage", "%v out of range: want 10ms to %v", d, stageMax)
	}

	if c := p.Criterion; c != nil {
		l = append(l, p.checkCriterion(c).Under("criterion")...)
	}

	for i := range p.Streams {
		l = append(l, p.Streams[i].check().Under("streams."+p.Streams[i].Name)...)
	}

	return l
}

func (p *Profile) checkCriterion(c *Criterion) inputerror.List {
	var l inputerror.List
	switch c.Of {
	case "latency":
	case "fdatasync":
		if s := p.stream(p.Measured); s != nil && s.Sync == 0 {
			l.Addf("of", "the measured stream does not call fdatasync")
		}
	default:
		l.Addf("of", "%q: want latency or fdatasync", c.Of)
	}

	if !slices.Contains(quantiles, c.Quantile) {
		l.Addf("quantile", "%q: want one of %s", c.Quantile, strings.Join(quantiles, ", "))
	}

	if c.Under <= 0 {
		l.Addf("under", "must be positive")
	}

	return l
}

func (s *Stream) check() inputerror.List {
	var l inputerror.List
	switch s.Kind {
	case Append, RandomWrite, RandomRead:
	default:
		l.Addf("kind", "%q: want append, random-write or random-read", string(s.Kind))
	}

	if s.Size < 1 || s.Size > operationMax {
		l.Addf("size", "%s out of range: want 1B to %s", s.Size.Exact(), operationMax.Exact())
	} else if s.Direct && s.Size%ioloop.Alignment != 0 {
		l.Addf("size", "%s with direct I/O: must be a multiple of %d bytes", s.Size.Exact(), ioloop.Alignment)
	}

	if s.File < max(s.Size, ioloop.Alignment) || s.File > fileMax {
		l.Addf("file", "%s out of range: want at least one operation and at most %s", s.File.Exact(),
			fileMax.Exact())
	}

	if s.Rate < 0 || s.Rate > rateMax {
		l.Addf("rate", "%g/s out of range: want 0 to %d", float64(s.Rate), rateMax)
	}

	if s.Poisson && s.Rate == 0 {
		l.Addf("arrivals", "needs a rate")
	}

	l = append(l, s.checkFlight()...)
	return append(l, s.checkPhases()...)
}

func (s *Stream) checkFlight() inputerror.List {
	var l inputerror.List
	switch {
	case s.Depth < 1 || s.Depth > depthMax:
		l.Addf("depth", "%d out of range: want 1 to %d", s.Depth, depthMax)
	case s.Depth > 1 && !s.Direct:
		l.Addf("depth", "the page cache accepts one operation at a time: set direct: true, or depth: 1")
	case s.Depth > 1 && s.Sync > 0:
		l.Addf("depth", "must be 1 for a stream with fdatasync")
	}
	if s.Sync < 0 || !s.Writes() && (s.Sync > 0 || s.SyncAtEnd) {
		l.Addf("fdatasync", "needs a stream that writes, and must not be negative")
	}
	return l
}

func (s *Stream) checkPhases() inputerror.List {
	var l inputerror.List
	switch {
	case s.On < 0 || s.Off < 0 || s.On.Std() > stageMax || s.Off.Std() > stageMax:
		l.Addf("on", "on and off out of range: want 0s to %v", stageMax)
	case (s.On == 0) != (s.Off == 0):
		l.Addf("on", "on and off must both be set")
	case s.On == 0 && (s.Burst != 0 || s.SyncAtEnd):
		l.Addf("on", "burst and sync_at_end need on and off")
	}
	if s.Burst < 0 {
		l.Addf("burst", "%s: must not be negative", s.Burst.Exact())
	}
	return l
}

// Need returns the space required by the profile's files.
func (p *Profile) Need() units.Size {
	var sum units.Size
	for i := range p.Streams {
		sum += p.Streams[i].File
	}
	return sum
}

// String describes a stream in one line.
func (s *Stream) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s", s.Kind, s.Size.Exact())
	if s.Rate > 0 {
		fmt.Fprintf(&b, ", %s", s.Rate.String())
		if s.Poisson {
			b.WriteString(" (poisson)")
		}
	}

	fmt.Fprintf(&b, ", %d in flight", s.Depth)
	if s.Direct {
		b.WriteString(", direct")
	} else {
		b.WriteString(", buffered")
	}

	if s.Sync > 0 {
		fmt.Fprintf(&b, ", fdatasync every %d", s.Sync)
	}

	if s.On > 0 {
		fmt.Fprintf(&b, ", on %v off %v", s.On.Std(), s.Off.Std())
	}

	if s.Burst > 0 {
		fmt.Fprintf(&b, ", at most %s each time", s.Burst.Exact())
	}

	if s.SyncAtEnd {
		b.WriteString(", fdatasync at the end")
	}

	return b.String()
}
