package fit_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine"
	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// A real capture gives a valid scenario, or an error with the reason.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		file  string
		cores float64 // 0: it is too short
	}{
		{"metrics.visualzhou-example", 8},
		{"v3.6.3/metrics.2019-05-03T10-37-35Z-00000", 4},
		{"v3.6.3/metrics.interim.0c2fdde", 4},
		{"v8.2.1/metrics.interim", 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join("..", "..", "..", "..", "shared", "data", "ftdc", c.file)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				t.Skipf("%s is not here", path)
			}

			src, err := ftdc.Open(path)
			if err != nil {
				t.Fatal(err)
			}

			mem := recording.NewMemory(recording.MemoryOptions{})
			if err := src.Read(context.Background(), mem, source.Options{Want: diagnose.Wants(testkit.Pack())}); err != nil {
				t.Fatal(err)
			}

			fitted, err := fit.Fit(context.Background(), []recording.Reader{mem}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits()})
			var short *fit.ShortError
			if c.cores == 0 {
				if !errors.As(err, &short) || short.Need.Seconds() != 120 {
					t.Fatalf("%v, want that two minutes are needed", err)
				}
				return
			}

			if err != nil {
				t.Fatal(err)
			}

			if _, err := language.Parse("fitted.yaml", fitted.YAML(), nil); err != nil {
				t.Fatalf("%v\n%s", err, fitted.YAML())
			}

			if v := fitted.Value("host.cores"); v == nil || *v.Number != c.cores || v.Known != fit.Measured {
				t.Errorf("cores: %+v, want %v", v, c.cores)
			}

			if v := fitted.Value("engine.mongodb.cache"); v == nil || v.Known != fit.Measured {
				t.Errorf("cache: %+v", v)
			}
		})
	}
}

// The scenario does not include commented-out values, and each value has its evidence.
func TestYAML(t *testing.T) {
	_, mem := run(t, trips[2].name, []byte(trips[2].yaml))
	fitted, err := fit.Fit(context.Background(), []recording.Reader{mem}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Name: `a "name": #1`})
	if err != nil {
		t.Fatal(err)
	}

	text := string(fitted.YAML())
	sc, err := language.Parse("fitted.yaml", fitted.YAML(), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	if value, err := fitted.Scenario(language); err != nil || said(t, value) != said(t, sc) {
		t.Errorf("as a value: %v\n%s\nas text:\n%s", err, said(t, value), said(t, sc))
	}

	if sc.Name != `a "name": #1` {
		t.Errorf("the name is %q", sc.Name)
	}

	for _, v := range fitted.Values {
		if v.Evidence == "" {
			t.Errorf("%s has no evidence", v.Key)
		}
		key := v.Key[strings.LastIndexByte(v.Key, '.')+1:]
		line := key + ": " + v.Text
		if v.Default {
			line = "# " + line
		}
		if v.Text != "" && !strings.Contains(text, "\n"+strings.Repeat("  ", strings.Count(v.Key, "."))+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

// retold wraps a recording whose sources report other facts.
type retold struct {
	*recording.Memory
	facts func(map[string]string)
}

func (r retold) Sources() []recording.Source {
	out := r.Memory.Sources()
	for i := range out {
		out[i].Facts = maps.Clone(out[i].Facts)
		r.facts(out[i].Facts)
	}
	return out
}

// Writeback throttling and the file system come from the host's facts or, without these, from the
// queue while the page cache saturates the device.
func TestBlockLayer(t *testing.T) {
	_, mem := run(t, trips[0].name, []byte(strings.Replace(trips[0].yaml, "queue_slots: 48", "queue_slots: 128", 1)))
	for _, x := range []struct {
		name  string
		facts func(map[string]string)
		key   string
		want  string
		known fit.Known
	}{
		{"reported", func(f map[string]string) { f["wbt_lat_usec.data"] = "75000" }, "host.wbt_lat_usec", "75000", fit.Measured},
		{"bfq", func(f map[string]string) { delete(f, "wbt_lat_usec.data"); f["scheduler.data"] = "bfq" }, "host.wbt_lat_usec", "0", fit.Inferred},
		{"a kernel without it", func(f map[string]string) { delete(f, "wbt_lat_usec.data"); f["nr_requests.data"] = "63" }, "host.wbt_lat_usec", "0", fit.Inferred},
		{"by its queue", func(f map[string]string) { clear(f) }, "host.wbt_lat_usec", "0", fit.Inferred},
		{"nr_requests", func(f map[string]string) { f["nr_requests.data"] = "63" }, "host.nr_requests", "63", fit.Measured},
		{"a mount", func(f map[string]string) { f["mount./db"] = "ext4 rw,noatime /dev/data" }, "host.filesystem", "ext4", fit.Measured},
		{"no mount", func(f map[string]string) { clear(f) }, "host.filesystem", "xfs", fit.Assumed},
	} {
		t.Run(x.name, func(t *testing.T) {
			fitted, err := fit.Fit(context.Background(), []recording.Reader{retold{mem, x.facts}}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: "mongodb"})
			if err != nil {
				t.Fatal(err)
			}
			if v := fitted.Value(x.key); v == nil || v.Text != x.want || v.Known != x.known {
				t.Errorf("%s: %+v, want %s, %s", x.key, v, x.want, x.known)
			}
			if _, err := language.Parse("fitted.yaml", fitted.YAML(), nil); err != nil {
				t.Errorf("%v\n%s", err, fitted.YAML())
			}
		})
	}
}

// renamed is a recording whose devices are all called dm-0.
type renamed struct{ retold }

func (r renamed) Samples(ctx context.Context, selector recording.Selector, from, to time.Time) ([]recording.Series, error) {
	out, err := r.retold.Samples(ctx, selector, from, to)
	for i := range out {
		if out[i].Labels.Get("device") != "" {
			out[i].Labels = labels.NewBuilder(out[i].Labels).Set("device", "dm-0").Labels()
		}
	}
	return out, err
}

func (r renamed) Walk(ctx context.Context, selector recording.Selector, from, to time.Time, visit recording.Visit) error {
	return r.retold.Walk(ctx, selector, from, to, func(l labels.Labels, points []promql.FPoint) error {
		if l.Get("device") != "" {
			l = labels.NewBuilder(l).Set("device", "dm-0").Labels()
		}
		return visit(l, points)
	})
}

// A device mapper's queue does not show the throttling below it.
func TestStackedDevices(t *testing.T) {
	_, mem := run(t, trips[0].name, []byte(trips[0].yaml))
	facts := func(f map[string]string) { clear(f); f["nr_requests.dm-0"] = "128" }
	fitted, err := fit.Fit(context.Background(), []recording.Reader{renamed{retold{mem, facts}}}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: "mongodb"})
	if err != nil {
		t.Fatal(err)
	}
	if v := fitted.Value("host.wbt_lat_usec"); v == nil || v.Known != fit.Assumed || !strings.Contains(v.Measure, "dm-0") {
		t.Errorf("%+v", v)
	}
	if v := fitted.Value("host.nr_requests"); v != nil {
		t.Errorf("%+v", v)
	}
}

// A device that the user names is used; an unknown one is an error.
func TestDevices(t *testing.T) {
	_, mem := run(t, trips[2].name, []byte(trips[2].yaml))
	in := []recording.Reader{mem}
	fitted, err := fit.Fit(context.Background(), in, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Devices: map[string]string{"wal": "m3/wal", "data": "m3/data"}})
	if err != nil {
		t.Fatal(err)
	}

	if v := fitted.Value("volumes.wal.type"); v == nil || !strings.Contains(v.Evidence, "m3/wal") {
		t.Errorf("the log's volume: %+v", v)
	}

	for _, devices := range []map[string]string{{"data": "sdz"}, {"journal": "m1/wal"}, {"wal": "m1/wal"}} {
		_, err := fit.Fit(context.Background(), in, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Devices: devices})
		var missing *fit.MissingError
		if !errors.As(err, &missing) || missing.Hint() == "" {
			t.Errorf("%v: %v, want the missing device and the existing ones", devices, err)
		}
	}
}

// Without something that a scenario needs, fit fails, and the error names where to get it.
func TestMissing(t *testing.T) {
	_, mem := run(t, trips[2].name, []byte(trips[2].yaml))
	for key, from := range map[string]string{
		"mongodb": "diagnostic.data", "postgres": "postgres_exporter", "iris": "api/monitor",
	} {
		_, err := fit.Fit(context.Background(), []recording.Reader{mem}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: key, Devices: map[string]string{"data": "m1/data"}})
		var missing *fit.MissingError
		if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), from) {
			t.Errorf("etcd's recording as %s: %v", key, err)
		}
	}

	fitted, err := fit.Fit(context.Background(), []recording.Reader{mem}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Engine: "streams", Devices: map[string]string{"data": "m2/wal"}})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := language.Parse("fitted.yaml", fitted.YAML(), nil); err != nil || len(fitted.Remarks) == 0 {
		t.Errorf("a device's I/O alone: %v, remarks %q\n%s", err, fitted.Remarks, fitted.YAML())
	}
}

// said returns a scenario's text without comments.
func said(t *testing.T, s *scenario.Scenario) string {
	t.Helper()
	if s == nil {
		return ""
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
