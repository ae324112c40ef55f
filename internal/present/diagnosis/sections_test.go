package diagnosis

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// severalIncidents is a report of three incidents: a stall, one that is mostly unexplained, and a time that
// was only slower.
func severalIncidents() *diagnosed {
	worst := 7.6
	cause := func(weight float64) diagnose.Finding {
		return diagnose.Finding{
			Kind:     diagnose.Cause,
			Severity: diagnose.Critical,
			Title:    "The IOPS cap binds",
			Subject:  "nvme1n1",
			Weight:   weight,
		}
	}
	r := &diagnose.Report{
		Span:          span(0, 300),
		Incident:      1,
		MoreIncidents: 2,
		Stalls:        diagnose.StallSummary{Signal: "MongoDB writes", Of: 300},
		Incidents: []diagnose.Incident{
			{
				ID:      1,
				Kind:    diagnose.Stalled,
				From:    at(10),
				To:      at(40),
				Subject: "MongoDB writes",
				Hurt: []diagnose.Hurt{
					{Signal: "MongoDB writes", WorstS: &worst, Operations: 1200},
					{Signal: "MongoDB reads", Operations: 34},
				},
				Stalls: diagnose.StallSummary{
					Seconds: 25,
					PeriodS: 60,
				},
				Findings: []diagnose.Finding{
					cause(0.9),
					{Kind: diagnose.Refutation, Title: "The cache is large enough"},
				},
			},
			{
				ID:       2,
				Kind:     diagnose.Stalled,
				From:     at(10),
				To:       at(12),
				Hurt:     []diagnose.Hurt{{Signal: "MongoDB reads"}},
				Stalls:   diagnose.StallSummary{Seconds: 2},
				Findings: []diagnose.Finding{cause(0.01)},
			},
			{
				ID:   3,
				Kind: diagnose.Worse,
				From: at(100),
				To:   at(200),
				Hurt: []diagnose.Hurt{{Signal: "MongoDB writes"}},
				Findings: []diagnose.Finding{
					{Kind: diagnose.Cause, Severity: diagnose.Info, Title: "A remark"},
				},
			}},
	}
	return &diagnosed{Report: r, Options: Options{Location: time.UTC}, clock: NewClock(r.Span, nil)}
}

// Each incident has a row, the most harmful first: what suffered, for how long, and why.
func TestIncidentTable(t *testing.T) {
	golden.Inline(t, rowsOf(severalIncidents().incidents()), `
Incidents: 
1 | 15:55:10-15:55:40 | MongoDB writes, MongoDB reads | 25.0 s | 7.60 s | 1,234 | 60.0 s | The IOPS cap binds (nvme1n1). The cache is large enough
2 | 15:55:10-15:55:12 | MongoDB reads | 2.00 s | – | – |  | mostly unexplained; The IOPS cap binds (nvme1n1)
3 | 15:56:40-15:58:20 | MongoDB writes | slower | – | – |  | no cause found
The following sections describe incident 1. --incident N shows another one in full. 2 less harmful ones were not judged.
`)

	// A list of one would repeat the verdict.
	d := severalIncidents()
	d.Incidents = d.Incidents[:1]
	if got := d.incidents(); got.Parts != nil {
		t.Errorf("%+v", got)
	}
}

// While sources are watched, each incident is now or earlier; two that begin in one second have one address.
func TestIncidentsWhileWatched(t *testing.T) {
	d := severalIncidents()
	d.Live, d.Incidents[1].Ongoing = true, true
	rows := d.incidents().Parts[0].Table.Rows
	if rows[0][1].Text != "earlier, 15:55:10-15:55:40" || rows[1][1].Text != "now, 15:55:10-15:55:12" {
		t.Errorf("%s; %s", rows[0][1].Text, rows[1][1].Text)
	}
	if rows[0][1].Anchor != "2026-07-20T15:55:10Z" || rows[1][1].Anchor != "" {
		t.Errorf("addresses %q and %q", rows[0][1].Anchor, rows[1][1].Anchor)
	}
}

// The first fact about watched sources says whether there is a stall now; for a file there is no such fact.
func TestNow(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*diagnosed)
		want   string
	}{
		{"a file", func(d *diagnosed) { d.Live = false }, ""}, {"nothing was watched", func(d *diagnosed) { d.Stalls.Of = 0 }, ""},
		{"over", func(*diagnosed) {}, "no stall: since 15:55:40; the findings below are from before"},
		{"none", func(d *diagnosed) { d.Incidents = nil }, "no stall: none in this window"},
		{"only slower", func(d *diagnosed) { d.Incidents = d.Incidents[2:] }, "no stall: none in this window"},
		{"stalls", func(d *diagnosed) { d.Incidents[0].Ongoing = true }, "ongoing: MongoDB writes: The IOPS cap binds (nvme1n1). The cache is large enough"},
		{"the latest of two", func(d *diagnosed) {
			d.Incidents[0].Ongoing, d.Incidents[2].Ongoing, d.Incidents[2].Subject = true, true, "MongoDB reads"
		}, "ongoing: MongoDB reads: no cause found"},
	} {
		d := severalIncidents()
		d.Live = true
		c.change(d)
		got := ""
		for _, f := range d.now() {
			got = f.Value + ": " + f.Note
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// With several servers, the verdict names the worst-affected one, and up to three others that stalled.
func TestServers(t *testing.T) {
	of := func(name, engine, verdict string, stalled float64) *diagnose.Report {
		return &diagnose.Report{
			Server:  &diagnose.Server{Name: name, Engine: engine},
			Verdict: verdict,
			Stalls:  diagnose.StallSummary{Seconds: stalled},
		}
	}
	many := of(
		"db2",
		"mongodb",
		"2 incidents in 5m, most harmful first. 1: Writes stalled for 9 s. 2: Reads stalled.",
		9,
	)
	many.Incidents = []diagnose.Incident{
		{Stalls: diagnose.StallSummary{Seconds: 9}},
		{From: at(100), To: at(101)},
	}
	host := of("web1", "", "No stall.", 0)
	host.Notes = []string{"its clock is off"}
	d := &diagnosed{Report: of("db1", "mongodb", "Writes stalled.", 70)}
	d.Others = []*diagnose.Report{
		many,
		of("db3", "mongodb", "Writes stalled for 3 s.", 3),
		of("db4", "etcd", "Writes stalled for 2 s.", 2),
		of("db5", "etcd", "Writes stalled for 1 s.", 1),
		host,
	}

	p := &document.Document{Title: "Writes stalled.", Verdict: "Writes stalled."}
	d.nameServer(p)
	golden.Inline(t, p.Verdict+"\n"+strings.Join(p.Lead, "\n")+"\n", `
db1: Writes stalled.
db2: 2 incidents in 5m, most harmful first. 1: Writes stalled for 9 s.
db3: Writes stalled for 3 s.
db4: Writes stalled for 2 s.
Each server was judged separately. This is the most harmful one; 5 others are under OTHER SERVERS.
`)
	golden.Inline(t, rowsOf(d.others()), `
Other servers: 
db2 | mongodb | 2 incidents in 5m, most harmful first. 1: Writes stalled for 9 s. 2: Reads stalled.
db3 | mongodb | Writes stalled for 3 s.
db4 | etcd | Writes stalled for 2 s.
db5 | etcd | Writes stalled for 1 s.
web1 | host | No stall.
web1: its clock is off
To see one server in full, give only its sources, or --selector.
`)

	d.Others = d.Others[4:]
	p = &document.Document{}
	if d.nameServer(p); len(p.Lead) != 1 || !strings.Contains(p.Lead[0], "1 other is under OTHER SERVERS") {
		t.Errorf("%q", p.Lead)
	}
	d.Others = nil
	p = &document.Document{Verdict: "V."}
	if d.nameServer(p); p.Verdict != "V." || d.others().Parts != nil {
		t.Errorf("a server alone is named: %+v", p)
	}
}

// Marks are compared with the time around them; what was not measured is a dash.
func TestMarkTable(t *testing.T) {
	mean, rate := 0.012, 612.0
	d := &diagnosed{
		Report: &diagnose.Report{
			Span:   span(0, 300),
			Stalls: diagnose.StallSummary{Signal: "MongoDB writes"},
			Marks: []diagnose.Marked{
				{
					At:     at(100),
					Text:   "IOPS raised",
					Before: diagnose.Side{WatchedS: 100, StalledS: 25, MeanS: &mean, Rate: &rate},
					After:  diagnose.Side{WatchedS: 200},
				},
				{At: at(300), Text: "stopped", Before: diagnose.Side{WatchedS: 200, StalledS: 200}}},
		},
	}
	d.clock = NewClock(d.Span, nil)
	golden.Inline(t, rowsOf(d.marks()), `
Marks: 
IOPS raised | 15:56:40 | 25 % | 0 % | 12.0 ms | – | 612/s | –
stopped | 16:00:00 | 100 % | – | – | – | – | –
Figures are of MongoDB writes, between adjacent marks. To test whether a change helped: plimsoll prove SOURCE --at-mark.
`)
	d.Marks = nil
	if d.marks().Parts != nil {
		t.Error("a table without marks")
	}
}

// steps are an action as a reader follows it.
func steps(a *diagnose.Action) string {
	var b strings.Builder
	task := action(a, 1)
	b.WriteString(task.Title + " (" + task.Brief + ")\n")
	for _, s := range task.Steps {
		minor := ""
		if s.Minor {
			minor = "~"
		}
		b.WriteString(strings.TrimRight(minor+s.Label+": "+strings.Join(s.Commands, " && ")+s.Text, " ") + "\n")
	}
	return b.String()
}

// The price comes before the command, because some readers run each line as they read it. An action that only
// reads has nothing to check or to undo.
func TestAction(t *testing.T) {
	a := &diagnose.Action{
		Title:      "Raise the volume's IOPS",
		Rule:       "disk/iops-capped",
		Subject:    "nvme1n1",
		Place:      "host",
		PlaceKnown: true,
		Host:       "db-0",
		Look:       []string{"look"},
		Do:         []string{"do"},
		Check:      []string{"check"},
		Undo:       []string{"undo"},
		Cost:       "USD 15 a month",
		Money:      "about USD 15.00 a month for 3,000 IOPS",
		Expect:     "no stall",
		Kept:       "the volume keeps it",
		Notes:      []string{"one", "two"},
		WaitS:      600,
		Until:      "ten checkpoints have run",
		RecordS:    900,
		Prove:      []string{"plimsoll prove a b"},
	}
	golden.Inline(t, steps(a), `
Raise the volume's IOPS (no restart; USD 15.00 a month)
costs: USD 15 a month
look: look
run: do
check: check
undo: undo
expect: no stall
~keep: the volume keeps it
~for: disk/iops-capped (nvme1n1)
~where: on the host db-0
~note: one
~: two
prove: wait 10m, until ten checkpoints have run; record for 15m; then compare
: plimsoll prove a b
`)

	a.Do, a.Cost, a.Money, a.Restart, a.PlaceKnown, a.Notes = nil, "", "paid by the hour", "mongod, for a minute", false, nil
	golden.Inline(t, steps(a), `
Raise the volume's IOPS (restarts mongod; paid)
costs: nothing: it only reads
run: look
undo: nothing to undo
expect: no stall
~keep: the volume keeps it
~for: disk/iops-capped (nvme1n1)
~where: the sources do not show where the database runs: these commands are for a Linux host
: plimsoll prove a b
`)
}

// The first action is in full; the others are named, and to be tried one at a time.
func TestActions(t *testing.T) {
	d := severalIncidents()
	if d.doNow() != nil || d.then().Parts != nil {
		t.Error("something to do without actions")
	}
	d.Actions = []diagnose.Action{{Title: "Raise the IOPS"}}
	if got := d.doNow(); got.Title != "Do now about incident 1" || len(got.Parts) != 1 || d.then().Parts != nil {
		t.Errorf("%+v", got)
	}
	d.Actions, d.Incidents = append(
		d.Actions,
		diagnose.Action{Title: "WAL on its own volume"},
		diagnose.Action{Title: "Tune writeback"},
	), nil
	if got := d.doNow(); got.Title != "Do now" ||
		got.Parts[1].Text != "If that is not enough: WAL on its own volume; tune writeback. Try one at a time and check its effect before the next; the commands are below." {
		t.Errorf("%+v", got)
	}
	if got := d.then().Parts[0].Tasks; len(got) != 2 || got[0].ID != "do2" || got[1].Number != 3 {
		t.Errorf("%+v", got)
	}
}

// A trace's waits are shares of what was traced, with the stages that matter.
func TestMeasured(t *testing.T) {
	d := &diagnosed{Report: &diagnose.Report{Stalls: diagnose.StallSummary{Seconds: 70}}}
	if d.measured().Parts != nil {
		t.Error("measured without a trace")
	}
	d.Measured = &diagnose.Measured{
		Programs: []string{"mongod"},
		WaitedS:  12,
		StalledS: 60,
		SlowerS:  0.02,
		Waits: []rules.TracedWait{
			{Text: "behind dd", Share: 0.9, Seconds: 10.8},
			{Text: "the device itself", Share: 0.001, Seconds: 0.012},
		},
		Stages: []rules.StageTime{
			{Stage: "device_queue", Share: 0.88},
			{Stage: "lock", Share: 0.001},
			{Stage: "device_own", Share: 0.1},
		},
	}
	s := d.measured()
	if got := s.Parts[1].Text; got != "The same time by stage: 88 % device queue, 10 % device own." {
		t.Error(got)
	}
	if rows := s.Parts[0].Shares.Rows; rows[0].Minor || !rows[1].Minor || rows[0].Amount != "10.8 s" {
		t.Errorf("%+v", rows)
	}
	if !strings.HasPrefix(s.Aside, "12.0 s waited by calls of mongod that took") ||
		!strings.HasSuffix(s.Aside, " over 20.0 ms; a trace ran for 60.0 s of the 70.0 s stalled") {
		t.Error(s.Aside)
	}
}
