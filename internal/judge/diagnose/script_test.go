package diagnose_test

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// underRace reports that the race detector is on.
var underRace bool

// firstLoads returns the load lines of the first case of a rule's script. Package ruletest runs the
// scripts.
func firstLoads(t *testing.T, rule string) string {
	t.Helper()
	f, err := testkit.Pack().Script(rule)
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}

	_, loads, found := strings.Cut(string(text), "\nload ")
	loads, _, ended := strings.Cut(loads, "\neval ")
	if !found || !ended {
		t.Fatalf("the script of %s does not begin with a load and an eval", rule)
	}

	return "load " + loads + "\n"
}

// fromScript makes a recording of a promqltest script's load lines.
func fromScript(t *testing.T, loads string) *recording.Memory {
	t.Helper()
	st := promqltest.LoadedStorage(t, loads)
	defer st.Close()

	q, err := st.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}

	defer q.Close()
	mem := recording.NewMemory(recording.MemoryOptions{})

	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+"))
	for set.Next() {
		s := set.At()
		b := recording.Batch{Columns: []recording.Column{{Labels: s.Labels()}}}

		it := s.Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			ts, v := it.At()
			b.TimesMs = append(b.TimesMs, ts)
			b.Columns[0].Values = append(b.Columns[0].Values, v)
		}

		if len(b.TimesMs) > 0 {
			if err := mem.Append(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
		}
	}

	if err := set.Err(); err != nil {
		t.Fatal(err)
	}

	return mem
}
