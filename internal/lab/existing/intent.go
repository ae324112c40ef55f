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

// NamePrefix begins the name of everything that a run creates on a server. This allows a role to be
// limited to such names, and makes them recognizable.
const NamePrefix = "plimsoll_lab_"

// nameBytesMax is the smallest limit of any engine for a name: PostgreSQL's NAMEDATALEN minus one.
const nameBytesMax = 63

var names = regexp.MustCompile(`^` + NamePrefix + `[a-z0-9_]{1,50}$`)

// NewName returns a unique name with 50 random bits. They come from the kernel instead of the
// scenario's seed, because two runs with the same seed on one server need two databases.
func NewName() string { return NamePrefix + strings.ToLower(rand.Text()[:10]) }

// CheckName reports what is wrong with a name given by the user. The run removes whatever has this
// name, so it must be recognizable as ours.
func CheckName(name string) error {
	if !names.MatchString(name) || len(name) > nameBytesMax {
		return fmt.Errorf("%q is not a valid name: want %s, then up to %d of a-z, 0-9 and _", name, NamePrefix,
			nameBytesMax-len(NamePrefix))
	}
	return nil
}

// An Intent describes what a run is going to do to a server.
type Intent struct {
	Address *Address
	Name    string // name of the database, or the key prefix
	Loaded  int64  // documents loaded before the workload starts
	Bytes   units.Size
	Writes  int64 // expected during the workload; -1: unknown, for a closed loop
	Written units.Size
	Within  time.Duration
	Keep    bool
	// Inspection is what was found on the server; nil if it has not been inspected.
	Inspection *Inspection
}

// IntentOf computes what a scenario does to a server.
func IntentOf(a *Address, name string, sc *scenario.Scenario, seen *Inspection) *Intent {
	w := sc.Workloads()
	in := &Intent{Address: a, Name: name, Inspection: seen, Loaded: int64(w.Documents()), Within: span(sc)}
	if loaded := sc.Engine.Loaded; loaded != nil {
		in.Loaded = max(in.Loaded, loaded(sc.Engine.Config))
	}
	size := w.DocumentSize()
	in.Bytes = units.Size(float64(in.Loaded) * float64(size))
	in.Writes, in.Written = writes(sc)
	return in
}

// writes returns how many writes the workload sends, and their total document size.
func writes(sc *scenario.Scenario) (n int64, bytes units.Size) {
	w := sc.Workloads()

	// Clients of a closed loop send as fast as the server answers, so the number is unknown.
	if w.IsClosed() && w.Rate() == 0 {
		return -1, 0
	}

	n = int64(float64(w.Rate()) * span(sc).Seconds() * float64(w.Writes()))
	if w.IsClosed() {
		return n, units.Size(float64(n) * float64(w.DocumentSize()))
	}

	// Use the mean over the first operations, because sizes have a distribution and a push carries
	// only one entry.
	src, op := w.Open(sc.Seed), workload.Op{}
	end := vtime.At(span(sc))

	var count, sum float64
	for count < 10_000 && src.Next(&op) && op.At < end {
		if op.Kind.Writes() {
			count++
			sum += float64(op.Size)
		}
	}

	if count < 10_000 { // the workload has no more
		return int64(count), units.Size(sum)
	}

	return n, units.Size(sum / count * float64(n))
}

func span(sc *scenario.Scenario) time.Duration { return (sc.Run.Warmup + sc.Run.Duration).Std() }

// Expected is the total size of the documents that the run writes, including loading.
func (in *Intent) Expected() units.Size { return in.Bytes + in.Written }

// What returns the kind and name of what is created: "database plimsoll_lab_x".
func (in *Intent) What() string {
	return in.Address.Kind().made(in.Name)
}

// Plan describes what is going to happen, in a form that begins a sentence.
func (in *Intent) Plan() string {
	var b strings.Builder
	fmt.Fprintf(&b, "creates %s on %s", in.What(), in.Address)
	if in.Inspection != nil && in.Inspection.Server != "" {
		fmt.Fprintf(&b, " (%s)", in.Inspection.Server)
	}

	if in.Writes < 0 {
		fmt.Fprintf(&b, ", writes %d documents (%v), then as many as its clients can send for %v", in.Loaded,
			in.Bytes, in.Within)
	} else {
		fmt.Fprintf(&b, ", writes about %d documents (%v) within %v", in.Loaded+in.Writes, in.Expected(), in.Within)
		if in.Loaded > 0 {
			fmt.Fprintf(&b, ", %d of them beforehand", in.Loaded)
		}
	}

	if in.Keep {
		b.WriteString(", and keeps it")
	} else {
		b.WriteString(", and removes it at the end")
	}

	return b.String()
}
