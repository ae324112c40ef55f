package fleet_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// addHost adds an idle host with the devices of a cluster to the server, under the cluster's label.
func (f *synthetic) addHost(t testing.TB, mem *recording.Memory, cluster, host string) {
	t.Helper()
	for _, l := range f.clusters[cluster] {
		if !strings.HasPrefix(l.labels.Get("__name__"), "node_") {
			continue
		}
		b := recording.Batch{Columns: []recording.Column{{Labels: labels.NewBuilder(named(cluster, l.labels)).Set("instance", host+":9100").Labels()}}}
		for k := range f.steps {
			b.TimesMs = append(b.TimesMs, f.from.Add(time.Duration(k)*scrape).UnixMilli())
			b.Columns[0].Values = append(b.Columns[0].Values, l.values[0])
		}
		if err := mem.Append(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
	}
}

// Two hosts of one cluster may have devices with the same name. A database is judged with its own
// host's devices, not with those of the host whose name sorts first.
func TestHostsOfOneClusterAreNotMerged(t *testing.T) {
	f := newSynthetic(hour(), 4, begin, hourly)
	mem := f.inMemory(t)
	for _, host := range []string{"aaa", "zzz"} {
		for _, c := range f.names() {
			f.addHost(t, mem, c, host)
		}
	}

	r, err := fleet.Run(t.Context(), dial(t, serve(t, &answers{data: mem}), f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack(), Force: true})
	if err != nil {
		t.Fatal(err)
	}

	if len(r.Databases) != 4 || !slices.Equal(r.By, []string{"cluster"}) {
		t.Fatalf("%d databases by %v", len(r.Databases), r.By)
	}

	for _, d := range r.Databases {
		want := f.embedded(t, d.Name)
		if d.Verdict != want.Verdict || d.StalledS != want.StalledS() || len(d.Findings) != len(want.Findings) {
			t.Errorf("%s: %q with %d findings, alone %q with %d", d.Name, d.Verdict, len(d.Findings), want.Verdict, len(want.Findings))
		}
	}

	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "devices of 2 hosts were ignored") }) {
		t.Errorf("hosts without a database were ignored without a note: %q", r.Notes)
	}
}

// Several servers of one group are judged one by one, each as if it were alone.
func TestServersOfOneGroupAreNotPooled(t *testing.T) {
	f := newSynthetic(hour(), 3, begin, hourly)
	alone := f.inMemory(t)
	all, err := alone.Samples(t.Context(), recording.EverySeries(), f.from, f.from.Add(hourly))
	if err != nil {
		t.Fatal(err)
	}

	mem := recording.NewMemory(recording.MemoryOptions{})
	for _, s := range all {
		b := recording.Batch{Columns: []recording.Column{{Labels: labels.NewBuilder(s.Labels).Set("cluster", "one").Labels()}}}
		for _, p := range s.Points {
			b.TimesMs, b.Columns[0].Values = append(b.TimesMs, p.T), append(b.Columns[0].Values, p.F)
		}
		if err := mem.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}

	url := serve(t, &answers{data: mem})
	opt := fleet.Options{Pack: testkit.Pack(), By: []string{"cluster"}}
	r, err := fleet.Run(t.Context(), dial(t, url, f, recording.RemoteOptions{}), opt)
	if err != nil {
		t.Fatal(err)
	}

	if r.Found != 3 || r.Read != 3 || r.Samples != f.samples() {
		t.Errorf("%d databases found, %d read, %d samples of %d", r.Found, r.Read, r.Samples, f.samples())
	}

	for _, d := range r.Databases {
		host, _, _ := strings.Cut(strings.TrimPrefix(d.Name, "one/"), ":")
		want := f.embedded(t, host)
		if d.Verdict != want.Verdict || d.StalledS != want.StalledS() {
			t.Errorf("%s: %q, alone %q", d.Name, d.Verdict, want.Verdict)
		}

		full, err := fleet.One(t.Context(), dial(t, url, f, recording.RemoteOptions{}), d.Name, opt)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(want.Findings, full.Findings, sameRemedy); diff != "" {
			t.Errorf("%s in full (-alone +fleet)\n%s", d.Name, diff)
		}
	}

	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "1 group by cluster with several servers (one)") }) {
		t.Errorf("notes %q", r.Notes)
	}

	whole, err := fleet.One(t.Context(), dial(t, url, f, recording.RemoteOptions{}), "one", opt)
	if err != nil || len(whole.Others) != 2 {
		t.Errorf("the group in full: %v, %v", whole, err)
	}
}
