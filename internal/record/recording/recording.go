// Package recording stores the time series of one run (of production, a simulation or the lab)
// under the names that the exporters of the ecosystem use.
//
// A producer (a source, the simulator, the lab) appends batches of samples to a [Writer]. A
// consumer (diagnose, fit, prove) queries a [Reader] in PromQL. There are three kinds of Reader
// with the same results: a folder on disk (an embedded Prometheus TSDB, see [Create] and [Open]), a
// store in memory ([NewMemory], for a capture that is read once and diagnosed), and a
// Prometheus-compatible server over HTTP ([Remote]).
//
// Data that a source does not contain is absent. It is never written as zero: a zero is a
// measurement. If a source paused, the series have a gap; if bytes were damaged, a [Note] says
// where, and how much was lost.
package recording

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// A Column is the samples of one series in a [Batch].
type Column struct {
	// Labels identify the series; __name__ is the name that the ecosystem's exporter uses.
	Labels labels.Labels
	// Values are the samples, one for each time of the batch. A column of length one is constant
	// over the whole batch, so that a producer need not repeat unchanged values. A NaN is a missing
	// sample.
	Values []float64
}

// A Batch is a run of samples of many series that share their timestamps, such as one scrape or one
// FTDC chunk.
type Batch struct {
	// TimesMs are the sample times in milliseconds since the Unix epoch,
	// strictly ascending.
	TimesMs []int64
	// Columns are the series. Labels are distinct within a batch.
	Columns []Column
}

// Part returns the batch at the times with indexes in [from, to). It shares the memory of the batch.
func (b *Batch) Part(from, to int) Batch {
	out := Batch{TimesMs: b.TimesMs[from:to], Columns: make([]Column, len(b.Columns))}
	for i, c := range b.Columns {
		if len(c.Values) > 1 {
			c.Values = c.Values[from:to]
		}
		out.Columns[i] = c
	}
	return out
}

// TimeMaxMs is the last time that a recording accepts, in milliseconds since 1970: the end of the
// year 2199. The first is 1970. Samples at other times are dropped, counted and noted.
const TimeMaxMs = 7_258_118_399_999

// A Writer accepts batches. It is safe for concurrent use; batches of one series must arrive in
// order of time. When Append returns, the caller may reuse the batch and everything that it refers
// to, except labels, which are immutable.
type Writer interface {
	// Append adds a batch. Samples that are not newer than the last one of their series are
	// dropped, counted, and reported as a Note by Close.
	Append(ctx context.Context, b *Batch) error
	// Note stores a note about the data: a gap, damage, a limit.
	Note(n Note)
	// Source describes where samples come from. It is called once this is known, before or after
	// samples, and again when more becomes known (the same Name replaces the description).
	Source(s Source)
}

// A Source describes where the samples of a recording came from.
type Source struct {
	// Kind is the recognised format: "ftdc", "iostat", "openmetrics",
	// "metrics-url", "host", "fio", "prometheus".
	Kind string `json:"kind"`
	// Name is the user's argument: a path or a URL, without credentials.
	Name string `json:"name"`
	// Engine is the database, if known: "mongodb", "etcd", "postgres", "iris".
	Engine string `json:"engine,omitempty"`
	// Version is the database's or the tool's version, if known.
	Version string `json:"version,omitempty"`
	// Host is the host's name, if known.
	Host string `json:"host,omitempty"`
	// From and To are the times of the first and the last sample.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Period is the median interval between samples, 0 if unknown.
	Period time.Duration `json:"period_ns"`
	// Samples is the number of sample times (not values) of the source.
	Samples int64 `json:"samples"`
	// Facts are further facts about the source, by name, for display and for rules: "os", "cores",
	// "memory_bytes", "storage_engine".
	Facts map[string]string `json:"facts,omitempty"`
}

// FactAgain is the fact with the command-line argument that samples a live source again, if the
// source's name is not enough: an address with the user but without secrets.
const FactAgain = "source.argument"

// NoteKind is the subject of a [Note].
type NoteKind string

// The kinds of notes.
const (
	NoteGap     NoteKind = "gap"     // no samples between From and To
	NoteDamage  NoteKind = "damage"  // unreadable bytes
	NoteClock   NoteKind = "clock"   // time went backwards, or samples came late
	NoteDropped NoteKind = "dropped" // dropped samples (out of order, beyond a limit)
	NoteLimit   NoteKind = "limit"   // the source lacks something; Text says what
)

// A Note describes a problem with the data, for the finding evidence/gap.
type Note struct {
	Kind   NoteKind `json:"kind"`
	Source string   `json:"source"`           // Source.Name
	File   string   `json:"file,omitempty"`   // the file concerned
	Offset int64    `json:"offset,omitempty"` // byte offset in that file
	// From and To bound the affected time, if known (zero otherwise).
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	Text string    `json:"text"` // one sentence: what, and what to do
	// Lost is the share of the source's samples that are missing because of it, or 0 if unknown.
	Lost float64 `json:"lost,omitempty"`
}

// Extend extends a time span to include another one. A zero from means that the span is empty.
func Extend(from, to *time.Time, first, last time.Time) {
	if from.IsZero() || first.Before(*from) {
		*from = first
	}
	if last.After(*to) {
		*to = last
	}
}

// A Metric is a metric name in a recording.
type Metric struct {
	Name string
	// Series is the number of its label sets.
	Series int
	// Period is the median interval between its samples, 0 if unknown.
	Period time.Duration
	// From and To are the times of its first and last sample.
	From, To time.Time
}

// A Series is one series in the result of a query.
type Series struct {
	Labels labels.Labels
	// Points are (T: milliseconds since the epoch, F: value), ascending.
	Points []promql.FPoint
}

// A Reader evaluates PromQL over a recording. It is safe for concurrent use.
type Reader interface {
	// Sources and Notes report where the samples came from and what is wrong with them.
	Sources() []Source
	Notes() []Note
	// Marks returns the marks in order of time, or nil if there are none.
	Marks() []Mark
	// Metrics lists the metric names, sorted.
	Metrics(ctx context.Context) ([]Metric, error)
	// ListSeries returns the labels of all series of wanted metrics, in order of the labels. It reads
	// no samples.
	ListSeries(ctx context.Context, wants func(metric string) bool) ([]labels.Labels, error)
	// Samples returns the raw samples of the selected series, at their own times, from <= t <= to,
	// without lookback, interpolation or staleness handling. An analysis of intervals needs these,
	// because Range at a fixed step would alias them. (A server receives the range selector.)
	Samples(ctx context.Context, selector Selector, from, to time.Time) ([]Series, error)
	// Walk visits the samples that Samples would return, in bounded memory: series by series in the
	// order of the labels. A long series comes in several consecutive pieces, in order of time. visit
	// may change the points, which are valid until it returns.
	Walk(ctx context.Context, selector Selector, from, to time.Time, visit Visit) error
	// Range evaluates expr at from, from+step, ... to. It uses samples at most lookback before each
	// step (0 means the reader's default).
	Range(ctx context.Context, expr string, from, to time.Time, step, lookback time.Duration) ([]Series, error)
	Close() error
}
