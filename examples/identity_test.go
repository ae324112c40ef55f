package examples

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// cutTo is how much of each example the pairs have: enough for two checkpoints and a stall.
const cutTo = 150 * time.Second

// A captured is one example's series, with their times.
type captured struct {
	name         string
	engine, host []recording.Series
}

// captures reads the examples once: the series of the database and of its host.
var captures = sync.OnceValues(func() ([]captured, error) {
	var out []captured
	for _, x := range []struct{ name, engine, host string }{
		{"mongodb", "mongodb-checkpoint/diagnostic.data", "mongodb-checkpoint/iostat.log"},
		{"postgres", "postgres-checkpoint/postgres.prom.gz", "postgres-checkpoint/iostat.log"},
		{"wiredtiger", "wiredtiger-journal/wiredtiger.prom.gz", "wiredtiger-journal/iostat.log"},
		{"etcd", "etcd-latency-bound/etcd.prom.gz", "etcd-latency-bound/iostat.log"},
	} {
		engine, err := seriesOf(x.engine)
		if err != nil {
			return nil, err
		}
		host, err := seriesOf(x.host)
		if err != nil {
			return nil, err
		}
		out = append(out, captured{x.name, engine, host})
	}

	return out, nil
})

// seriesOf reads the series of a file that a diagnosis needs, and cuts them.
func seriesOf(file string) ([]recording.Series, error) {
	ctx := context.Background()
	in, err := recognise.For(engine.All().Sources()).Open(ctx, filepath.FromSlash(file), recognise.OpenOptions{})
	if err != nil {
		return nil, err
	}
	m := recording.NewMemory(recording.MemoryOptions{})
	if err := in.Source.Read(ctx, m, source.Options{Want: diagnose.Wants(testkit.Pack()), Location: time.UTC}); err != nil {
		return nil, err
	}
	from := m.Sources()[0].From
	return m.Samples(ctx, recording.EverySeries(), from, from.Add(cutTo))
}

// A change says how the copy of an example was changed.
type change struct {
	instance string // label; "" for none
	labels   []string
	idle     bool
	shift    time.Duration
}

// add appends an example's series to a recording.
func (c change) add(t *testing.T, m *recording.Memory, series []recording.Series, port string) {
	t.Helper()
	for _, s := range series {
		b := labels.NewBuilder(s.Labels)
		if c.instance != "" {
			b.Del("server").Set("instance", c.instance+":"+port)
		}

		for i := 0; i < len(c.labels); i += 2 {
			b.Set(c.labels[i], c.labels[i+1])
		}

		batch := recording.Batch{Columns: []recording.Column{{Labels: b.Labels()}}}
		for _, p := range s.Points {
			if c.idle {
				p.F = s.Points[0].F
			}
			batch.TimesMs = append(batch.TimesMs, p.T+c.shift.Milliseconds())
			batch.Columns[0].Values = append(batch.Columns[0].Values, p.F)
		}

		if err := m.Append(context.Background(), &batch); err != nil {
			t.Fatal(err)
		}
	}
}

// file makes a recording of one file that contains several examples.
func file(t *testing.T, name string, add func(m *recording.Memory)) *recording.Memory {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	add(m)

	metrics, err := m.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}

	s := recording.Source{Kind: "openmetrics", Name: name, Period: time.Second}
	for _, x := range metrics {
		if s.From.IsZero() || x.From.Before(s.From) {
			s.From = x.From
		}
		if x.To.After(s.To) {
			s.To = x.To
		}
	}

	m.Source(s)
	return m
}

// A said is what matters about a diagnosis.
func said(r *diagnose.Report) string {
	out := fmt.Sprintf("%s\n%g s", r.Verdict, r.StalledS())
	for _, f := range r.Findings {
		out += fmt.Sprintf("\n%s %s %s %.4f", f.Rule, f.Severity, f.Subject, f.Weight)
	}
	return out
}

func each(t *testing.T, in ...recording.Reader) map[string]bool {
	t.Helper()
	r, err := diagnose.Each(context.Background(), in, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, one := range r.All() {
		out[said(one)] = true
	}
	return out
}

// Two servers get the same verdicts together as each gets alone: in any order, in one file or in two,
// distinguished by labels or by file names, next to an idle copy or to one of another time.
func TestServersAreJudgedAlone(t *testing.T) {
	all, err := captures()
	if err != nil {
		t.Fatal(err)
	}

	alone := map[string]string{}
	one := func(t *testing.T, x captured, c change) string {
		key := fmt.Sprint(x.name, c)
		if _, ok := alone[key]; !ok {
			for said := range each(t, file(t, x.name, func(m *recording.Memory) { c.both(t, m, x) })) {
				alone[key] = said
			}
		}
		return alone[key]
	}

	check := func(t *testing.T, got map[string]bool, want ...string) {
		t.Helper()
		for _, w := range want {
			if !got[w] {
				t.Errorf("missing is\n%s\ngot\n%v", w, got)
			}
		}
	}

	combinations := 0
	for i, x := range all {
		for k, y := range all {
			for name, second := range map[string]change{
				"labels":  {instance: "db-2"},
				"renamed": {instance: "a-db", labels: []string{"job", "db", "cluster", "west"}},
				"idle":    {instance: "db-2", idle: true},
				"shifted": {instance: "db-2", shift: 20 * time.Second},
				"later":   {instance: "db-2", shift: time.Hour},
			} {
				combinations += 3
				t.Run(x.name+"/"+y.name+"/"+name, func(t *testing.T) {
					first := change{instance: "db-1"}
					a := file(t, "a.prom", func(m *recording.Memory) { first.both(t, m, x) })
					b := file(t, "b.prom", func(m *recording.Memory) { second.both(t, m, y) })
					want := []string{one(t, x, first), one(t, y, second)}
					check(t, each(t, a, b), want...)
					check(t, each(t, b, a), want...)
					joint := file(t, "page.prom", func(m *recording.Memory) { first.both(t, m, x); second.both(t, m, y) })
					check(t, each(t, joint), want...)
				})
			}

			// Without labels, two files of one engine are two servers unless one continues the other.
			for name, second := range map[string]change{"idle": {idle: true}, "later": {shift: time.Hour}, "shifted": {shift: 20 * time.Second}} {
				if i == k {
					combinations++
					t.Run(x.name+"/nameless/"+name, func(t *testing.T) {
						a := file(t, "a.prom", func(m *recording.Memory) { change{}.add(t, m, x.engine, "") })
						b := file(t, "b.prom", func(m *recording.Memory) { second.add(t, m, y.engine, "") })
						got := each(t, b, a)
						if len(got) != 2 && name == "idle" {
							t.Fatalf("%d verdicts, want 2: %v", len(got), got)
						}
						for w := range each(t, a) {
							check(t, got, w)
						}
					})
				}
			}

			// A page with a host without a database, whose name sorts first.
			if i != k {
				combinations++
				t.Run(x.name+"/host of "+y.name, func(t *testing.T) {
					first, other := change{instance: "db-1"}, change{instance: "a-host"}
					page := file(t, "page.prom", func(m *recording.Memory) { other.add(t, m, y.host, "9100"); first.both(t, m, x) })
					check(t, each(t, page), one(t, x, first))
				})
			}
		}
	}

	// Four servers together, of four engines or of one.
	combinations += 2
	for name, of := range map[string]func(i int) captured{"engines": func(i int) captured { return all[i] }, "copies": func(int) captured { return all[1] }} {
		t.Run("four "+name, func(t *testing.T) {
			var want []string
			page := file(t, "page.prom", func(m *recording.Memory) {
				for i := range all {
					c := change{instance: fmt.Sprintf("db-%d", i), shift: time.Duration(i) * 13 * time.Second}
					c.both(t, m, of(i))
					want = append(want, one(t, of(i), c))
				}
			})
			check(t, each(t, page), want...)
		})
	}

	t.Logf("%d combinations", combinations)
}

// both appends a database and its host.
func (c change) both(t *testing.T, m *recording.Memory, x captured) {
	t.Helper()
	c.add(t, m, x.engine, "9187")
	c.add(t, m, x.host, "9100")
}

// The order of the sources changes nothing, and a host's data does not change how long its database
// stalled.
func TestOrderOfSources(t *testing.T) {
	all, err := captures()
	if err != nil {
		t.Fatal(err)
	}

	for _, x := range all {
		t.Run(x.name, func(t *testing.T) {
			own := file(t, "own", func(m *recording.Memory) { change{}.add(t, m, x.engine, "") })
			host := file(t, "host", func(m *recording.Memory) { change{}.add(t, m, x.host, "") })
			again := file(t, "again", func(m *recording.Memory) { change{}.add(t, m, x.host, "") })
			opt := diagnose.Options{Pack: testkit.Pack()}

			alone, err := diagnose.Each(context.Background(), []recording.Reader{own}, opt)
			if err != nil {
				t.Fatal(err)
			}

			var first string
			for _, in := range [][]recording.Reader{{own, host}, {host, own}, {again, own, host}, {host, again, own}} {
				r, err := diagnose.Each(context.Background(), in, opt)
				if err != nil {
					t.Fatal(err)
				}

				if first == "" {
					first = said(r)
				}

				if got := said(r); got != first || len(r.Others) > 0 {
					t.Errorf("%d others; in another order\n%s\nnot\n%s", len(r.Others), got, first)
				}

				if r.StalledS() != alone.StalledS() {
					t.Errorf("%g s stalled, %g s alone", r.StalledS(), alone.StalledS())
				}
			}
		})
	}
}
