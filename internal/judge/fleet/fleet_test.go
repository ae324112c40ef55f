package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// hour returns the scenarios' ten minutes, run once for all tests.
var hour = sync.OnceValue(func() [][]line { return simulated(panicking{}, 10*time.Minute) })

// panicking is a testing.TB for code that runs outside a test.
type panicking struct{ testing.TB }

func (panicking) Helper()           {}
func (panicking) Fatal(args ...any) { panic(args) }

// hourly is the time in which every kind of cluster has shown its behaviour.
const hourly = time.Hour

var begin = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

func dial(t testing.TB, url string, f *synthetic, opt recording.RemoteOptions) *recording.Server {
	t.Helper()
	opt.From, opt.To = f.from, f.from.Add(time.Duration(f.steps)*scrape)
	s, err := recording.Dial(t.Context(), url, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inMemory returns the fleet behind a server that answers from memory.
func (f *synthetic) inMemory(t testing.TB) *recording.Memory {
	mem := recording.NewMemory(recording.MemoryOptions{})
	for _, c := range f.names() {
		f.write(t, mem, c, 0, f.steps)
	}
	return mem
}

// equal compares a fleet's diagnosis with the embedded engine's for the same samples.
func equal(t testing.TB, f *synthetic, r *fleet.Report) {
	t.Helper()
	if r.Read != len(f.clusters) || r.Samples != f.samples() {
		t.Errorf("%d databases of %d samples were read, want %d of %d", r.Read, r.Samples, len(f.clusters), f.samples())
	}

	for _, d := range r.Databases {
		if d.Problem != "" {
			t.Errorf("%s: %s", d.Name, d.Problem)
			continue
		}

		want := f.embedded(t, d.Name)
		var short []fleet.Finding
		for _, x := range want.Findings {
			short = append(short, fleet.Finding{Rule: x.Rule, Kind: x.Kind, Severity: x.Severity, Subject: x.Subject, Weight: x.Weight, Summary: x.Summary})
		}

		if diff := cmp.Diff(short, d.Findings, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: findings differ from those of the embedded engine (-embedded +fleet)\n%s", d.Name, diff)
		}

		if want.Verdict != d.Verdict || want.Stalls.Seconds != d.StalledS || want.Stalls.Of != d.WatchedS {
			t.Errorf("%s: %q, %g s; the embedded engine says %q, %g s", d.Name, d.Verdict, d.StalledS, want.Verdict, want.Stalls.Seconds)
		}
	}
}

// underRace reports that the race detector is on.
var underRace bool

func TestFindingsAreThoseOfTheEmbeddedEngine(t *testing.T) {
	if underRace {
		t.Skip("an hour of many series; held without the race detector")
	}

	f := newSynthetic(hour(), 6, begin, time.Hour)
	url := serve(t, &answers{data: f.inMemory(t)})
	var last, of int

	r, err := fleet.Run(context.Background(), dial(t, url, f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack(), Parallel: 2,
		Progress: func(done, all int, _ int64) { last, of = max(last, done), all }})
	if err != nil {
		t.Fatal(err)
	}

	equal(t, f, r)
	if last != 6 || of != 6 {
		t.Errorf("progress ended at %d of %d", last, of)
	}

	if !r.Chosen || !slices.Equal(r.By, []string{"cluster"}) {
		t.Errorf("databases are identified by %v", r.By)
	}

	group := func(rule string) fleet.Group {
		i := slices.IndexFunc(r.Groups, func(g fleet.Group) bool { return g.Rule == rule && g.Kind == diagnose.Cause })
		if i < 0 {
			t.Fatalf("no group of %s: %+v", rule, r.Groups)
		}
		return r.Groups[i]
	}

	// The unmodified telemetry platform (every fourth cluster) stalls. With its journal on a separate
	// volume it does not.
	g := group("wiredtiger/checkpoint-stall")
	if slices.ContainsFunc(g.Names, func(n string) bool { return n != "prod-000" && n != "prod-004" }) || g.ExplainedS <= 0 || len(g.Fixes) == 0 {
		t.Errorf("checkpoints: %+v", g)
	}

	// A gp3 with 6,000 IOPS costs 0.005 USD x 3,000 more per month than one with 3,000.
	if g := group("disk/iops-capped"); !slices.Equal(g.Names, []string{"prod-003"}) || g.Price == nil || g.Price.MonthlyUSD != 15 || g.Price.Volumes != 1 {
		t.Errorf("the cap: %+v, price %+v", g, g.Price)
	}

	if r.Groups[0].Kind != diagnose.Cause || !strings.Contains(r.Verdict, "databases stalled") {
		t.Errorf("first is %s; verdict %q", r.Groups[0].Rule, r.Verdict)
	}

	whole, err := fleet.One(context.Background(), dial(t, url, f, recording.RemoteOptions{}), "prod-000", fleet.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(f.embedded(t, "prod-000").Findings, whole.Findings, sameRemedy); diff != "" {
		t.Errorf("in full (-embedded +fleet)\n%s", diff)
	}

	_, err = fleet.One(context.Background(), dial(t, url, f, recording.RemoteOptions{}), "prod-9", fleet.Options{Pack: testkit.Pack()})
	var unknown *fleet.UnknownError
	if !errors.As(err, &unknown) || !strings.Contains(unknown.Hint(), "prod-000") {
		t.Errorf("an unknown name: %v", err)
	}
}

// Groups of the same weight have a fixed order, and so has everything else: the same samples give the
// same bytes, however many databases are read concurrently. sameRemedy compares remedies, which contain
// functions, by value.
var sameRemedy = cmp.Comparer(func(a, b *rules.Remedy) bool { return a == b })

func TestSameBytes(t *testing.T) {
	f := newSynthetic(hour(), 5, begin, 20*time.Minute)
	url := serve(t, &answers{data: f.inMemory(t)})

	var texts []string
	for _, parallel := range []int{1, 4} {
		r, err := fleet.Run(context.Background(), dial(t, url, f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack(), Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}

	if texts[0] != texts[1] {
		t.Errorf("with one worker\n%s\nwith four\n%s", texts[0], texts[1])
	}
}

func TestTooMuchIsSaidBeforeItIsRead(t *testing.T) {
	f := newSynthetic(hour(), 3, begin, 20*time.Minute)
	url := serve(t, &answers{data: f.inMemory(t)})
	_, err := fleet.Run(context.Background(), dial(t, url, f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack(), SamplesMax: 100})

	var much *fleet.TooMuchError
	if !errors.As(err, &much) {
		t.Fatalf("error %v", err)
	}

	// The requested time ends one step after the last sample.
	if want := f.samples(); much.Estimate.Samples < want || much.Estimate.Samples > want+want/10 {
		t.Errorf("estimated %d samples, there are %d", much.Estimate.Samples, want)
	}

	if !strings.Contains(much.Error(), "3 databases") || !strings.Contains(much.Hint(), "--force") {
		t.Errorf("%v; %s", much, much.Hint())
	}

	if _, err := fleet.Run(context.Background(), dial(t, url, f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack(), SamplesMax: 100, Force: true}); err != nil {
		t.Errorf("with force: %v", err)
	}
}

func TestWarningsAreShown(t *testing.T) {
	f := newSynthetic(hour(), 1, begin, 20*time.Minute)
	url := serve(t, &answers{data: f.inMemory(t), warning: "receive store 10.0.0.7: connection refused"})
	r, err := fleet.Run(context.Background(), dial(t, url, f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "may be incomplete: receive store 10.0.0.7") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestNothingToDiagnoseNamesExporters(t *testing.T) {
	f := newSynthetic(hour(), 1, begin, 20*time.Minute)
	mem := recording.NewMemory(recording.MemoryOptions{})
	b := &recording.Batch{TimesMs: []int64{begin.UnixMilli()}, Columns: []recording.Column{{Labels: labels.FromStrings("__name__", "up"), Values: []float64{1}}}}
	if err := mem.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	_, err := fleet.Run(context.Background(), dial(t, serve(t, &answers{data: mem}), f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack()})
	var missing *fleet.MissingError
	if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "mongodb_exporter") {
		t.Errorf("error %v", err)
	}
}

// A database that the server fails to return is reported, and the others are diagnosed. After an
// interrupt, the finished ones remain.
func TestSomeCannotBeRead(t *testing.T) {
	f := newSynthetic(hour(), 3, begin, 20*time.Minute)
	good := &answers{data: f.inMemory(t)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var interrupt bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if q := req.FormValue("query"); strings.Contains(q, `cluster="prod-001"`) && strings.Contains(q, "[") {
			if interrupt {
				cancel()
			}
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory"}`))
			return
		}
		good.ServeHTTP(w, req)
	}))

	defer s.Close()
	r, err := fleet.Run(ctx, dial(t, s.URL, f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack(), Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(r.Databases, func(d fleet.Database) bool { return d.Problem != "" })
	if r.Read != 2 || i < 0 || !strings.Contains(r.Databases[i].Problem, "too many samples") || !strings.Contains(r.Verdict, "1 of 3 databases are not included") {
		t.Errorf("read %d: %+v; %s", r.Read, r.Databases, r.Verdict)
	}

	interrupt = true
	r, err = fleet.Run(ctx, dial(t, s.URL, f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack(), Parallel: 1})
	if err != nil || !r.Interrupted || r.Read != 1 || r.Databases[0].Name != "prod-000" {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
}

// The labels of an exporter's series determine which labels identify a database.
func TestLabelsThatMakeADatabase(t *testing.T) {
	for name, c := range map[string]struct {
		series []labels.Labels
		by     string
		names  string
	}{
		"a cluster label each":       {[]labels.Labels{of("cluster", "a", "instance", "1:9216"), of("cluster", "b", "instance", "2:9216")}, "cluster", "a b"},
		"members of a cluster":       {[]labels.Labels{of("cluster", "a", "instance", "1:9216"), of("cluster", "a", "instance", "2:9216")}, "cluster host", "a/1 a/2"},
		"pods":                       {[]labels.Labels{of("namespace", "n", "pod", "p-0", "instance", "1:9216"), of("namespace", "n", "pod", "p-1", "instance", "2:9216")}, "namespace pod", "n/p-0 n/p-1"},
		"instances":                  {[]labels.Labels{of("instance", "db-1:9216"), of("instance", "db-2:9216")}, "host", "db-1 db-2"},
		"two servers of one machine": {[]labels.Labels{of("instance", "db-1:9216"), of("instance", "db-1:9217")}, "instance", "db-1:9216 db-1:9217"},
	} {
		t.Run(name, func(t *testing.T) {
			mem := recording.NewMemory(recording.MemoryOptions{})
			b := &recording.Batch{TimesMs: []int64{begin.UnixMilli(), begin.Add(scrape).UnixMilli()}}
			for _, l := range c.series {
				b.Columns = append(b.Columns, recording.Column{Labels: l, Values: []float64{1, 1}})
			}

			if err := mem.Append(context.Background(), b); err != nil {
				t.Fatal(err)
			}

			f := &synthetic{from: begin, steps: 4}
			census, err := fleet.Find(context.Background(), dial(t, serve(t, &answers{data: mem}), f, recording.RemoteOptions{}), testkit.Pack(), nil)
			if err != nil {
				t.Fatal(err)
			}

			var names []string
			for _, d := range census.Databases {
				names = append(names, d.Name)
			}

			if strings.Join(census.By, " ") != c.by || strings.Join(names, " ") != c.names {
				t.Errorf("by %v: %v; want %s: %s", census.By, names, c.by, c.names)
			}
		})
	}
}

func of(pairs ...string) labels.Labels {
	return labels.FromStrings(append([]string{"__name__", "mongodb_ss_wt_cache_maximum_bytes_configured"}, pairs...)...)
}
