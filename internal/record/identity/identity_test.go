package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

var options = Options{
	Engines: []Engine{
		{Name: "db", Anchors: []string{"db_ops_total"}, Metrics: func(m string) bool { return strings.HasPrefix(m, "db_") }},
		{Name: "store", Anchors: []string{"store_syncs_total"}, Metrics: func(m string) bool { return strings.HasPrefix(m, "store_") }, Sets: true, Agreed: []string{"store_index_total"}},
	},
	Wants:   func(string) bool { return true },
	Devices: func(m string) bool { return strings.HasPrefix(m, "disk_") },
}

// t0 is the start of the test recordings, in milliseconds.
const t0 = 1_700_000_000_000

// of returns a recording of a source with 100 samples. Each line is a metric with labels, then the
// value of its counter at the start, its increase per second, and the second of its first sample.
func of(t *testing.T, s recording.Source, lines ...string) recording.Reader {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	for _, line := range lines {
		var text string
		var start, rate, from float64
		if _, err := fmt.Sscan(line, &text, &start, &rate, &from); err != nil {
			t.Fatalf("%s: %v", line, err)
		}

		name, rest, _ := strings.Cut(strings.TrimSuffix(text, "}"), "{")
		b := labels.NewBuilder(labels.FromStrings(labels.MetricName, name))
		for pair := range strings.SplitSeq(rest, ",") {
			if k, v, ok := strings.Cut(pair, "="); ok {
				b.Set(k, v)
			}
		}

		batch := recording.Batch{Columns: []recording.Column{{Labels: b.Labels()}}}
		for i := range 100 {
			batch.TimesMs = append(batch.TimesMs, t0+1000*int64(from)+1000*int64(i))
			batch.Columns[0].Values = append(batch.Columns[0].Values, start+rate*float64(i))
		}

		if err := m.Append(context.Background(), &batch); err != nil {
			t.Fatal(err)
		}
	}

	s.From, s.To = time.UnixMilli(t0).UTC(), time.UnixMilli(t0+100_000).UTC()
	m.Source(s)
	return m
}

// split divides recordings and writes each part as a line: its name, then the series of its sources.
func split(t *testing.T, opt Options, in ...recording.Reader) (out []string, notes string) {
	t.Helper()
	parts, err := Split(context.Background(), in, opt)
	if err != nil {
		t.Fatal(err)
	}

	for _, p := range parts {
		n := 0
		for _, r := range p.Readers {
			all, err := r.ListSeries(context.Background(), options.Wants)
			if err != nil {
				t.Fatal(err)
			}
			n += len(all)
		}

		kind := p.Engine
		if kind == "" {
			kind = "host"
		}

		out = append(out, fmt.Sprintf("%s %s: %d", kind, p.Name, n))
		notes += strings.Join(p.Notes, "\n")
	}

	slices.Sort(out)
	return out, notes
}

func TestSplit(t *testing.T) {
	page := func(name string) recording.Source { return recording.Source{Kind: "openmetrics", Name: "dir/" + name} }
	capture := func(name, host string) recording.Source {
		return recording.Source{Kind: "ftdc", Name: name, Host: host, Engine: "db"}
	}

	iostat := func(host string) recording.Source {
		return recording.Source{Kind: "iostat", Name: "iostat.log", Host: host}
	}
	for _, x := range []struct {
		name  string
		hosts map[string]string
		in    []recording.Reader
		want  []string
		note  string // a part of the notes
	}{
		{"one server and one host, both nameless", nil, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total 5 1 0"), of(t, page("node.prom"), "disk_io{device=sda} 5 1 0"),
		}, []string{"db db.prom: 2"}, "node.prom does not name its host"},
		{"two servers by label in one page", nil, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total{instance=a:1} 5 1 0", "db_ops_total{instance=b:1} 9 0 0", "disk_io{instance=b:9100} 5 1 0", "disk_io{instance=a:9100} 5 1 0"),
		}, []string{"db a:1: 2", "db b:1: 2"}, ""},
		{"short and long names of hosts", nil, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total{instance=a.example.com:1} 5 1 0", "db_ops_total{instance=b:1} 9 0 0", "disk_io{instance=a:9100} 5 1 0"),
		}, []string{"db a.example.com:1: 2", "db b:1: 1"}, ""},
		{"a host that no server is on", nil, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total{instance=a:1} 5 1 0"), of(t, page("node.prom"), "disk_io{instance=a:9100} 5 1 0", "disk_io{instance=b:9100} 5 1 0"),
		}, []string{"db a:1: 2", "host b: 1"}, ""},
		{"a server and another's host", nil, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total{instance=a:1} 5 1 0"), of(t, page("node.prom"), "disk_io{instance=b:9100} 5 1 0"),
		}, []string{"db a:1: 1", "host b: 1"}, "--host node.prom=NAME"},
		{"a nameless server and two hosts", nil, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total 5 1 0"), of(t, page("node.prom"), "disk_io{instance=a:9100} 5 1 0", "disk_io{instance=b:9100} 5 1 0"),
		}, []string{"db db.prom: 1", "host a: 1", "host b: 1"}, "cannot determine whether db.prom runs on a or b"},
		{"a nameless server and two hosts, with a name given", map[string]string{"dir/db.prom": "b"}, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total 5 1 0"), of(t, page("node.prom"), "disk_io{instance=a:9100} 5 1 0", "disk_io{instance=b:9100} 5 1 0"),
		}, []string{"db db.prom: 2", "host a: 1"}, ""},
		{"an idle copy without labels", nil, []recording.Reader{
			of(t, page("idle.prom"), "db_ops_total 5 0 0"), of(t, page("db.prom"), "db_ops_total 5 1 0"),
		}, []string{"db db.prom: 1", "db idle.prom: 1"}, ""},
		{"an idle copy with the same labels", nil, []recording.Reader{
			of(t, page("idle.prom"), "db_ops_total{instance=a:1} 5 0 0"), of(t, page("db.prom"), "db_ops_total{instance=a:1} 5 1 0"),
		}, []string{"db a:1 (2): 1", "db a:1: 1"}, "contradict"},
		{"one page twice", nil, []recording.Reader{
			of(t, page("db.prom"), "db_ops_total 5 1 0"), of(t, page("copy.prom"), "db_ops_total 5 1 0"),
		}, []string{"db db.prom: 2"}, "contain the same server"},
		{"logs of two members with the same events", nil, []recording.Reader{
			of(t, serverLog("1.log"), "db_ops_total 0 1 0"), of(t, serverLog("2.log"), "db_ops_total 0 1 0"), of(t, page("db.prom"), "db_waits_total 5 1 0"),
		}, []string{"db 1.log: 1", "db 2.log: 1", "db db.prom: 1"}, ""},
		{"a log and its server's page", nil, []recording.Reader{
			of(t, serverLog("1.log"), "db_ops_total 0 1 0"), of(t, page("db.prom"), "db_waits_total 5 1 0"),
		}, []string{"db 1.log: 2"}, "no metric in common"},
		{"a page that continues another", nil, []recording.Reader{
			of(t, page("1.prom"), "db_ops_total 5 1 0"), of(t, page("2.prom"), "db_ops_total 107 1 102"),
		}, []string{"db 1.prom: 2"}, "2.prom continues 1.prom"},
		{"a copy of another time", nil, []recording.Reader{
			of(t, page("1.prom"), "db_ops_total 5 1 0"), of(t, page("2.prom"), "db_ops_total 5 1 200"),
		}, []string{"db 1.prom: 1", "db 2.prom: 1"}, ""},
		{"captures of two members that do not overlap", nil, []recording.Reader{
			of(t, capture("one", "m1:27017"), "db_ops_total 5 1 0"), of(t, capture("two", "m2:27017"), "db_ops_total 107 1 102"), of(t, iostat("m2"), "disk_io{device=sda} 0 1 0"),
		}, []string{"db m1:27017: 1", "db m2:27017: 2"}, ""},
		{"files of one member", nil, []recording.Reader{
			of(t, capture("one", "m1:27017"), "db_ops_total 5 1 0"), of(t, capture("two", "m1:27017"), "db_ops_total 0 1 102"),
		}, []string{"db m1:27017: 2"}, ""},
		{"a capture and the exporter of the same server", nil, []recording.Reader{
			of(t, capture("one", "m1:27017"), "db_ops_total 5 1 0"), of(t, page("m1.prom"), "db_ops_total{instance=m1:9216} 5 1 0"),
		}, []string{"db m1:27017, m1:9216: 2"}, "contain the same server"},
		{"two pages of one host's exporters", nil, []recording.Reader{
			of(t, page("node.prom"), "disk_io{device=sda} 5 100 0"), of(t, iostat("m1"), "disk_io{device=sda} 0 100.1 0"), of(t, page("db.prom"), "db_ops_total 5 1 0"),
		}, []string{"db db.prom: 3"}, "assuming m1, the only one here"},
		{"two hosts without names that contradict each other", nil, []recording.Reader{
			of(t, page("node1.prom"), "disk_io{device=sda} 5 100 0"), of(t, page("node2.prom"), "disk_io{device=sda} 5 1 0"), of(t, page("db.prom"), "db_ops_total 5 1 0"),
		}, []string{"db db.prom: 1", "host node1.prom: 1", "host node2.prom: 1"}, "--host"},
		{"members of a set that is judged as one", nil, []recording.Reader{
			of(t, page("etcd.prom"), "store_syncs_total{instance=a:1,cluster=x} 5 1 0", "store_syncs_total{instance=b:1,cluster=x} 5 0 0"),
		}, []string{"store x/a:1, x/b:1: 2"}, ""},
		{"members of one job that agree", nil, []recording.Reader{
			of(t, page("etcd.prom"), "store_syncs_total{instance=a:1,job=etcd} 5 1 0", "store_syncs_total{instance=b:1,job=etcd} 5 0 0",
				"store_index_total{instance=a:1,job=etcd} 90000 10 0", "store_index_total{instance=b:1,job=etcd} 89990 10 0"),
		}, []string{"store a:1, b:1: 4"}, ""},
		{"two clusters of one job", nil, []recording.Reader{
			of(t, page("etcd.prom"), "store_syncs_total{instance=a:1,job=etcd} 5 1 0", "store_syncs_total{instance=b:1,job=etcd} 5 0 0",
				"store_index_total{instance=a:1,job=etcd} 90000 10 0", "store_index_total{instance=b:1,job=etcd} 5000 10 0"),
		}, []string{"store a:1: 2", "store b:1: 2"}, ""},
		{"members in one page each, by what they agree on", nil, []recording.Reader{
			of(t, page("m1.prom"), "store_syncs_total{instance=a:1} 5 1 0", "store_index_total{instance=a:1} 90000 10 0"),
			of(t, page("m2.prom"), "store_syncs_total{instance=b:1} 5 0 0", "store_index_total{instance=b:1} 89990 10 0"),
		}, []string{"store a:1, b:1: 4"}, ""},
		{"pods of two namespaces with one name", nil, []recording.Reader{
			of(t, page("k8s.prom"), "db_ops_total{namespace=n1,pod=db-0,instance=10.0.0.1:1} 5 1 0", "db_ops_total{namespace=n2,pod=db-0,instance=10.0.0.2:1} 5 0 0", "disk_io{namespace=n2,pod=db-0} 5 0 0"),
		}, []string{"db n1/db-0: 1", "db n2/db-0: 2"}, ""},
		{"servers behind one exporter", nil, []recording.Reader{
			of(t, page("pg.prom"), "db_ops_total{server=a:5432} 5 1 0", "db_ops_total{server=b:5432} 5 0 0", "db_up 1 0 0"),
		}, []string{"db a:5432: 2", "db b:5432: 2"}, ""},
		{"a host that calls itself otherwise", nil, []recording.Reader{
			of(t, recording.Source{Kind: "ftdc", Engine: "db", Name: "diagnostic.data", Host: "db-1"}, "db_ops_total 5 1 0", "disk_io{device=sda} 5 1 0"),
			of(t, recording.Source{Kind: "iostat", Name: "i.log", Host: "x-1"}, "disk_io{device=sdb} 0 300 0"),
		}, []string{"db db-1: 2", "host x-1: 1"}, "if they are the same, give --host i.log=db-1"},
		{"local addresses mean other servers in each file", nil, []recording.Reader{
			of(t, page("1.prom"), "db_ops_total{instance=localhost:1} 5 1 0"), of(t, page("2.prom"), "db_ops_total{instance=localhost:1} 5 0 0"),
		}, []string{"db 1.prom: 1", "db 2.prom: 1"}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			opt := options
			opt.Hosts = x.hosts
			got, notes := split(t, opt, x.in...)
			slices.Sort(x.want)

			if !slices.Equal(got, x.want) {
				t.Errorf("got  %q\nwant %q\nnotes %s", got, x.want, notes)
			}

			if !strings.Contains(notes, x.note) || x.note == "" && notes != "" {
				t.Errorf("notes %q, want %q in them", notes, x.note)
			}

			slices.Reverse(x.in)
			if again, _ := split(t, opt, x.in...); len(again) != len(got) {
				t.Errorf("in the other order: %q", again)
			}
		})
	}
}

// Servers that are merged into one recording stay as distinct as in separate files, and two sources
// never share a series.
func TestLabel(t *testing.T) {
	page := func(name string) recording.Source { return recording.Source{Kind: "openmetrics", Name: name} }
	for _, x := range []struct {
		name string
		in   []recording.Reader
		want []string // the parts of the recording that merges all
	}{
		{"one server needs no label", []recording.Reader{of(t, page("db.prom"), "db_ops_total 5 1 0"), of(t, page("node.prom"), "disk_io{device=sda} 5 1 0")}, nil},
		{"two servers without labels", []recording.Reader{of(t, page("a.prom"), "db_ops_total 5 1 0", "disk_io{device=sda} 5 1 0"), of(t, page("b.prom"), "db_ops_total 5 0 0", "disk_io{device=sda} 9 1 0")},
			[]string{"db a.prom: 2", "db b.prom: 2"}},
		{"a local address in both", []recording.Reader{of(t, page("a.prom"), "db_ops_total{instance=localhost:1} 5 1 0"), of(t, page("b.prom"), "db_ops_total{instance=localhost:1} 5 0 0")},
			[]string{"db a.prom: 1", "db b.prom: 1"}},
		{"two hosts", []recording.Reader{
			of(t, recording.Source{Kind: "iostat", Name: "1.log", Host: "h1"}, "disk_io{device=sda} 0 100 0"),
			of(t, recording.Source{Kind: "iostat", Name: "2.log", Host: "h2"}, "disk_io{device=sda} 0 300 0")},
			[]string{"host h1: 1", "host h2: 1"}},
		{"two sources of one host", []recording.Reader{
			of(t, page("db.prom"), "db_ops_total 5 1 0"),
			of(t, page("node.prom"), "disk_io{device=sda} 7 100 0"),
			of(t, recording.Source{Kind: "iostat", Name: "2.log", Host: "h1"}, "disk_io{device=sda} 0 100 0")},
			[]string{"db db.prom: 3"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			l, err := Label(context.Background(), x.in, options)
			if err != nil || l == nil {
				if err != nil || x.want != nil {
					t.Fatalf("no labels: %v", err)
				}
				return
			}

			all := recording.NewMemory(recording.MemoryOptions{})
			for i, r := range x.in {
				w := l.Writer(i, all)
				series, err := r.Samples(context.Background(), recording.EverySeries(), time.UnixMilli(0), time.UnixMilli(recording.TimeMaxMs))
				if err != nil {
					t.Fatal(err)
				}

				for _, s := range series {
					b := recording.Batch{Columns: []recording.Column{{Labels: s.Labels}}}
					for _, p := range s.Points {
						b.TimesMs, b.Columns[0].Values = append(b.TimesMs, p.T), append(b.Columns[0].Values, p.F)
					}
					if err := w.Append(context.Background(), &b); err != nil {
						t.Fatal(err)
					}
				}

				w.Source(r.Sources()[0])
			}

			if notes := all.Notes(); len(notes) > 0 {
				t.Errorf("samples were dropped: %v", notes)
			}

			if got, notes := split(t, options, all); !slices.Equal(got, x.want) {
				t.Errorf("got  %q\nwant %q\n%s", got, x.want, notes)
			}
		})
	}
}

// The members of a set are judged together, but devices with the same name on their hosts are different
// devices. On one host, the devices of two sources are the same.
func TestDevicesOfASetsHosts(t *testing.T) {
	page := recording.Source{Kind: "openmetrics", Name: "etcd.prom"}
	members := []string{"store_syncs_total{instance=a:1,cluster=x} 5 1 0", "store_syncs_total{instance=b:1,cluster=x} 5 0 0"}
	for name, x := range map[string]struct {
		lines, want []string
	}{
		"two hosts": {[]string{"disk_io{device=sda,instance=a:9100,cluster=x} 5 1 0", "disk_io{device=sda,instance=b:9100,cluster=x} 9 3 0"}, []string{"sda on a", "sda on b"}},
		"two names": {[]string{"disk_io{device=sda,instance=a:9100,cluster=x} 5 1 0", "disk_io{device=sdb,instance=b:9100,cluster=x} 9 3 0"}, []string{"sda", "sdb"}},
		"one host":  {[]string{"disk_io{device=sda,instance=a:9100,cluster=x} 5 1 0", "disk_io{device=sda,instance=a:9101,cluster=x} 5 1 0"}, []string{"sda", "sda"}},
	} {
		t.Run(name, func(t *testing.T) {
			parts, err := Split(t.Context(), []recording.Reader{of(t, page, append(slices.Clone(members), x.lines...)...)}, options)
			if err != nil || len(parts) != 1 {
				t.Fatalf("%d parts, %v", len(parts), err)
			}

			var got []string
			for _, r := range parts[0].Readers {
				all, err := r.ListSeries(t.Context(), func(m string) bool { return m == "disk_io" })
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range all {
					got = append(got, l.Get("device"))
				}
			}

			slices.Sort(got)
			if !slices.Equal(got, x.want) {
				t.Errorf("devices %q, want %q", got, x.want)
			}
		})
	}
}

func serverLog(name string) recording.Source {
	return recording.Source{Kind: "db-log", Name: "dir/" + name, Engine: "db"}
}
