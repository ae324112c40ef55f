//go:build linux

package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	model "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func TestExported(t *testing.T) {
	for own, want := range map[string]string{
		"cache: bytes currently in the cache":                             "mongodb_ss_wt_cache_bytes_currently_in_the_cache",
		"transaction: transaction checkpoint most recent time (msecs)":    "mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs",
		"checkpoint: most recent time (msecs)":                            "mongodb_ss_wt_checkpoint_most_recent_time_msecs",
		"log: log sync_dir time duration (usecs)":                         "mongodb_ss_wt_log_log_sync_dir_time_duration_usecs",
		"connection: total fsync I/Os":                                    "mongodb_ss_wt_connection_total_fsync_I_Os",
		"block-manager: bytes written":                                    "mongodb_ss_wt_block_manager_bytes_written",
		"perf: operation write latency histogram (bucket 5) - 10000us+":   "mongodb_ss_wt_perf",
		"thread-yield: application thread time waiting for cache (usecs)": "mongodb_ss_wt_thread_yield_application_thread_time_waiting_for_cache_usecs",
	} {
		section, name, _ := strings.Cut(own, ": ")
		b := batch{seen: map[labels.Labels]bool{}}
		b.statistic(statistic{section: section, name: name})
		got := b.Columns[0].Labels
		if got.Get(labels.MetricName) != want {
			t.Errorf("%s: %s, not %s", own, got, want)
		}
		if section == "perf" && got.Get("perf_bucket") != name {
			t.Errorf("%s: %s", own, got)
		}
	}
}

// gathered is a recording.Writer that keeps everything.
type gathered struct {
	mu      sync.Mutex
	samples []map[string]float64 // by labels
	times   []int64
	source  recording.Source
	more    chan struct{}
}

func (g *gathered) Append(_ context.Context, b *recording.Batch) error {
	one := map[string]float64{}
	for _, c := range b.Columns {
		if _, twice := one[c.Labels.String()]; twice {
			return errors.New("twice: " + c.Labels.String())
		}
		one[c.Labels.String()] = c.Values[0]
	}
	g.mu.Lock()
	g.samples, g.times = append(g.samples, one), append(g.times, b.TimesMs[0])
	g.mu.Unlock()
	g.more <- struct{}{}
	return nil
}
func (g *gathered) Note(recording.Note)       {}
func (g *gathered) Source(s recording.Source) { g.source = s }

// wait waits for n more samples and returns the last.
func (g *gathered) wait(t *testing.T, n int) map[string]float64 {
	t.Helper()
	for range n {
		select {
		case <-g.more:
		case <-time.After(patience):
			t.Fatal("no samples arrive")
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.samples[len(g.samples)-1]
}

// absent are metrics that the model has but this version of the engine does not.
var absent = map[int][]string{
	3: {"mongodb_ss_wt_cache_bytes_allocated_for_updates"}, // introduced in MongoDB 4.4
}

// The real engine has all metrics of the model under the same names, and more.
func TestSources(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s")), options{})
	g := &gathered{more: make(chan struct{}, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	src := s.Sources()[0]
	go func() { ended <- src.Read(ctx, g, source.Options{Period: 50 * time.Millisecond}) }()

	before := g.wait(t, 1)
	for _, m := range (&model.Engine{}).Metrics() {
		l := labels.FromStrings(append([]string{labels.MetricName, m.Name}, m.Labels...)...).String()
		if _, ok := before[l]; !ok && !slices.Contains(absent[majorOf(s.version)], m.Name) {
			t.Errorf("the model has %s, but the engine does not", l)
		}
	}

	const writes = 50
	for i := range uint64(writes) {
		write(t, s, workload.Update, i, 1, 4000, 4000)
		op := lab.Op{Op: workload.Op{Kind: workload.Read, Key: i}}
		if err := s.Do(t.Context(), 1, &op); err != nil {
			t.Fatal(err)
		}
	}

	checkpoint(t, s)
	for len(g.more) > 0 { // samples taken meanwhile
		<-g.more
	}

	after := g.wait(t, 3)
	rose := func(name string) float64 { return after[name] - before[name] }
	for name, least := range map[string]float64{
		`{__name__="mongodb_ss_opLatencies_ops", op_type="writes"}`:     writes,
		`{__name__="mongodb_ss_opLatencies_ops", op_type="reads"}`:      writes,
		`{__name__="mongodb_ss_opLatencies_latency", op_type="writes"}`: writes,
		`{__name__="mongodb_ss_wt_log_log_sync_operations"}`:            writes,
		// Journaled once, for the oplog.
		`{__name__="mongodb_ss_wt_log_log_bytes_of_payload_data"}`: writes * 4000,
		`{__name__="mongodb_ss_wt_block_manager_bytes_written"}`:   writes * 4000,
	} {
		if rose(name) < least {
			t.Errorf("%s rose by %v, not by %v", name, rose(name), least)
		}
	}

	if n := rose(`{__name__="mongodb_ss_wt_log_log_bytes_of_payload_data"}`); n > 1.5*writes*4000 {
		t.Errorf("%v bytes were journaled, so documents are included", n)
	}

	if n := after[`{__name__="mongodb_ss_wt_concurrentTransactions_available", txn_rw_type="write"}`]; n != tickets {
		t.Errorf("%v tickets are available without operations", n)
	}

	// Without an engine there are no samples; after the restart they resume.
	restart(t, s)
	g.wait(t, 5)
	cancel()

	if err := <-ended; err != nil {
		t.Error(err)
	}

	if d := src.Describe(); g.source.Engine != "mongodb" || d.Samples < 9 || d.From.IsZero() || !src.Live() {
		t.Errorf("%+v", d)
	}

	if !slices.IsSorted(g.times) {
		t.Error("times are not in order")
	}
}

// Only wanted metrics are sampled.
func TestWanted(t *testing.T) {
	s := started(t, machine(t, yaml(updates, "checkpoint: 60s")), options{})
	g := &gathered{more: make(chan struct{}, 10)}
	want := func(name string) bool { return name == "mongodb_ss_wt_block_manager_bytes_written" }
	if err := s.Sources()[0].Read(t.Context(), g, source.Options{Period: time.Millisecond, For: time.Nanosecond, Want: want}); err != nil {
		t.Fatal(err)
	}
	if len(g.samples) != 1 || len(g.samples[0]) != 1 {
		t.Errorf("%v", g.samples)
	}
}
