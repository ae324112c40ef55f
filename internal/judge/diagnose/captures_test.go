package diagnose_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// Every signal of MongoDB is in some real capture, and captures of 8.0 have all of them: a rule whose
// metric no mongod has would silently never be measurable. Signals that a version lacks are listed.
func TestSignalsOfCaptures(t *testing.T) {
	replication := []string{"mongodb_members:count", "mongodb_member_lag:seconds", "mongodb_member_state:state", "mongodb_own_lag:seconds", "mongodb_own_state:state", "mongodb_oplog_pages:rate", "mongodb_oplog_compressor:rate"} // no replica set
	for _, c := range []struct {
		file  string
		lacks []string
	}{
		{"metrics.visualzhou-example", nil},
		{"v8.2.1/metrics.interim", append([]string{"wt_forced_eviction:ratio"}, replication...)},
		{"v3.6.3/metrics.2019-05-03T10-37-35Z-00000", append([]string{
			"mongodb_ticket_wait:ratio", "mongodb_ticket_work:ratio", "mongodb_read_ticket_wait:ratio", "mongodb_read_ticket_work:ratio",
			"mongodb_collection_scans:rate", "mongodb_open_transactions:count", "mongodb_inactive_transactions:count", "mongodb_prepared_transactions:count",
			"mongodb_index_builds:count", "wt_history_size:bytes", "wt_pinned_by_reader:seconds",
			"wt_forced_eviction:ratio", "wt_forced_pages:rate",
			"mongodb_flow_control_wait:ratio", "mongodb_flow_control_lagged:bool", "wt_updates:ratio", "wt_updates:bytes",
			"mount_size:bytes", "wt_checkpoint_handles:count", "mount_available:bytes"}, replication...)},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join("..", "..", "..", "..", "shared", "data", "ftdc", c.file)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				t.Skipf("%s is not here", path)
			}

			have := metricsOfCapture(t, path)
			var lacks []string
			for _, s := range testkit.Pack().Signals() {
				name := strings.TrimPrefix(s.Name, rules.SignalPrefix)
				if strings.HasPrefix(name, "mongodb_logged_") {
					continue // of mongod's log
				}
				if fromMongoDB(t, s) && !reported(t, s, have) {
					lacks = append(lacks, name)
				}
			}

			slices.Sort(lacks)
			want := slices.Sorted(slices.Values(c.lacks))
			if d := cmp.Diff(want, lacks); d != "" {
				t.Errorf("signals the capture lacks (-want +got):\n%s", d)
			}
		})
	}
}

func metricsOfCapture(t *testing.T, path string) map[string]bool {
	t.Helper()
	src, err := ftdc.Open(path)
	if err != nil {
		t.Fatal(err)
	}

	mem := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(context.Background(), mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
		t.Fatal(err)
	}

	metrics, err := mem.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}

	have := map[string]bool{}
	for _, m := range metrics {
		have[m.Name] = true
	}

	return have
}

// fromMongoDB reports whether a signal is read from MongoDB's own metrics first.
func fromMongoDB(t *testing.T, s *rules.Signal) bool {
	e, err := rules.Parse(s.Exprs[0])
	if err != nil {
		t.Fatal(err)
	}
	names := rules.Names(e)
	return len(names) > 0 && strings.HasPrefix(names[0], "mongodb_")
}

// reported reports whether all metrics of one of a signal's alternatives are there.
func reported(t *testing.T, s *rules.Signal, have map[string]bool) bool {
	return slices.ContainsFunc(s.Exprs, func(x string) bool {
		e, err := rules.Parse(x)
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(rules.Names(e), func(n string) bool { return !have[n] })
	})
}
