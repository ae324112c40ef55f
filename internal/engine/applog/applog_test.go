package applog_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/prove"
	"plimsoll/internal/engine"
	"plimsoll/internal/engine/applog"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/html"
	"plimsoll/internal/present/markdown"
	"plimsoll/internal/present/results"
	"plimsoll/internal/present/text"
	"plimsoll/internal/record/recording"
)

// all is the list of engines with one more entry. That entry and this folder are all that the program
// contains about the engine.
var all = append(engine.All(), &applog.Engine)

const deployed = `
plimsoll: 1
name: applog
run: {duration: 8min, warmup: 30s}
host: {cores: 4, memory: 8GiB}
volumes:
  data: {type: gp3, size: 100GiB, iops: 3000, throughput: 125MiB/s}
engine: {applog: {compaction: 30s, live: 1GiB}}
workload:
  arrivals: {poisson: 200/s}
  document: {size: 1KiB}
  keys: {count: 100000}
  mix: {update: 100%}
objective: {write_p99: 50ms}
`

// parsed returns the scenario with assignments.
func parsed(t *testing.T, sets ...string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.NewLanguage(all.Models(), nil).Parse("applog.yaml", []byte(deployed), sets)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// run simulates the scenario and returns its result and recording.
func run(t *testing.T, sets ...string) (*simulate.Result, *recording.Memory) {
	t.Helper()
	sc := parsed(t, sets...)
	m := recording.NewMemory(recording.MemoryOptions{})
	r, err := simulate.Run(t.Context(), sc, simulate.Options{Record: m, Series: true})
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}

// An engine that only its own files refer to works end to end: from a scenario to a recording, a diagnosis
// with its own cause, a plan, a proof, and the pages of all of them.
func TestTheWholeWay(t *testing.T) {
	pack := corerules.NewPack(all.Rules())
	now, before := run(t)
	apart, after := run(t, "volumes.log={type: gp3, size: 10GiB}")

	r, err := diagnose.Run(t.Context(), []recording.Reader{before}, diagnose.Options{Pack: pack, Slots: 600})
	if err != nil {
		t.Fatal(err)
	}

	if len(r.Findings) == 0 || r.Findings[0].Rule != "applog/compaction-stall" || r.Stalls.Seconds == 0 {
		t.Errorf("verdict %q, findings %+v", r.Verdict, r.Findings)
	}

	p, err := plan.Make(t.Context(), parsed(t), "applog.yaml", plan.Options{Engines: all.Plans(), Most: 60})
	if err != nil {
		t.Fatal(err)
	}

	if p.Chosen == nil || !strings.HasPrefix(strings.Join(p.Chosen.Sets, " "), "volumes.log") {
		t.Fatalf("no layout: %+v", p)
	}

	proof, err := prove.Compare(t.Context(), []recording.Reader{before}, []recording.Reader{after}, prove.Options{Pack: pack})
	if err != nil {
		t.Fatal(err)
	}

	if proof.Verdict != prove.Better {
		t.Errorf("a separate log: %q", proof.Verdict)
	}

	for _, d := range []*document.Document{
		diagnosis.Document(r, diagnosis.Options{Pack: pack}),
		results.Simulation([]*simulate.Result{now}, results.Origin{}),
		results.Simulation([]*simulate.Result{now, apart}, results.Origin{}),
		results.Plan(p, results.Origin{}),
		results.Proof(pack, proof, time.UTC, "after", nil),
	} {
		written(t, d)
	}
}

// written writes a document to every medium.
func written(t *testing.T, d *document.Document) {
	t.Helper()
	var terminal, page, mark bytes.Buffer
	for medium, err := range map[string]error{
		"text": text.Write(&terminal, d, text.Options{}), "HTML": html.Write(&page, d), "Markdown": markdown.Write(&mark, d),
	} {
		if err != nil {
			t.Errorf("%s as %s: %v", d.Kind, medium, err)
		}
	}

	first, _, _ := strings.Cut(d.Verdict, " ")
	for medium, b := range map[string]*bytes.Buffer{"text": &terminal, "HTML": &page, "Markdown": &mark} {
		if !strings.Contains(b.String(), first) {
			t.Errorf("%s as %s does not have its verdict %q", d.Kind, medium, d.Verdict)
		}
	}
}

// TestScripts runs the scripts of the engine's rules.
func TestScripts(t *testing.T) {
	scripts, err := ruletest.Scripts(corerules.NewPack(all.Rules()))
	if err != nil {
		t.Fatal(err)
	}

	ran := 0
	for _, s := range scripts {
		if !strings.Contains(s.Name, "applog") {
			continue
		}
		for i := range s.Cases {
			ran++
			failures, err := s.Run(t.Context(), &s.Cases[i])
			if err != nil || len(failures) > 0 {
				t.Errorf("%s: %v, %v", s.Cases[i].Title, failures, err)
			}
		}
	}

	if ran != 3 {
		t.Errorf("%d cases ran, want 3", ran)
	}
}
