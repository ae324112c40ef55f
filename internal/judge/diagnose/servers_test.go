package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/identity"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// stalledReport is a report of a server that stalled for some seconds, with a finding.
func stalledReport(name, engine string, seconds float64, worst Severity) *Report {
	r := &Report{Server: &Server{Name: name, Engine: engine}, Stalls: StallSummary{Seconds: seconds}}
	if worst != "" {
		r.Findings = []Finding{{Kind: Cause, Severity: worst}}
	}
	return r
}

// The most harmful server comes first: databases before hosts, then the one that stalled longest, then the
// one with the most severe finding.
func TestMoreHarm(t *testing.T) {
	all := []*Report{
		stalledReport(
			"host",
			"",
			900,
			Critical,
		), stalledReport("calm", "etcd", 0, ""), stalledReport("warned", "etcd", 0, Warning), stalledReport("informed", "etcd", 0, Info),
		stalledReport(
			"short",
			"etcd",
			5,
			"",
		), stalledReport("long", "etcd", 50, Info), stalledReport("alarmed", "etcd", 0, Critical), stalledReport("also calm", "etcd", 0, ""),
	}
	all[1].Findings = []Finding{{Kind: Refutation, Severity: Critical}} // which does not count as harm
	slices.SortStableFunc(all, moreHarm)
	var got []string
	for _, r := range all {
		got = append(got, r.Server.Name)
	}
	if want := "long, short, alarmed, warned, informed, also calm, calm, host"; strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
}

// Stalled time that two classes of operations share counts once, and a device's stalls do not count if the
// database did not feel them.
func TestStalledSeconds(t *testing.T) {
	noon := time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	of := func(subject, class string, from, to int, seconds float64) Incident {
		return Incident{
			Kind:    Stalled,
			Subject: subject,
			Class:   class,
			From:    noon.Add(time.Duration(from) * time.Second),
			To:      noon.Add(time.Duration(to) * time.Second),
			Stalls:  StallSummary{Seconds: seconds},
		}
	}
	writes, reads := of("writes", "writes", 0, 60, 30), of("reads", "reads", 30, 90, 20)
	device := of("nvme1n1", string(rules.DeviceWrites), 0, 60, 40)
	later := of("reads", "reads", 100, 200, 7)
	worse := of("writes", "writes", 300, 400, 99)
	worse.Kind = Worse
	database := []JudgedClass{{Class: "writes"}, {Class: string(rules.DeviceWrites)}}

	for _, c := range []struct {
		name      string
		judged    []JudgedClass
		incidents []Incident
		want      float64
	}{
		{"one", database, []Incident{writes}, 30}, {"apart", database, []Incident{writes, later}, 37}, {"overlapping", database, []Incident{writes, reads}, 30}, {"of one class", database, []Incident{reads, later}, 27},
		{"a device next to a database", database, []Incident{device, writes}, 30}, {"only a device", database[1:], []Incident{device}, 40}, {"slower is not stalled", database, []Incident{worse}, 0}, {"no incident", database, nil, 5},
	} {
		r := &Report{Judged: c.judged, Incidents: c.incidents, Stalls: StallSummary{Seconds: 5}}
		if got := r.StalledS(); got != c.want {
			t.Errorf("%s: %v s, want %v", c.name, got, c.want)
		}
	}
}

// If the sources have several servers and only one can be used, the error names them and how to choose.
func TestSeveralError(t *testing.T) {
	e := &SeveralError{}
	for i := range severalListed + 2 {
		e.Parts = append(e.Parts, identity.Part{Engine: "etcd", Name: fmt.Sprint("db", i)})
		e.Names = append(e.Names, fmt.Sprint("etcd db", i))
	}
	if got, want := e.Error(), "the sources contain 8 databases, but only one is supported here: etcd db0; etcd db1; etcd db2; etcd db3; etcd db4; etcd db5; 2 more"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := e.Hint(); !strings.HasPrefix(got, "choose one:\n  db0: record it separately") ||
		strings.Count(got, "\n") != severalListed {
		t.Error(got)
	}
	e.Parts, e.Names = []identity.Part{
		{Name: "web1"},
		{Name: "web2"},
	}, []string{
		"the host web1",
		"the host web2",
	}
	if got, want := e.Error(), "the sources contain 2 hosts, but only one is supported here: the host web1; the host web2"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A sentence begins with a capital, but a product keeps its spelling, and an acronym its capitals.
func TestFirstLetters(t *testing.T) {
	none := corerules.NewPack(nil)
	for in, want := range map[string]string{"": "", "writes stall": "Writes stall", "3 disks": "3 disks"} {
		if got := upperFirst(in, none); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"": "", "Writes stall": "writes stall", "WAL buffers": "WAL buffers", "I/O waits": "I/O waits", "A disk": "a disk"} {
		if got := rules.LowerFirst(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// values returns a series with one value per minute.
func values(all ...float64) []recording.Series {
	s := recording.Series{}
	for i, x := range all {
		s.Points = append(s.Points, promql.FPoint{T: int64(i) * 60_000, F: x})
	}
	return []recording.Series{s}
}

// The period of a provider's sums is the possible one that is nearest in ratio to what was measured.
func TestNearestPeriod(t *testing.T) {
	any, longer := func(float64) bool { return true }, func(p float64) bool { return p >= 300 }
	for _, c := range []struct {
		seconds  float64
		possible func(float64) bool
		want     float64
	}{{61, any, 60}, {1, any, 60}, {290, any, 300}, {133, any, 60}, {136, any, 300}, {1e9, any, 3600}, {61, longer, 300}} {
		if got := nearest(c.seconds, c.possible); got != c.want {
			t.Errorf("%v s: %v, want %v", c.seconds, got, c.want)
		}
	}
}

// An unchanged value does not count as a new export.
func TestChangesEvery(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 60}, {[]float64{1}, 60}, {[]float64{1, 1, 1}, 60}, {[]float64{1, 2, 3, 4}, 60}, {[]float64{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3}, 300}, {[]float64{1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4}, 300},
	} {
		if got := changesEvery(values(c.values...)); got != c.want {
			t.Errorf("%v changes every %v s, want %v", c.values, got, c.want)
		}
	}
	sum, most, n := figures(append(values(1, math.NaN(), 3), values(2)...))
	if sum != 6 || most != 3 || n != 3 {
		t.Errorf("sum %v, most %v of %d", sum, most, n)
	}
}

// A process start time is accepted only if it is in this century or the last.
func TestStartOf(t *testing.T) {
	of := func(name string, values ...float64) recording.Series {
		s := recording.Series{Labels: labels.FromStrings("__name__", name)}
		for _, x := range values {
			s.Points = append(s.Points, promql.FPoint{F: x})
		}
		return s
	}
	if got := startOf(of(startMetric, 1_784_000_000.5)); got.UnixMilli() != 1_784_000_000_500 {
		t.Error(got)
	}
	for _, s := range []recording.Series{of("other", 1_784_000_000), of(startMetric), of(startMetric, 0), of(startMetric, -5), of(startMetric, math.NaN()), of(startMetric, math.Inf(1)), of(startMetric, 1.784e12)} {
		if got := startOf(s); !got.IsZero() {
			t.Errorf("%v: %v", s, got)
		}
	}
}

// A track has the maximum of each slot, and none where nothing was measured.
func TestReduceKeepsTheMaximum(t *testing.T) {
	from := time.Unix(1_784_000_000, 0)
	g := timeline.NewGrid(from, from.Add(9*time.Second), time.Second)
	vals := []float64{1, 9, 2, 3, math.NaN(), math.NaN(), math.Inf(1), -1, -2, 0}
	if len(vals) != g.N {
		t.Fatalf("%d cells", g.N)
	}
	got := ""
	for _, v := range reduce(g, "a", "s", vals, 2*time.Second).Values {
		if v == nil {
			got += "- "
			continue
		}
		got += fmt.Sprint(*v, " ")
	}
	if got != "9 3 - -1 0 " {
		t.Error(got)
	}
	for slots, want := range map[int]time.Duration{1: 10 * time.Second, 3: 4 * time.Second, 5: 2 * time.Second, 10: time.Second, 100: time.Second} {
		if got := slotOf(g, slots); got != want {
			t.Errorf("%d slots of %v, want %v", slots, got, want)
		}
	}
}

// The highest latency that the verdict names is the one in the plot next to it.
func TestHighest(t *testing.T) {
	x, y := 0.5, 7.6
	r := &Report{
		Timeline: []Track{
			{Unit: "seconds", Values: []*float64{&x, nil, &y}},
			{Unit: "seconds", Values: []*float64{&y}},
		},
	}
	if got := highest(r); got != 7.6 {
		t.Error(got)
	}
	r.Timeline[0].Unit = "1/s"
	if got := highest(r); got != 0 {
		t.Errorf("a rate is no latency: %v", got)
	}
	if got := highest(&Report{}); got != 0 {
		t.Error(got)
	}
}
