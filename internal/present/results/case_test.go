package results

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/text"
)

// walked is a published case with figures of each kind: in a range, off, only modelled, and not modelled.
func walked() *casebook.Walk {
	figure := func(name string, got, deviation *float64, published ...float64) casebook.WalkedFigure {
		return casebook.WalkedFigure{
			Figure: casebook.Figure{
				Name:      name,
				Unit:      "seconds",
				Model:     "writes.all.p99_seconds",
				Published: published,
			},
			Got:       got,
			Deviation: deviation,
		}
	}
	range2 := figure("write p99", at(0.15), at(0), 0.1, 0.2)
	off := figure("slowest write", at(9), at(0.5), 6)
	modelled, lost := figure("write p50", at(0.001), nil), figure("read p99", nil, nil, 0.5)
	unmodelled := figure("lock waits", nil, nil, 3)
	unmodelled.Model, unmodelled.Note, off.Variant = "", "the model has no locks", "gp2"
	p := planned()
	return &casebook.Walk{
		Case: &casebook.Case{
			Title:     "checkpoints on gp3",
			Published: "a fleet of sensors",
			Variants:  []casebook.Variant{{Name: "gp3"}, {Name: "gp2"}},
			Assumed:   []string{"documents of 1 KB"},
			Server:    []casebook.Advised{{Advice: "Use gp3.", Engine: "helps.", Server: "helps less."}},
		},
		Steps: []casebook.WalkedStep{
			{
				Step:    "symptom",
				Text:    "Writes stall.",
				Figures: []casebook.WalkedFigure{range2, off, modelled, lost, unmodelled},
			},
			{Step: "cause", Text: "A full cache."},
		},
		Corrections: []casebook.WalkedCorrection{
			{Claim: "More IOPS help.", Truth: "They do not."},
		},
		Diagnosis: &casebook.Diagnosis{
			Verdict: "Checkpoints stall writes.",
			Rules:   []string{"wiredtiger/checkpoint-stall"},
		},
		Tried: []casebook.Tried{
			{
				Says:   "gp3 instead of gp2",
				Claim:  "half the latency",
				Holds:  table.Better,
				Before: &table.Row{Figure: "write p99", Unit: "seconds", Lab: at(2), Model: at(1.8)},
			},
		},
		Results: []*simulate.Result{
			nil,
		},
		Plan:  &casebook.Planned{Objectives: p.Objectives, Now: p.Now, Chosen: p.Chosen},
		Files: []casebook.Written{{Path: "terraform/main.tf", Lines: []string{"type = gp3"}}},
	}
}

// A published case is walked step by step: each published figure is next to the model's, and the page says
// where the publication is wrong.
func TestCase(t *testing.T) {
	golden.Inline(
		t,
		set(
			t,
			Case(corerules.NewPack(nil), walked(), Origin{File: "case/scenario.yaml"}),
			text.Options{Width: 110},
		),
		`
Checkpoints on gp3: in the model a separate 10 GiB gp3 volume for the wal with 3000 IOPS;
engine.mongodb.journal_on = wal; volumes.data.throughput = (not set) takes write p99 from 1.80 s to 20.0 ms,
for 15 USD more a month.
a fleet of sensors

  write p99                         150 ms  published 100 ms to 200 ms
  slowest write, gp2                9.00 s  published 6.00 s
  write p99, planned               20.0 ms  now 1.80 s; 55 USD a month, +15 USD
  published claims that are wrong        1

SYMPTOM
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   Writes stall.

                              published           model  deviation
   write p99           100 ms to 200 ms          150 ms     within
   slowest write, gp2            6.00 s          9.00 s      +50 %
   write p50                          –         1.00 ms          –
   read p99                      500 ms  not measurable          –
   lock waits                    3.00 s    not modelled          –
     the model has no locks

CAUSE
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   A full cache.
   Diagnosis of the simulated recording: Checkpoints stall writes.
   Rules that hold: wiredtiger/checkpoint-stall.

PLAN
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   The cheapest layout that reaches write_p99 < 100 ms; 0 layouts were simulated.

   setting                    now       then                                  a month  requires
   volumes.wal                –         {type: gp3, size: 10GiB, iops: 3000}  +15 USD  a restart
   engine.mongodb.journal_on  –         wal                                      free  a restart
   volumes.data.throughput    250MiB/s  (not set)                                free  nothing: applied online
   Risk: data moves to a new volume.

                             now   chosen  with the model's error  change
   write p99              1.80 s  20.0 ms      10.0 ms to 40.0 ms  1/90.0
   checkpoint median      9.40 s   9.40 s        9.00 s to 10.0 s
   operations per second   612/s    612/s          600/s to 620/s

FILES
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   terraform/main.tf
     type = gp3

WHERE THE PUBLISHED CLAIM IS WRONG
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   > More IOPS help.

   They do not.

THE ADVICE ON A WHOLE SERVER
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   > Use gp3.

   The storage engine alone: helps.
   A whole server: helps less.

TESTED WITH A REAL ENGINE
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   Run on emulated volumes, at a fraction of the published size (plimsoll lab table examples/lab). The figures
   differ from the publication's, but whether the advice helps should not.

   advice              holds  figure           before
   gp3 instead of gp2  holds  write p99        2.00 s
                                         model 1.80 s
     claimed: half the latency

HOW ACCURATE THIS IS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   No parameter of the model was fitted to this case's figures: every deviation is an error of the model or of
   the publication.
   Assumed: Documents of 1 KB.
`,
	)
}

// Without a change there is nothing to write or to prove, and without a plan the page does not mention one.
func TestCaseWithoutPlan(t *testing.T) {
	sections := func(k *casebook.Walk) string {
		var out []string
		for _, s := range Case(corerules.NewPack(nil), k, Origin{}).Sections {
			out = append(out, s.ID)
		}
		return strings.Join(out, " ")
	}
	k := walked()
	k.Plan.Chosen = k.Plan.Now
	if got := sections(k); !strings.Contains(got, "plan") || strings.Contains(got, "files") {
		t.Errorf("nothing changes: %s", got)
	}
	k.Plan = nil
	if got := sections(k); strings.Contains(got, "plan") {
		t.Errorf("no plan: %s", got)
	}

	k = walked()
	k.Files = nil
	for _, s := range Case(corerules.NewPack(nil), k, Origin{}).Sections {
		if s.ID == "files" && s.Parts[0].Text != "None: the changes are to the application." {
			t.Errorf("%+v", s)
		}
	}
}

// A page states what was calibrated on its case, because agreement with that proves nothing.
func TestCaseTrust(t *testing.T) {
	k := walked()
	got := caseTrust(k, newLedger(Origin{})).Parts[0].Text
	if !strings.HasPrefix(got, "No parameter of the model was fitted") {
		t.Error(got)
	}
	k.Case.Calibrated = "the latency of gp3."
	if got := caseTrust(k, newLedger(Origin{})).Parts[0].Text; got != "Calibrated on this case: the latency of gp3." {
		t.Error(got)
	}
}

// A list of cases has their numbers, which the command accepts.
func TestCases(t *testing.T) {
	golden.Inline(
		t,
		set(
			t,
			Cases(
				[]casebook.Entry{
					{
						Number:   1,
						Name:     "checkpoint-gp3",
						Title:    "Checkpoints on gp3",
						Variants: 3,
						Figures:  12,
					},
				},
			),
			text.Options{},
		),
		`
number  name            variants  figures  title
     1  checkpoint-gp3         3       12  Checkpoints on gp3
`,
	)
}
