package results

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// Changes of volumes are in words; others, and what becomes unset, are as in the scenario.
func TestChangeInWords(t *testing.T) {
	for _, c := range []struct {
		change plan.Change
		want   string
	}{
		{plan.Change{Path: "volumes.wal", To: "{type: io2}"}, "a separate io2 volume for the wal"},
		{plan.Change{Path: "volumes.wal", To: "{type: gp3, size: 10GiB}"}, "a separate 10 GiB gp3 volume for the wal"},
		{plan.Change{Path: "volumes.wal", To: "{type: gp3, size: 1.5TB, iops: 6000}"}, "a separate 1.5 TB gp3 volume for the wal with 6000 IOPS"},
		{plan.Change{Path: "volumes.wal", To: "{type: gp3, stripe: 2}"}, "volumes.wal = {type: gp3, stripe: 2}"},
		{plan.Change{Path: "volumes.data", From: "{type: gp2}", To: "{type: gp3}"}, "volumes.data = {type: gp3}"}, // not a separate one
		{plan.Change{Path: "volumes.data.iops", From: "3000", To: "6000"}, "6000 IOPS for the data volume"},
		{plan.Change{Path: "volumes.data.type", From: "gp2", To: "gp3"}, "type gp3 for the data volume"},
		{plan.Change{Path: "volumes.data.iops", From: "3000"}, "volumes.data.iops = (not set)"},
		{plan.Change{Path: "volumes.data.size", From: "1TB", To: "2TB"}, "volumes.data.size = 2TB"},
		{plan.Change{Path: "host.instance", From: "a", To: "b"}, "host.instance = b"},
		{plan.Change{Path: "volumes.a.b.c", To: "1"}, "volumes.a.b.c = 1"},
	} {
		if got := changeWords(c.change); got != c.want {
			t.Errorf("%+v: %s, want %s", c.change, got, c.want)
		}
	}
}

func TestNeedText(t *testing.T) {
	for need, want := range map[string]string{"online": "nothing: applied online", "application": "a change to the application", "restart": "a restart", "new volume": "a new volume"} {
		if got := needText(need); got != want {
			t.Errorf("%s: %s, want %s", need, got, want)
		}
	}
}

// A frontier needs two layouts with a figure and a price.
func TestFrontierSection(t *testing.T) {
	for name, change := range map[string]func(*plan.Plan){
		"without prices":     func(p *plan.Plan) { p.Unpriced = true },
		"one layout":         func(p *plan.Plan) { p.Frontier = p.Frontier[:1] },
		"without objectives": func(p *plan.Plan) { p.Objectives = nil },
		"of zero":            func(p *plan.Plan) { p.Frontier = []*plan.Layout{laid(1, 0), laid(2, 1)} },
		"without figures":    func(p *plan.Plan) { p.Frontier = []*plan.Layout{{MonthlyUSD: 1}, laid(2, 1)} },
	} {
		p := planned()
		change(p)
		if s := frontierSection(p, newLedger(Origin{})); s.Parts != nil {
			t.Errorf("%s: there is a frontier", name)
		}
	}

	p := planned()
	s := frontierSection(p, newLedger(Origin{}))
	if s.Parts == nil {
		t.Fatal("no frontier")
	}
	var got []string
	for _, x := range s.Parts[0].Figure.Plot.(document.Frontier).Points {
		got = append(got, x.Name)
	}
	want := "volumes.data.type=st1|as is|volumes.wal={type: gp3, size: 10GiB} (chosen)|volumes.data.iops=16000"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}

	p.Chosen = p.Now
	s = frontierSection(p, newLedger(Origin{}))
	if got := s.Parts[0].Figure.Table.Rows[1][4].Note; got != "now, and chosen" {
		t.Errorf("the layout of today, if it is enough: %q", got)
	}
}

// Platforms are by price; those without a plan are last, with the reason.
func TestPlatforms(t *testing.T) {
	p := planned()
	p.Platforms = []plan.PlatformPlan{
		{
			Platform: "azure",
			Problem:  "no price of ultra disks is known",
		}, {Platform: "gcp", Region: "us-central1", Chosen: laid(60.1, 0.03, "x=1")},
		{
			Platform: "kubernetes",
			Nearest:  laid(20, 0.4, "x=2"),
		}, {Platform: "aws", Region: "us-east-1", Present: true, Chosen: laid(60, 0.02)}}
	s := platformsSection(p, newLedger(Origin{}))
	if s.Parts == nil {
		t.Fatal("no section")
	}
	var out []string
	for _, row := range s.Parts[0].Table.Rows {
		out = append(
			out,
			strings.TrimRight(
				row[0].Text+" | "+row[1].Text+" | "+row[2].Text+" | "+row[3].Text+" "+row[3].Note,
				" ",
			),
		)
	}
	golden.Inline(t, strings.Join(out, "\n")+"\n", `
aws, us-east-1 | 60 USD | 20.0 ms | as is now there
gcp, us-central1 | 60.1 USD | 30.0 ms | x=1
azure | – | – | no price of ultra disks is known
kubernetes | 20 USD | 400 ms | not enough: x=2
`)

	p.Platforms = p.Platforms[:1]
	if s := platformsSection(p, newLedger(Origin{})); s.Parts != nil {
		t.Error("one platform is no comparison")
	}
}

// Many rejected layouts are folded; a terminal shows the first eight, and where the others are.
func TestRejectedLayouts(t *testing.T) {
	p := planned()
	p.Rejected = nil
	for range rejectedUnfolded + 2 {
		p.Rejected = append(
			p.Rejected,
			plan.Rejected{Layout: laid(41, 0.9, "host.cores=4"), Reason: "write_p99 900 ms"},
		)
	}
	got := set(t, Plan(p, Origin{}), text.Options{Width: 100})
	if n := strings.Count(got, "write_p99 900 ms"); n != rejectedUnfolded ||
		!strings.Contains(got, "and 2 more") ||
		!strings.Contains(got, "-o json has all of them.") {
		t.Errorf("%d rejected layouts:\n%s", n, got)
	}
}

// The commands that apply a plan depend on where its scenario and its files are.
func TestPlanNextSteps(t *testing.T) {
	commands := func(p *plan.Plan, o Origin) string {
		var out []string
		for _, x := range applySection(p, p.Chosen, newLedger(o)).Parts {
			out = append(out, x.Commands...)
		}
		return strings.Join(out, "\n") + "\n"
	}

	p := planned()
	golden.Inline(t, commands(p, Origin{File: "a b.yaml", Command: []string{"plan", "a b.yaml"}}), `
plimsoll simulate 'a b.yaml' --set 'volumes.wal={type: gp3, size: 10GiB}'
plimsoll plan 'a b.yaml' -o json > plan.json
plimsoll emit plan.json --help
`)
	golden.Inline(
		t,
		commands(p, Origin{File: "s.yaml", Made: "plimsoll fit rec --out s.yaml", Folder: "my layout"}),
		`
plimsoll fit rec --out s.yaml && plimsoll simulate s.yaml --set 'volumes.wal={type: gp3, size: 10GiB}'
less 'my layout/README.md'
`,
	)
	p.To = "kubernetes"
	golden.Inline(t, commands(p, Origin{File: "s.yaml"}), `
plimsoll simulate s.yaml --set 'volumes.wal={type: gp3, size: 10GiB}'
plimsoll ... --out layout
`)
}
