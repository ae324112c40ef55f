package existing

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

// NamePrefix is what everything that a run makes on a server is called by, so that a role can be
// given rights to nothing else, and a person sees what it is.
const NamePrefix = "plimsoll_lab_"

// nameBytesMax is the least bound of a name that the engines have: PostgreSQL's NAMEDATALEN less
// one.
const nameBytesMax = 63

var names = regexp.MustCompile(`^` + NamePrefix + `[a-z0-9_]{1,50}$`)

// NewName gives a name that nothing has: 50 bits of chance, which is the kernel's and not the
// scenario's, since two runs of one seed on one server are two.
func NewName() string { return NamePrefix + strings.ToLower(rand.Text()[:10]) }

// CheckName tells what is wrong with a name that a person gave: what is removed at the end is
// called so, and has to be ours.
func CheckName(name string) error {
	if !names.MatchString(name) || len(name) > nameBytesMax {
		return fmt.Errorf("%q is not a valid name: want %s, then up to %d of a-z, 0-9 and _", name, NamePrefix, nameBytesMax-len(NamePrefix))
	}
	return nil
}

// An Intent is what a run is going to do to a server.
type Intent struct {
	Address *Address
	Name    string // of the database or prefix
	Loaded  int64  // documents before it asks
	Bytes   units.Size
	Writes  int64 // expected while it asks; -1: of a closed loop nobody knows
	Written units.Size
	Within  time.Duration
	Keep    bool
	// Inspection is what was seen there, nil if nobody has looked.
	Inspection *Inspection
}

// A loader is a [scenario.Config] that says itself how many rows there are before the first
// operation.
type loader interface{ Loaded() int64 }

// IntentOf computes what a scenario does to a server.
func IntentOf(a *Address, name string, sc *scenario.Scenario, seen *Inspection) *Intent {
	w := sc.Workloads()
	in := &Intent{Address: a, Name: name, Inspection: seen, Loaded: int64(w.Documents()), Within: span(sc)}
	if l, ok := sc.Engine.Config.(loader); ok {
		in.Loaded = max(in.Loaded, l.Loaded())
	}
	size := w.DocumentSize()
	in.Bytes = units.Size(float64(in.Loaded) * float64(size))
	in.Writes, in.Written = writes(sc)
	return in
}

// writes are how many writes are asked for, and what documents they carry.
func writes(sc *scenario.Scenario) (n int64, bytes units.Size) {
	w := sc.Workloads()
	if w.IsClosed() && w.Rate() == 0 {
		return -1, 0
	}
	n = int64(float64(w.Rate()) * span(sc).Seconds() * float64(w.Writes()))
	if w.IsClosed() {
		return n, units.Size(float64(n) * float64(w.DocumentSize()))
	}
	// The mean over the first of them: sizes have a distribution, and a push carries an entry only.
	src, op := w.Open(sc.Seed), workload.Op{}
	end := vtime.At(span(sc))
	var count, sum float64
	for count < 10_000 && src.Next(&op) && op.At < end {
		if op.Kind.Writes() {
			count++
			sum += float64(op.Size)
		}
	}
	if count < 10_000 { // then these are all
		return int64(count), units.Size(sum)
	}
	return n, units.Size(sum / count * float64(n))
}

func span(sc *scenario.Scenario) time.Duration { return (sc.Run.Warmup + sc.Run.Duration).Std() }

// Expected is what the run puts into documents, loading and asking.
func (in *Intent) Expected() units.Size { return in.Bytes + in.Written }

// What says what is made: "database plimsoll_lab_x".
func (in *Intent) What() string {
	return in.Address.Kind().made(in.Name)
}

// Plan is what is going to happen, in a sentence without its end.
func (in *Intent) Plan() string {
	var b strings.Builder
	fmt.Fprintf(&b, "creates %s on %s", in.What(), in.Address)
	if in.Inspection != nil && in.Inspection.Server != "" {
		fmt.Fprintf(&b, " (%s)", in.Inspection.Server)
	}
	if in.Writes < 0 {
		fmt.Fprintf(&b, ", writes %d documents (%v), then for %v as many as its clients can send", in.Loaded, in.Bytes, in.Within)
	} else {
		fmt.Fprintf(&b, ", writes about %d documents (%v) within %v", in.Loaded+in.Writes, in.Expected(), in.Within)
		if in.Loaded > 0 {
			fmt.Fprintf(&b, " and %d of them before that", in.Loaded)
		}
	}
	if in.Keep {
		b.WriteString(", and keeps it")
	} else {
		b.WriteString(", and removes it at the end")
	}
	return b.String()
}
