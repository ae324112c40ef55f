package table

import (
	"strings"
	"testing"
	"testing/fstest"
)

const suiteText = `
runs:
  - {name: before, scenario: a.yaml}
  - {name: after, scenario: a.yaml, set: [volumes.data.iops=16000], title: more IOPS}
advice:
  - {says: more IOPS, case: checkpoint-gp3, before: before, after: after, figure: write p99}
`

const scenarioText = `
plimsoll: 1
name: one
volumes: {data: {type: gp3, size: 100GiB}}
engine: {streams: {}}
workload: {arrivals: {clients: 1}, mix: {insert: 100%}, document: {size: 2300B}}
`

func TestSuite(t *testing.T) {
	folder := fstest.MapFS{"suite.yaml": {Data: []byte(suiteText)}, "a.yaml": {Data: []byte(scenarioText)}}
	s, err := ReadSuite(folder)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := s.Runs[1].Open(folder, language)
	if err != nil {
		t.Fatal(err)
	}
	if sc.Name != "more IOPS" || sc.Volumes[0].Value.IOPS != 16000 {
		t.Errorf("%s, %+v", sc.Name, sc.Volumes)
	}
}

func TestSuiteDiagnostics(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":        {"advice: []", "0 runs: want 1 to 200"},
		"unknown key": {"runs: [{name: a, scenario: a.yaml, sets: []}]", "sets"},
		"twice":       {"runs: [{name: a, scenario: a.yaml}, {name: a, scenario: a.yaml}]", "needs a unique name"},
		"outside":     {"runs: [{name: a, scenario: ../a.yaml}]", "is not a file in"},
		"no run":      {"runs: [{name: a, scenario: a.yaml}]\nadvice: [{says: x, figure: y, before: a, after: b}]", `no run is called "b"; runs: a`},
		"says what":   {"runs: [{name: a, scenario: a.yaml}]\nadvice: [{before: a, after: a}]", "says and figure are required"},
	} {
		_, err := ReadSuite(fstest.MapFS{"suite.yaml": {Data: []byte(c.text)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := ReadSuite(fstest.MapFS{}); err == nil {
		t.Error("a missing file was accepted")
	}
}

// Advice is confirmed if the lab's figure improves by more than the variation between runs, in every
// run.
func TestVerdicts(t *testing.T) {
	row := func(run string, kind Kind, low, mid, high float64) Row {
		return Row{Run: run, Figure: "f", Kind: kind, Lab: &mid, LabLow: low, LabHigh: high, LabRuns: 3}
	}
	s := &Suite{Advice: []Advice{{Before: "a", After: "b", Figure: "f"}}}
	for name, c := range map[string]struct {
		rows []Row
		want Holds
	}{
		"shorter":             {[]Row{row("a", P99, 1.8, 2, 2.1), row("b", P99, .9, 1, 1.1)}, Better},
		"longer":              {[]Row{row("a", P99, .9, 1, 1.1), row("b", P99, 1.8, 2, 2.1)}, Worse},
		"a higher rate":       {[]Row{row("a", Rate, .9, 1, 1.1), row("b", Rate, 1.8, 2, 2.1)}, Better},
		"a small improvement": {[]Row{row("a", P99, 1.2, 1.2, 1.2), row("b", P99, 1, 1, 1)}, Nothing},
		"ranges overlap":      {[]Row{row("a", P99, .9, 2, 2.1), row("b", P99, .9, 1, 1.1)}, Nothing},
		"one run is missing":  {[]Row{row("a", P99, 1, 1, 1)}, Unknown},
	} {
		if got := s.Verdicts(c.rows)[0].Holds; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
