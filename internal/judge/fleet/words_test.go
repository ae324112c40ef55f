package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// The verdict says how many stalled, why, and what was not seen, which may have been the worst.
func TestVerdict(t *testing.T) {
	watched := []Database{{WatchedS: 3600}, {WatchedS: 3600}}
	cause := func(title string, names int) Group {
		return Group{
			Kind:       diagnose.Cause,
			Severity:   diagnose.Critical,
			Title:      title,
			Names:      make([]string, names),
			ExplainedS: 10,
		}
	}
	symptom, remark, none := cause("Writes stall", 2), cause("A remark", 2), cause("It explains nothing", 2)
	symptom.Kind, remark.Severity, none.ExplainedS = diagnose.Symptom, diagnose.Info, 0

	for _, c := range []struct {
		name string
		r    Report
		want string
	}{
		{"nothing to see", Report{Found: 2, Read: 2, Databases: make([]Database, 2)}, "No source reports how long operations of 2 databases took, so a stall can be neither detected nor ruled out."},
		{"no stall", Report{Found: 2, Read: 2, Databases: watched, WatchedS: 7200, Groups: []Group{cause("A cause", 1)}}, "No stall in 2 databases, watched for 2h in total."},
		{"one of two", Report{Found: 2, Read: 2, Stalled: 1, StalledS: 90, WatchedS: 7200, Databases: watched, Groups: []Group{symptom, remark, none, cause("The IOPS cap binds", 1)}},
			"1 of 2 databases stalled, for 90.0 s of 2h in total. Why: the IOPS cap binds (1 database)."},
		{"acronyms", Report{Found: 1, Read: 1, Stalled: 1, StalledS: 90, WatchedS: 3600, Databases: watched[:1], Groups: []Group{cause("WAL buffers are full", 2), cause("I/O waits above the device", 1), cause("EBS's own check", 1), cause("A fourth", 1)}},
			"1 of 1 database stalled, for 90.0 s of 1h in total. Why: WAL buffers are full (2 databases); I/O waits above the device (1 database); EBS's own check (1 database)."},
		{"some were not read", Report{Found: 5, Read: 2, Databases: watched, WatchedS: 7200}, "No stall in 2 databases, watched for 2h in total. 3 of 5 databases are not included."},
	} {
		if got := verdict(&c.r); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Groups list causes before symptoms, with remarks last within each kind. Otherwise the requested rank
// decides the order; an unknown price is not a price of zero.
func TestRank(t *testing.T) {
	usd := func(x float64) *Price { return &Price{MonthlyUSD: x} }
	all := []Group{
		{
			Rule:       "refuted",
			Kind:       diagnose.Refutation,
			ExplainedS: 900,
		}, {Rule: "symptom", Kind: diagnose.Symptom, ExplainedS: 800}, {Rule: "remark", Kind: diagnose.Cause, Severity: diagnose.Info, ExplainedS: 700},
		{
			Rule:       "long",
			Kind:       diagnose.Cause,
			ExplainedS: 600,
			Names:      make([]string, 1),
		}, {Rule: "cheap", Kind: diagnose.Cause, ExplainedS: 500, Names: make([]string, 2), Price: usd(10)},
		{
			Rule:       "dear",
			Kind:       diagnose.Cause,
			ExplainedS: 550,
			Names:      make([]string, 2),
			Price:      usd(100),
		}, {Rule: "free", Kind: diagnose.Cause, ExplainedS: 1, Names: make([]string, 9), Price: usd(0)},
	}
	for by, want := range map[string]string{
		"": "long dear cheap free remark symptom refuted", "databases": "free dear cheap long remark symptom refuted", "money": "free cheap dear long remark symptom refuted",
	} {
		gs := append([]Group(nil), all...)
		rank(gs, by)
		var got []string
		for _, g := range gs {
			got = append(got, g.Rule)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %q: %s, want %s", by, strings.Join(got, " "), want)
		}
	}
}

// stored is a series of an exporter that a store labels, with some samples.
func stored(instance, replica, device string, samples int) recording.Series {
	return recording.Series{
		Labels: labels.FromStrings(
			"__name__",
			"node_disk_io_time_seconds_total",
			"instance",
			instance,
			"job",
			"node",
			"replica",
			replica,
			"device",
			device,
		),
		Points: make([]promql.FPoint, samples),
	}
}

// A label that is on every series and differs between those of one exporter says where they are stored. Of
// the replicas of a series, the one with the most samples is kept.
func TestReplicas(t *testing.T) {
	two := []recording.Series{
		stored("db1:9100", "a", "sda", 10),
		stored("db1:9100", "b", "sda", 12),
		stored("db1:9100", "a", "sdb", 5),
		stored("db2:9100", "b", "sda", 7),
	}
	if got := storeLabels(two); fmt.Sprint(got) != "[device replica]" {
		// Series of one exporter also differ by device, so both labels may be the store's.
		t.Errorf("labels of the store: %v", got)
	}

	one := merged(two, []string{"replica"})
	var got []string
	for _, s := range one {
		got = append(
			got,
			fmt.Sprint(
				s.Labels.Get("instance"),
				" ",
				s.Labels.Get("device"),
				" ",
				len(s.Points),
				s.Labels.Get("replica"),
			),
		)
	}
	if want := "db1:9100 sda 12, db2:9100 sda 7, db1:9100 sdb 5"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	if got := merged(two, nil); len(got) != 4 {
		t.Errorf("without labels to ignore: %d series", len(got))
	}

	if got := storeNote([]Database{{}, {}}); got != "" {
		t.Error(got)
	}
	if got, want := storeNote([]Database{{store: []string{"replica"}}, {store: []string{"prometheus", "replica"}}, {}}), "series of one exporter differ in prometheus, replica (2 databases): treated as replica labels and ignored, as with Thanos' --query.replica-label"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Errors name what was looked for, and say what to do.
func TestErrors(t *testing.T) {
	at := time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)
	missing := &MissingError{Server: "http://prom:9090", From: at, To: at.Add(time.Hour), pack: corerules.NewPack(nil)}
	if got := missing.Error(); got != "http://prom:9090 has none of the metrics that the rules read, for any series between 2026-07-20T12:00:00Z and 2026-07-20T13:00:00Z" {
		t.Error(got)
	}
	missing.Selector = `{cluster="a"}`
	if got := missing.Error(); !strings.Contains(got, `for {cluster="a"} between`) {
		t.Error(got)
	}
	if got := missing.Hint(); !strings.Contains(got, "check --selector and --from") ||
		!strings.Contains(got, "node_exporter on the same host") {
		t.Error(got)
	}

	unknown := &UnknownError{Name: "db9", Near: []string{"db1", "db2"}}
	if unknown.Error() != `no database is called "db9"` ||
		unknown.Hint() != "existing names include: db1, db2" {
		t.Errorf("%v: %s", unknown, unknown.Hint())
	}
}

// The names that are suggested contain what was typed, or are the first ones.
func TestNearNames(t *testing.T) {
	c := &Census{}
	for i := range 12 {
		c.Databases = append(c.Databases, Member{Name: fmt.Sprintf("prod-%d", i)})
	}
	c.Databases = append(c.Databases, Member{Name: "staging/db"})
	if got := near("staging", c); fmt.Sprint(got) != "[staging/db]" {
		t.Error(got)
	}
	if got := near("none", c); len(got) < 8 || got[0] != "prod-0" {
		t.Error(got)
	}
}

// A list ends with the number of omitted entries; a server's name contains its group's name only once.
func TestNames(t *testing.T) {
	texts := []string{"a", "b", "c"}
	if got := fmt.Sprint(first(texts, 3), first(texts, 2), texts); got != "[a b c] [a b 1 more] [a b c]" {
		t.Error(got)
	}
	for _, c := range [][3]string{{"prod", "db1", "prod/db1"}, {"prod", "prod/db1", "prod/db1"}, {"prod", "production", "prod/production"}} {
		if got := inGroup(c[0], c[1]); got != c[2] {
			t.Errorf("%s in %s: %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

// The price of twice a limit is based on the limit that was bought, inferred from the measured level, and is
// given only if twice the limit is for sale.
func TestTwice(t *testing.T) {
	for _, c := range []struct {
		name string
		cap  rules.Cap
		ok   bool
	}{
		{"IOPS", rules.Cap{IOPS: 3003}, true}, {"throughput", rules.Cap{Throughput: 126e6}, true}, {"beyond the maximum", rules.Cap{IOPS: 70_000}, false},
	} {
		usd, ok := twice(&c.cap)
		if ok != c.ok || ok && usd <= 0 {
			t.Errorf("%s: %v USD, %v", c.name, usd, ok)
		}
	}
	near, exact := rules.Cap{IOPS: 3003}, rules.Cap{IOPS: 3000}
	a, _ := twice(&near)
	b, _ := twice(&exact)
	if a != b || a != 3000*0.005 {
		t.Errorf("3,003 measured: %v USD, 3,000 bought: %v USD, want 15", a, b)
	}
	for _, c := range [][3]float64{{3003, 500, 3000}, {2740, 500, 2500}, {2760, 500, 3000}, {0, 500, 0}} {
		if got := rounded(c[0], c[1]); got != c[2] {
			t.Errorf("%v in steps of %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}
