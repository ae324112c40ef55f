//go:build linux

package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/engine/mongodb/names"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// statistics samples the counters of the engine and the worker, under mongodb_exporter's names for
// serverStatus.
type statistics struct {
	*source.Polled
	s *server
}

// Sources returns WiredTiger's statistics.
func (s *server) Sources() []source.Source {
	d := recording.Source{Kind: "lab", Name: "wiredtiger", Engine: "mongodb", Version: s.Describe()}
	return []source.Source{&statistics{Polled: source.NewPolled(d).Patient(), s: s}}
}

// Read implements source.Source. While the engine is down (a power loss) there are no samples,
// which is a gap.
func (s *statistics) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return s.Poll(ctx, w, opt, &batch{s: s.s, want: opt.Want})
}

// Sample implements source.Sampler. The sample's time is that of the engine's answer.
func (b *batch) Sample(ctx context.Context, _ time.Time) ([]recording.Batch, error) {
	if err := b.sample(ctx, b.s); err != nil {
		return nil, err
	}
	return []recording.Batch{b.Batch}, nil
}

// AddFacts implements source.Sampler.
func (b *batch) AddFacts(d *recording.Source) { d.Version = b.s.Describe() }

// errBad reports an invalid answer.
var errBad = errors.New("WiredTiger's statistics cannot be read")

// A batch is one sample.
type batch struct {
	recording.Batch
	s    *server
	want func(string) bool
	seen map[labels.Labels]bool
}

// sample reads the engine's counters.
func (b *batch) sample(ctx context.Context, s *server) error {
	w := s.current()
	if w == nil {
		return errKilled
	}

	body, err := w.call(ctx, kindStatistics, nil)
	if err != nil {
		return err
	}

	at, lines, err := parseTime(body)
	if err != nil {
		return fmt.Errorf("%w: %w", errBad, err)
	}

	b.TimesMs, b.Columns, b.seen = []int64{at.UnixMilli()}, b.Columns[:0], map[labels.Labels]bool{}
	for op, name := range []string{"reads", "writes"} {
		b.put("mongodb_ss_opLatencies_latency", float64(s.latency[op].Load()/1000), "op_type", name)
		b.put("mongodb_ss_opLatencies_ops", float64(s.ops[op].Load()), "op_type", name)
	}

	// The engine counts no operations by kind; the worker's clients do.
	inserts, writes := s.inserts.Load(), s.ops[1].Load()
	b.put("mongodb_ss_opcounters", float64(inserts), "legacy_op_type", "insert")
	b.put("mongodb_ss_opcounters", float64(max(writes-inserts, 0)), "legacy_op_type", "update")
	b.put("mongodb_ss_opcounters", float64(s.ops[0].Load()), "legacy_op_type", "query")

	if err := parseStatistics(lines, b.statistic); err != nil {
		return fmt.Errorf("%w: %w", errBad, err)
	}

	return nil
}

// statistic adds one of the engine's statistics.
func (b *batch) statistic(s statistic) {
	if s.section == "plimsoll" {
		b.tickets(s)
		return
	}
	if l, ok := names.Metric([]string{"serverStatus", "wiredTiger", s.section, s.name}); ok {
		b.column(l, float64(s.value))
	}
}

// tickets adds the worker's own count of transactions in progress.
func (b *batch) tickets(s statistic) {
	kind, ok := strings.CutSuffix(s.name, "s out")
	if !ok || kind != "read" && kind != "write" {
		return
	}
	const prefix = "mongodb_ss_wt_concurrentTransactions_"
	b.put(prefix+"out", float64(s.value), "txn_rw_type", kind)
	b.put(prefix+"available", float64(max(tickets-s.value, 0)), "txn_rw_type", kind)
	b.put(prefix+"totalTickets", tickets, "txn_rw_type", kind)
}

func (b *batch) put(name string, value float64, label ...string) {
	b.column(labels.FromStrings(append([]string{labels.MetricName, name}, label...)...), value)
}

// column adds a sample if it is wanted. If two statistics have the same name, only the first counts.
func (b *batch) column(l labels.Labels, value float64) {
	if (b.want == nil || b.want(l.Get(labels.MetricName))) && !b.seen[l] {
		b.seen[l] = true
		b.Columns = append(b.Columns, recording.Column{Labels: l, Values: []float64{value}})
	}
}
