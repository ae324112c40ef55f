package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

var update = flag.Bool("update", false, "write plimsoll.json anew")

// The dashboard in the repository is up to date with the pack.
func TestDashboardIsCurrent(t *testing.T) {
	var got bytes.Buffer
	if err := write(&got); err != nil {
		t.Fatal(err)
	}

	if *update {
		if err := os.WriteFile("plimsoll.json", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile("plimsoll.json")
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(got.Bytes(), want) {
		t.Error("the pack has changed: make generate")
	}
}

// model is the part of a dashboard that the tests check, as Grafana reads it.
type model struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
	Templating struct{ List []struct{ Name, Type string } }
}

func read(t *testing.T) model {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	var m model
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Every query is valid PromQL once Grafana has replaced its variables.
func TestQueriesParse(t *testing.T) {
	grafana := strings.NewReplacer("$__rate_interval", "1m", "$cluster", "prod-.*", "$instance", ".*")
	seen := 0
	for _, p := range read(t).Panels {
		for _, q := range p.Targets {
			seen++
			e, err := parser.NewParser(parser.Options{}).ParseExpr(grafana.Replace(q.Expr))
			if err != nil {
				t.Errorf("%s: %v", p.Title, err)
				continue
			}

			parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
				if sel, ok := n.(*parser.VectorSelector); ok && !strings.Contains(sel.String(), `cluster=~"prod-.*"`) {
					t.Errorf("%s: %s is of all clusters", p.Title, sel)
				}
				return nil
			})
		}
	}

	if seen < 50 {
		t.Errorf("only %d queries", seen)
	}
}

// Each signal has a panel and each rule a row, except those of benchmarks and of sar's reports, which no server stores.
func TestDashboardHasThePack(t *testing.T) {
	titles := map[string]bool{}
	for _, p := range read(t).Panels {
		titles[p.Title] = true
	}

	for _, s := range pack.Signals() {
		if !titles[title(s)] && !hasPrefix(s, "fio_|bench_|deployment_|sysstat_") {
			t.Errorf("no row has signal %s", s.Name)
		}
	}

	for _, r := range pack.Rules() {
		if strings.HasPrefix(r.ID, "storage/") || strings.HasPrefix(r.ID, "clients/") {
			continue // judges a benchmark's output
		}

		held := 0
		for _, row := range rows() {
			if regexp.MustCompile("^(?:" + row.rules + ")$").MatchString(r.ID) {
				held++
			}
		}

		if held != 1 {
			t.Errorf("rule %s is in %d rows", r.ID, held)
		}
	}
}

// No panel overlaps another, and none exceeds Grafana's 24 columns.
func TestPanelsDoNotOverlap(t *testing.T) {
	cells, ids := map[[2]int]string{}, map[int]bool{}
	m := read(t)
	for _, p := range m.Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d twice", p.Title, p.ID)
		}

		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if over := cells[[2]int{x, y}]; over != "" || x >= 24 {
					t.Fatalf("%s overlaps %q at %d, %d", p.Title, over, x, y)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}

	var names []string
	for _, v := range m.Templating.List {
		names = append(names, v.Name)
	}

	if strings.Join(names, " ") != "datasource cluster instance" {
		t.Errorf("variables are %v", names)
	}
}
