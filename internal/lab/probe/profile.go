//go:build linux

package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/ioloop"
)

// A Profile says which streams a probe runs, which of them matters, and what is good enough.
type Profile struct {
	Name  string
	About string
	// Measured is the stream whose latency is reported and explained.
	Measured string
	// Stage is how long each stage measures.
	Stage units.Duration
	// Criterion is what the engine's own documentation requires; nil: nothing.
	Criterion *Criterion
	Streams   []Stream
}

// A Criterion is a bound on the measured stream.
type Criterion struct {
	// Of is what is bounded: "fdatasync", the call alone, or "latency", from when the operation was
	// due.
	Of string `yaml:"of"`
	// Quantile is mean, p50, p95, p99, p999 or max.
	Quantile string         `yaml:"quantile"`
	Under    units.Duration `yaml:"under"`
	Source   string         `yaml:"source"`
}

// A Kind is a shape of I/O.
type Kind string

// The kinds of streams.
const (
	Append      Kind = "append"       // sequential, starting again at the end of the file
	RandomWrite Kind = "random-write" // blocks anywhere in a file
	RandomRead  Kind = "random-read"  // blocks anywhere in a file
)

// A Stream is one thread of I/O on a file of its own.
type Stream struct {
	Name string     `yaml:"-"`
	Kind Kind       `yaml:"kind"`
	Size units.Size `yaml:"size"` // of one operation
	// Rate is how often an operation is due (an open loop); 0: as soon as the previous one is done.
	Rate units.Frequency `yaml:"rate"`
	// Poisson says that due times are random with that mean rate, like those of many users;
	// otherwise they are evenly spaced.
	Poisson bool `yaml:"-"`
	// Depth is the most operations in flight. More than 1 needs Direct.
	Depth int `yaml:"-"`
	// Direct bypasses the page cache.
	Direct bool `yaml:"direct"`
	// Sync is the number of writes after which an fdatasync follows; 0: never.
	Sync int `yaml:"fdatasync"`
	// SyncAtEnd ends each on-time of the stream with an fdatasync, which counts as part of it.
	SyncAtEnd bool `yaml:"sync_at_end"`
	// File is the size of its file.
	File units.Size `yaml:"file"`
	// Prewritten says that the file's blocks are written beforehand, so that a write changes no
	// metadata. Files that are read always are.
	Prewritten bool `yaml:"-"`
	// On and Off alternate, On after Off; both 0: always on.
	On  units.Duration `yaml:"on"`
	Off units.Duration `yaml:"off"`
	// Burst is how many bytes are written at most in one on-time; 0: any number.
	Burst units.Size `yaml:"burst"`
}

// Writes reports whether the stream writes.
func (s *Stream) Writes() bool { return s.Kind != RandomRead }

// Bounds of a profile: what one machine's threads, disks and patience can take.
const (
	streamsMax   = 16
	depthMax     = 1024
	operationMax = 16 * units.MiB
	fileMax      = units.TiB
	stageMax     = time.Hour
	rateMax      = 1_000_000
)

// The quantiles that a criterion may bound.
var quantiles = []string{"mean", "p50", "p95", "p99", "p999", "max"}

// stream returns a stream by its name, nil if there is none.
func (p *Profile) stream(name string) *Stream {
	for i := range p.Streams {
		if p.Streams[i].Name == name {
			return &p.Streams[i]
		}
	}
	return nil
}

// Check reports what is invalid. Fields are paths of the profile's text: "streams.wal.rate".
func (p *Profile) Check() diagnostics.List {
	var l diagnostics.List
	if len(p.Streams) == 0 {
		l.Addf("streams", "there is none: a probe needs something to do")
		return l
	}

	if len(p.Streams) > streamsMax {
		l.Addf("streams", "%d streams are more than %d", len(p.Streams), streamsMax)
	}

	if p.stream(p.Measured) == nil {
		l.Addf("measured", "no stream is called %q", p.Measured)
	}

	if d := p.Stage.Std(); d < 10*time.Millisecond || d > stageMax {
		l.Addf("stage", "%v is no length of a stage: 10ms to %v", d, stageMax)
	}

	if c := p.Criterion; c != nil {
		l = append(l, p.checkCriterion(c).Under("criterion")...)
	}

	for i := range p.Streams {
		l = append(l, p.Streams[i].check().Under("streams."+p.Streams[i].Name)...)
	}

	return l
}

func (p *Profile) checkCriterion(c *Criterion) diagnostics.List {
	var l diagnostics.List
	switch c.Of {
	case "latency":
	case "fdatasync":
		if s := p.stream(p.Measured); s != nil && s.Sync == 0 {
			l.Addf("of", "the measured stream makes no fdatasync")
		}
	default:
		l.Addf("of", "%q is neither latency nor fdatasync", c.Of)
	}

	if !slices.Contains(quantiles, c.Quantile) {
		l.Addf("quantile", "%q is none of %s", c.Quantile, strings.Join(quantiles, ", "))
	}

	if c.Under <= 0 {
		l.Addf("under", "a time over 0 is missing")
	}

	return l
}

func (s *Stream) check() diagnostics.List {
	var l diagnostics.List
	switch s.Kind {
	case Append, RandomWrite, RandomRead:
	default:
		l.Addf("kind", "%q is none of append, random-write, random-read", string(s.Kind))
	}

	if s.Size < 1 || s.Size > operationMax {
		l.Addf("size", "%s is no size of an operation: 1B to %s", s.Size.Exact(), operationMax.Exact())
	} else if s.Direct && s.Size%ioloop.Alignment != 0 {
		l.Addf("size", "%s past the page cache must be a multiple of %d bytes", s.Size.Exact(), ioloop.Alignment)
	}

	if s.File < max(s.Size, ioloop.Alignment) || s.File > fileMax {
		l.Addf("file", "%s is no size of a file: one operation to %s", s.File.Exact(), fileMax.Exact())
	}

	if s.Rate < 0 || s.Rate > rateMax {
		l.Addf("rate", "%g a second is out of 0 to %d", float64(s.Rate), rateMax)
	}

	if s.Poisson && s.Rate == 0 {
		l.Addf("arrivals", "only a stream with a rate has arrivals")
	}

	l = append(l, s.checkFlight()...)
	return append(l, s.checkPhases()...)
}

func (s *Stream) checkFlight() diagnostics.List {
	var l diagnostics.List
	switch {
	case s.Depth < 1 || s.Depth > depthMax:
		l.Addf("depth", "%d is out of 1 to %d", s.Depth, depthMax)
	case s.Depth > 1 && !s.Direct:
		l.Addf("depth", "the page cache takes one at a time: direct: true, or depth 1")
	case s.Depth > 1 && s.Sync > 0:
		l.Addf("depth", "a stream with fdatasync has one in flight")
	}
	if s.Sync < 0 || !s.Writes() && (s.Sync > 0 || s.SyncAtEnd) {
		l.Addf("fdatasync", "only writes are made durable, each 1 or more")
	}
	return l
}

func (s *Stream) checkPhases() diagnostics.List {
	var l diagnostics.List
	switch {
	case s.On < 0 || s.Off < 0 || s.On.Std() > stageMax || s.Off.Std() > stageMax:
		l.Addf("on", "on and off are 0s to %v", stageMax)
	case (s.On == 0) != (s.Off == 0):
		l.Addf("on", "on and off come together, both over 0")
	case s.On == 0 && (s.Burst != 0 || s.SyncAtEnd):
		l.Addf("on", "a burst, and an fdatasync at its end, need on and off")
	}
	if s.Burst < 0 {
		l.Addf("burst", "%s is less than nothing", s.Burst.Exact())
	}
	return l
}

// Need is how much space the profile's files take.
func (p *Profile) Need() units.Size {
	var sum units.Size
	for i := range p.Streams {
		sum += p.Streams[i].File
	}
	return sum
}

// String describes in one line what a stream does.
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
		fmt.Fprintf(&b, ", fdatasync each %d", s.Sync)
	}

	if s.On > 0 {
		fmt.Fprintf(&b, ", on %v off %v", s.On.Std(), s.Off.Std())
	}

	if s.Burst > 0 {
		fmt.Fprintf(&b, ", %s at most each time", s.Burst.Exact())
	}

	if s.SyncAtEnd {
		b.WriteString(", fdatasync at its end")
	}

	return b.String()
}
