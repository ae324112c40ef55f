package fit_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// A mongod's counters show whether drivers retry writes and whether pages are compressed. If there are
// no such counters, or they show the defaults, the scenario omits both.
func TestServer(t *testing.T) {
	const sessions, pages, failed = "mongodb_ss_transactions_transactionsCollectionWriteCount",
		"mongodb_oplog_stats_wt_cache_pages_written_from_cache", "mongodb_oplog_stats_wt_compression_page_written_failed_to_compress"
	others := []string{"mongodb_oplog_stats_wt_compression_compressed_pages_written", "mongodb_oplog_stats_wt_compression_page_written_was_too_small_to_compress"}

	_, mem := run(t, trips[0].name, []byte(trips[0].yaml))
	for _, x := range []struct {
		name                  string
		perUpdate             map[string]float64 // of each counter
		retryable, compressor string             // as fitted; "": omitted
	}{
		{"no counters", nil, "", ""},
		{"defaults", map[string]float64{sessions: 1, pages: 0.1, failed: 0.1, others[0]: 0, others[1]: 0}, "", ""},
		{"neither", map[string]float64{sessions: 0, pages: 0.1, failed: 0, others[0]: 0, others[1]: 0}, "false", "false"},
	} {
		t.Run(x.name, func(t *testing.T) {
			more := recording.NewMemory(recording.MemoryOptions{})
			updates, err := mem.Samples(context.Background(), recording.MustSelector(`mongodb_ss_opcounters{legacy_op_type="update"}`), time.Unix(0, 0), time.Now().AddDate(100, 0, 0))
			if err != nil || len(updates) != 1 {
				t.Fatalf("%v, %d series", err, len(updates))
			}

			var b recording.Batch
			for _, p := range updates[0].Points {
				b.TimesMs = append(b.TimesMs, p.T)
			}

			for name, per := range x.perUpdate {
				c := recording.Column{Labels: labels.NewBuilder(updates[0].Labels).Set(labels.MetricName, name).Del("legacy_op_type").Labels()}
				for _, p := range updates[0].Points {
					c.Values = append(c.Values, per*p.F)
				}
				b.Columns = append(b.Columns, c)
			}

			if err := more.Append(context.Background(), &b); err != nil {
				t.Fatal(err)
			}

			fitted, err := fit.Fit(context.Background(), []recording.Reader{mem, more}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits()})
			if err != nil {
				t.Fatal(err)
			}

			for key, want := range map[string]string{"retryable_writes": x.retryable, "compressor": x.compressor} {
				got := ""
				if v := fitted.Value("engine.mongodb." + key); v != nil {
					got = v.Text
				}
				if got != want {
					t.Errorf("%s: %q, want %q", key, got, want)
				}
			}

			if _, err := language.Parse("fitted.yaml", fitted.YAML(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}
