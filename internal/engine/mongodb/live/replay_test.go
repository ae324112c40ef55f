package live

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/engine/mongodb/mongotest"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// capture replays a real mongod's diagnostic.data, if it exists next to the checkout.
func capture(t testing.TB, name string, samples int) *mongotest.Replay {
	t.Helper()
	r, err := mongotest.Load(filepath.Join("../../../../../shared/data/ftdc", name), samples)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no captures of a real mongod next to the checkout:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const busy = "metrics.visualzhou-example" // 600 s of MongoDB 8.0 at maximum write load

// open opens an address on the test's network.
func open(t *testing.T, w *mongotest.Wire, text string) source.Source {
	t.Helper()
	src, err := Open(t.Context(), text, Options{dialer: w, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// The diagnosis of a running server equals that of its diagnostic.data: the same findings with the
// same numbers.
func TestSameAsCapture(t *testing.T) {
	const samples = 300
	r := capture(t, busy, samples)
	file := filepath.Join("../../../../../shared/data/ftdc", busy)

	src, err := ftdc.Open(file)
	if err != nil {
		t.Fatal(err)
	}

	stored := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(t.Context(), stored, source.Options{Want: diagnose.Wants(pack), To: r.Times[samples-1]}); err != nil {
		t.Fatal(err)
	}

	live := recording.NewMemory(recording.MemoryOptions{})
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Times[0]))
		var w mongotest.Wire
		defer w.Start("db:27017", &mongotest.Server{Version: "8.0.0", Reply: r.Answer(time.Now)})()
		src := open(t, &w, "mongodb://db:27017")
		// The additional commands are timestamped half a second later, and the recording would end there.
		wants := diagnose.Wants(pack)
		want := func(metric string) bool { return metric != latencyMetric && wants(metric) }
		if err := src.Read(t.Context(), live, source.Options{Want: want, For: samples * time.Second}); err != nil {
			t.Fatal(err)
		}
	})

	for _, n := range live.Notes() {
		t.Error(n)
	}

	want, got := verdict(t, stored), verdict(t, live)
	if len(want.Findings) == 0 {
		t.Fatal("the capture has no findings")
	}

	sameRemedy := cmp.Comparer(func(a, b *rules.Remedy) bool { return a == b }) // they contain functions
	if d := cmp.Diff(want.Findings, got.Findings, sameRemedy); d != "" {
		t.Errorf("findings, stored (-) and live (+):\n%s", d)
	}

	if d := cmp.Diff(want.Account, got.Account); d != "" {
		t.Errorf("where the time went, stored (-) and live (+):\n%s", d)
	}

	if d := live.Sources()[0]; d.Kind != "mongodb" || d.Samples < samples-1 || !strings.HasPrefix(d.Version, "8.0") || d.Facts["cores"] != "4" {
		t.Errorf("described as %+v", d)
	}
}

func verdict(t *testing.T, r recording.Reader) *diagnose.Report {
	t.Helper()
	rep, err := diagnose.Run(t.Context(), []recording.Reader{r}, diagnose.Options{Pack: pack})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}
