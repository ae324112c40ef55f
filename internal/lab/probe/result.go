//go:build linux

package probe

import (
	"fmt"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// ResultVersion is the version of the JSON contract: fields are added, never changed.
const ResultVersion = 1

// A Result is the outcome of a probe.
type Result struct {
	Version  int           `json:"version"`
	Profile  string        `json:"profile"`
	About    string        `json:"about,omitempty"`
	Path     string        `json:"path"`
	Device   string        `json:"device"` // the kernel's name: "nvme1n1"; "" if unknown
	Started  time.Time     `json:"started"`
	Seconds  float64       `json:"seconds"`
	Seed     random.Seed   `json:"seed"`
	Measured string        `json:"measured"`
	Stages   []StageResult `json:"stages"`
	// Blame says which stream causes the measured stream's p99.
	Blame Blame `json:"blame"`
	// Criterion is null if the profile has none.
	Criterion *Verdict `json:"criterion"`
	Limits    Limits   `json:"limits"`
	Fitted    *Fitted  `json:"fitted,omitempty"`
}

// A StageResult is a stage: which streams ran together, and what they did.
type StageResult struct {
	Name    string         `json:"name"`
	Seconds float64        `json:"seconds"`
	Streams []StreamResult `json:"streams"` // the measured one first
	// While splits the measured stream's latency by whether each companion was on.
	While []WhileResult `json:"while,omitempty"`
}

// A StreamResult is what one stream did in a stage.
type StreamResult struct {
	Name string `json:"name"`
	Does string `json:"does"`
	// OnSeconds is how long the stream was on: rates refer to this time.
	OnSeconds      float64    `json:"on_seconds"`
	IOPS           float64    `json:"iops"`
	Bytes          units.Size `json:"bytes"`
	BytesPerSecond float64    `json:"bytes_per_second"`
	// Latency counts from when operations were due; missed ones count with the time they had
	// waited.
	Latency latency.Latency `json:"latency"`
	// Service counts from when operations were started, as in tools that have no due times (fio's
	// clat plus slat).
	Service   latency.Latency  `json:"service"`
	Fdatasync *latency.Latency `json:"fdatasync,omitempty"` // the calls alone
	Missed    int64            `json:"missed"`              // due, but not started in time
	Share     *Share           `json:"share,omitempty"`
}

// A Share divides a stream's time, as fractions of 1.
type Share struct {
	Waited float64 `json:"waited"`     // waiting for the stream's own earlier operations
	Moved  float64 `json:"read_write"` // in reads and writes
	Synced float64 `json:"fdatasync"`
}

// A WhileResult is the measured stream's latency while a companion was on, and while it was not.
type WhileResult struct {
	Companion string          `json:"companion"`
	On        latency.Latency `json:"on"`
	Off       latency.Latency `json:"off"`
}

// A Blame says what makes the measured stream slow.
type Blame struct {
	// Stream is the companion to blame, or the measured stream itself if the device is just as slow
	// without companions; "" if none is.
	Stream       string   `json:"stream"`
	AloneSeconds *float64 `json:"alone_p99_seconds"`
	WithSeconds  *float64 `json:"with_p99_seconds"` // while the companion to blame was on
	Text         string   `json:"text"`
}

// A Verdict is a criterion with the measured values of each stage.
type Verdict struct {
	Text   string         `json:"text"` // "p99 of fdatasync under 10 ms"
	Source string         `json:"source"`
	Met    bool           `json:"met"` // in every stage
	Stages []StageVerdict `json:"stages"`
}

// A StageVerdict is a criterion's result in one stage.
type StageVerdict struct {
	Stage   string   `json:"stage"`
	Seconds *float64 `json:"seconds"` // null: no operations, so not met
	Met     bool     `json:"met"`
}

// blameRatio is the factor by which a companion must increase the p99 to be blamed: two runs on
// rented disks differ by less.
const blameRatio = 2

// sampleLeast is the minimum number of operations for a p99 that is not simply the maximum.
const sampleLeast = 100

// judge draws the conclusions.
func (r *Result) judge(p *Profile) {
	if c := p.Criterion; c != nil {
		r.Criterion = r.verdict(c)
	}
	r.Blame = r.blame()
}

func (r *Result) verdict(c *Criterion) *Verdict {
	v := &Verdict{Text: fmt.Sprintf("%s of %s under %s", c.Quantile, c.Of, c.Under.String()),
		Source: c.Source, Met: true}
	for _, st := range r.Stages {
		l := &st.Streams[0].Latency
		if c.Of == "fdatasync" {
			l = st.Streams[0].Fdatasync
		}

		sv := StageVerdict{Stage: st.Name}
		if l != nil {
			sv.Seconds = quantile(l, c.Quantile)
		}

		// A criterion without any measured operation is not met.
		sv.Met = sv.Seconds != nil && *sv.Seconds < c.Under.Std().Seconds()
		v.Met = v.Met && sv.Met
		v.Stages = append(v.Stages, sv)
	}

	return v
}

func quantile(l *latency.Latency, name string) *float64 {
	switch name {
	case "mean":
		return l.MeanSeconds
	case "p50":
		return l.P50Seconds
	case "p95":
		return l.P95Seconds
	case "p99":
		return l.P99Seconds
	case "p999":
		return l.P999Seconds
	}
	return l.MaxSeconds
}

func (r *Result) blame() Blame {
	alone := r.Stages[0].Streams[0].Latency
	out := Blame{AloneSeconds: alone.P99Seconds}
	if alone.P99Seconds == nil {
		out.Text = r.Measured + " ran no operations, so nothing can be blamed"
		return out
	}

	few := ""
	if alone.Operations < sampleLeast {
		few = fmt.Sprintf("; based on only %d operations, so use a longer stage", alone.Operations)
	}

	// If the device is too slow even for the measured stream alone, no companion is to blame.
	if v := r.Criterion; v != nil && !v.Stages[0].Met {
		out.Stream = r.Measured
		out.Text = fmt.Sprintf("the device: even alone, %s has a p99 of %s and misses %s%s", r.Measured,
			units.Seconds(*alone.P99Seconds), v.Text, few)
		return out
	}

	if len(r.Stages) == 1 {
		out.Text = fmt.Sprintf("no companion: %s ran alone, with a p99 of %s%s", r.Measured,
			units.Seconds(*alone.P99Seconds), few)
		return out
	}

	worst, name := 0.0, ""
	for _, st := range r.Stages[1:] {
		if len(st.While) != 1 {
			continue // the stage with all companions does not single out one
		}
		if x := st.While[0].On.P99Seconds; x != nil && *x > worst {
			worst, name = *x, st.While[0].Companion
		}
	}

	if name == "" || worst < blameRatio**alone.P99Seconds {
		out.Text = fmt.Sprintf("no companion: the p99 of %s is %s alone, and at most %s with any companion%s",
			r.Measured,
			units.Seconds(*alone.P99Seconds), units.Seconds(worst), few)
		return out
	}

	// The companion with the longest p99 dominates: it is at least twice as long as alone.
	out.Stream, out.WithSeconds = name, &worst
	out.Text = fmt.Sprintf("%s: the p99 of %s is %s alone and %s while %s is on, %s times as long%s",
		name, r.Measured,
		units.Seconds(*alone.P99Seconds), units.Seconds(worst), name, units.Number(worst / *alone.P99Seconds), few)
	return out
}
