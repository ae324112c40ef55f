package results

import (
	"strings"
	"testing"

	"plimsoll/internal/present/document"
)

// Evidence names the decisive lines of the scenario, and links to them.
func TestEvidenceNamesLines(t *testing.T) {
	g := newLedger(Origin{File: "s.yaml", Text: []byte("\ufeff# volumes:\nplimsoll: 1\nengine:\n  iris: {}\n  data: no volume\nvolumes: # of both\n\n  wal: {type: gp3}\n# a word\n  data:\n    type: gp3\nworkload: {}\n")})
	for path, want := range map[string]string{"engine": "s.yaml:3", "volumes": "s.yaml:6", "volumes.wal": "s.yaml:8", "volumes.data": "s.yaml:10", "volumes.none": "s.yaml:6", "workload": "s.yaml:12", "host": ""} {
		got := ""
		for _, c := range g.where(path) {
			if got = c.Text; c.Href != "#line"+strings.TrimPrefix(got, "s.yaml:") {
				t.Errorf("%s leads to %s", got, c.Href)
			}
		}
		if got != want {
			t.Errorf("%s stands at %q, want %q", path, got, want)
		}
	}

	long := newLedger(Origin{File: "s.yaml", Text: []byte(strings.Repeat("a: "+strings.Repeat("x", 2*lineBytesMax)+"\n", 2*linesMax))})
	if lines := long.lines(); len(lines) != linesMax || len(lines[0]) > lineBytesMax+3 {
		t.Errorf("of a long scenario %d lines are shown, the first of %d bytes", len(lines), len(lines[0]))
	}
}

// Evidence is cited once however many figures depend on it, and prices name their sources.
func TestLedgerCites(t *testing.T) {
	g := newLedger(
		Origin{
			File:   "a b.yaml",
			Prices: []Price{{"gp3", "AWS, 2026"}, {"io2", "AWS, 2026"}, {"m6i.large", "EC2, 2025"}},
		},
	)
	if first, again := g.priced(), g.priced(); first != again || len(g.list) != 1 {
		t.Errorf("%s and %s of %d", first, again, len(g.list))
	}
	if e := g.list[0]; e.Text != "gp3, io2: AWS, 2026; m6i.large: EC2, 2025." ||
		strings.Join(
			e.Commands,
			"; ",
		) != "plimsoll catalog show gp3; plimsoll catalog show io2; plimsoll catalog show m6i.large" {
		t.Errorf("%+v", e)
	}
	if href := g.accurate(); href != "#e2" {
		t.Error(href)
	}
	if got := g.simulated([]string{"volumes.data.iops=6000"}); got != "plimsoll simulate 'a b.yaml' --set volumes.data.iops=6000" {
		t.Error(got)
	}
	if got := newLedger(Origin{}).section(); got.Parts != nil {
		t.Errorf("a section without evidence: %+v", got)
	}
}

// A lab's page says how to run it again: as root, unless it is an existing server.
func TestLedgerOfLab(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"lab", "run", "a.yaml"}, "sudo plimsoll lab run a.yaml -o json|sudo plimsoll lab run a.yaml --out DIR"},
		{[]string{"lab", "run", "a.yaml", "--server", "db1"}, "plimsoll lab run a.yaml --server db1 -o json|plimsoll lab run a.yaml --server db1 --out DIR"},
		{[]string{"plan", "a.yaml"}, "plimsoll plan a.yaml -o json"},
	} {
		g := newLedger(Origin{Command: c.command})
		g.page("This run")
		if got := strings.Join(g.list[0].Commands, "|"); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if g := newLedger(Origin{}); g.page("x") != "" || g.called() != "plimsoll ..." {
		t.Error("a page of no command cites one")
	}
}

// A row's figures link to its evidence, except what has a link or nothing to show.
func TestLinked(t *testing.T) {
	row := linked(
		"#e1",
		[]document.Cell{{Text: "write p99"}, {Text: "7.6 s"}, {Text: "–"}, {}, {Text: "1", Href: "#e9"}},
	)
	got := row[0].Ref + " " + row[0].Href
	for _, c := range row[1:] {
		got += "," + c.Href
	}
	if got != "#e1 ,#e1,,,#e9" {
		t.Error(got)
	}
}

// A long line of a scenario is cut between characters.
func TestLongLinesAreCut(t *testing.T) {
	g := newLedger(Origin{Text: []byte("a" + strings.Repeat("é", lineBytesMax) + "\nshort\n")})
	lines := g.lines()
	if want := "a" + strings.Repeat("é", lineBytesMax/2-1) + "..."; lines[0] != want || lines[1] != "short" {
		t.Errorf("%d bytes, ends in %q", len(lines[0]), lines[0][len(lines[0])-6:])
	}
}
