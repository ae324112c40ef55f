package results

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// proved is a comparison in which writes became faster and the load stayed the same.
func proved() *prove.Report {
	estimate := func(value, low, high float64) prove.Estimate {
		return prove.Estimate{Value: at(value), Low: at(low), High: at(high)}
	}
	side := func(name string, from time.Time) prove.Side {
		return prove.Side{
			Sources: []diagnose.Source{{Kind: "recording", Name: name}},
			Server:  &diagnose.Server{Name: "db1:27017", Engine: "mongodb"},
			Span: diagnose.Span{
				From: from,
				To:   from.Add(20 * time.Minute),
			},
			StepSeconds: 1,
			Units:       20,
			UnitSeconds: 60,
			UsedSeconds: 1200,
			LeftSeconds: 12,
			CyclesOfOwn: true,
		}
	}
	return &prove.Report{
		Verdict:    prove.Better,
		Sentence:   "Better: write p99 fell by 99 %. Stalled time fell too.",
		Confidence: 0.95,
		Seed:       7,
		Method: prove.Method{
			Units:       "checkpoint cycles",
			Correction:  "Holm",
			Family:      3,
			Margin:      0.05,
			Assumptions: []string{"the cycles are independent"},
		},
		Before: side("before", noon),
		After:  side("after", noon.Add(24*time.Hour)),
		Workload: prove.Workload{
			Comparable: true,
			Checks: []prove.Check{
				{Name: "rate", Text: "612/s before, 611/s after", OK: true},
				{Name: "mix", Text: "90 % writes before, 60 % after"},
			},
		},
		Figures: []prove.Figure{
			{
				Title:      "write p99",
				Unit:       "seconds",
				Wanted:     "less",
				Basis:      "a histogram",
				Resolution: 0.12,
				Signals:    []string{"signal:write_latency", "signal:writes"},
				Before:     estimate(1.8, 1.6, 2),
				After:      estimate(0.02, 0.018, 0.022),
				Ratio: estimate(
					1/90.0,
					1/95.0,
					1/85.0,
				),
				Difference: estimate(-1.78, -1.9, -1.6),
				P:          at(0.0001),
				Verdict:    prove.Better,
			},
			{
				Title:      "stalled",
				Unit:       "seconds/h",
				Wanted:     "less",
				Before:     estimate(0, 0, 0),
				After:      estimate(3, 2, 4),
				Difference: estimate(3, 2, 4),
				P:          at(0.2),
				Verdict:    prove.CantTell,
				Record:     &prove.Advice{Seconds: 7200, For: "the change seen"},
			},
			{
				Title:      "read p99",
				Unit:       "seconds",
				Wanted:     "less",
				Basis:      "a histogram",
				Resolution: 0.12,
				Before:     estimate(0.02, 0.02, 0.02),
				After:      prove.Estimate{Value: at(0.06), AtLeast: true},
				Ratio:      prove.Estimate{Value: at(3)},
				Difference: prove.Estimate{Value: at(0.04)},
				Verdict:    prove.Worse,
			},
			{
				Title:      "rate",
				Unit:       "1/s",
				Wanted:     "neither",
				Before:     estimate(612, 610, 614),
				After:      estimate(611, 610, 612),
				Ratio:      estimate(0.998, 0.99, 1.01),
				Difference: estimate(0, 0, 0),
				P:          at(0.9),
				Verdict:    prove.NoChange,
			}},
		Settings: []prove.Setting{
			{Name: "syncPeriodSecs", Before: "60", After: "30"},
		},
		OnlyBefore: []string{"lock waits"},
		OnlyAfter:  []string{"cpu"},
		Requirements: []prove.Requirement{
			{
				Text:    "write_p99 < 100ms",
				Unit:    "seconds",
				After:   estimate(0.02, 0.018, 0.022),
				Outcome: prove.Met,
			},
			{
				Text:    "read_p99 < 50ms",
				Unit:    "seconds",
				After:   prove.Estimate{Value: at(0.06)},
				Outcome: prove.CantTellYet,
				Record:  &prove.Advice{Seconds: 3600},
			},
		},
		Cost: &prove.Cost{
			BeforeUSD: at(40),
			AfterUSD:  at(55),
			ChangeUSD: at(15),
		},
		Warnings: []string{"The mix of operations differs."},
	}
}

// A proof shows each change with its interval, what was compared, and how the verdicts were reached.
func TestProof(t *testing.T) {
	golden.Inline(
		t,
		set(t, Proof(corerules.NewPack(nil), proved(), nil, "after", nil), text.Options{Width: 110}),
		`
Better: write p99 fell by 99 %. Stalled time fell too.
⚠ The mix of operations differs.

  Verdict              better  on client latency and throughput, at 95 % confidence
  Required    cannot tell yet  read_p99 < 50ms; 1 of 2 are met
  write p99           20.0 ms  before 1.80 s; better
  stalled              3.00 s  before 0 s; can't tell
  read p99   at least 60.0 ms  before 20.0 ms; worse
  a month             +15 USD  40 USD to 55 USD

BEFORE AND AFTER
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   write p99          ●┤                                      │
   read p99                                                   │                   ●
   rate                                                     ├●──┤
                      1/100     1/10        -50 %         as before        +100 %       x 10      x 100
   The ratio of after to before, each with its 95 % interval. A filled mark is a verdict; a hollow one is
   inconclusive.

   figure      before             after   change       95 % interval  verdict
   write p99   1.80 s           20.0 ms   1/90.0    1/95.0 to 1/85.0  better
   stalled        0 s            3.00 s  +3.00 s  +2.00 s to +4.00 s  can't tell
   read p99   20.0 ms  at least 60.0 ms   +200 %           too short  worse
   rate         612/s             611/s                               no change

REQUIRED
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   required           outcome              after             between  record for
   write_p99 < 100ms  ✓ met              20.0 ms  18.0 ms to 22.0 ms
   read_p99 < 50ms    ✕ cannot tell yet  60.0 ms                      1h

TO LEARN MORE, RECORD LONGER
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   figure   record both  to determine
   stalled           2h  the change seen

SETTINGS THAT CHANGED
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   setting         before  after
   syncPeriodSecs      60     30

WHAT WAS COMPARED
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
  before  mongodb db1:27017: before (recording)
          2026-07-20 12:00:00 to 2026-07-20 12:20:00 UTC
          20 whole checkpoint cycles of 60.0 s, 20m in total; 12.0 s outside them were not used
  after   mongodb db1:27017: after (recording)
          2026-07-21 12:00:00 to 2026-07-21 12:20:00 UTC
          20 whole checkpoint cycles of 60.0 s, 20m in total; 12.0 s outside them were not used

   workload  before and after                same
   rate      612/s before, 611/s after       ✓ yes
   mix       90 % writes before, 60 % after  ✕ no

HOW ACCURATE THIS IS
──────────────────────────────────────────────────────────────────────────────────────────────────────────────
   Intervals: block bootstrap over whole checkpoint cycles, 95 % for each figure separately. Verdicts:
   permutation test with Holm's correction over 3 figures; the chance of any false better or worse is at most
   5 %. No change: within 5 %.

   figures              computed from
   write p99, read p99  A histogram. Its buckets are 12 % wide there, which the intervals already account for;
                        "no change" means within 5 % in addition.

   Assumed: The cycles are independent.
   Reported only before: lock waits.
   Reported only after: cpu.
   Seed 7: the same recordings produce the same report.
`,
	)
}

// The key figures are the verdict, the requirements, three figures for which one direction is better, and
// the price.
func TestProofFacts(t *testing.T) {
	facts := func(r *prove.Report) string {
		var out []string
		for _, f := range proofFacts(r) {
			out = append(out, strings.TrimRight(f.Label+": "+f.Value+" ("+f.Note+") "+string(f.Level), " "))
		}
		return strings.Join(out, "\n") + "\n"
	}
	golden.Inline(t, facts(proved()), `
Verdict: better (on client latency and throughput, at 95 % confidence) good
Required: cannot tell yet (read_p99 < 50ms; 1 of 2 are met) critical
write p99: 20.0 ms (before 1.80 s; better) good
stalled: 3.00 s (before 0 s; can't tell)
read p99: at least 60.0 ms (before 20.0 ms; worse) critical
a month: +15 USD (40 USD to 55 USD)
`)

	r := proved()
	r.Requirements, r.Figures, r.Verdict, r.Confidence = r.Requirements[:1], r.Figures[3:], prove.Mixed, 0.999
	r.Cost.AfterUSD, r.Cost.ChangeUSD = at(30), at(-10)
	golden.Inline(t, facts(r), `
Verdict: mixed (on client latency and throughput, at 99.9 % confidence) warning
Required: met (write_p99 < 100ms) good
a month: −10 USD (40 USD to 30 USD)
`)

	r.Requirements, r.Cost.AfterUSD, r.Cost.ChangeUSD = nil, at(40), at(0)
	golden.Inline(t, facts(r), `
Verdict: mixed (on client latency and throughput, at 99.9 % confidence) warning
a month: as before (40 USD to 40 USD)
`)
}

// A change has a ratio, or a difference if there is none, or nothing to show.
func TestChangeOfFigure(t *testing.T) {
	for _, c := range []struct {
		figure prove.Figure
		want   string
	}{
		{prove.Figure{}, ""}, {prove.Figure{Difference: prove.Estimate{Value: at(0)}, Ratio: prove.Estimate{Value: at(1)}}, ""},
		{prove.Figure{Unit: "seconds", Difference: prove.Estimate{Value: at(0.25)}}, "+250 ms"}, {prove.Figure{Unit: "bytes", Difference: prove.Estimate{Value: at(-4e6)}}, "-4.00 MB"},
		{prove.Figure{Difference: prove.Estimate{Value: at(-1)}, Ratio: prove.Estimate{Value: at(0.5)}}, "-50 %"},
	} {
		if got := changeOf(&c.figure); got != c.want {
			t.Errorf("%+v: %q, want %q", c.figure, got, c.want)
		}
	}
	for _, c := range []struct {
		e    prove.Estimate
		want string
	}{{prove.Estimate{Low: at(1), High: at(2)}, "1.00 s to 2.00 s"}, {prove.Estimate{Low: at(1), High: at(1)}, ""}, {prove.Estimate{Low: at(1)}, ""}, {prove.Estimate{High: at(1)}, ""}} {
		if got := within(c.e, "seconds"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}

// Only figures whose ratio is a number of at least zero are drawn. A figure without a verdict is hollow.
func TestDrawnChanges(t *testing.T) {
	var got []string
	for _, row := range changesOf(proved()).Rows {
		got = append(
			got,
			row.Title+" "+string(
				row.Level,
			)+map[bool]string{true: " certain", false: " hollow"}[row.Certain]+map[bool]string{true: " interval"}[row.Interval],
		)
	}
	want := "write p99 good certain interval; read p99 critical certain; rate  certain interval"
	if strings.Join(got, "; ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "; "), want)
	}
}

// The next step: watch for stalls if all is well, record longer if that would settle the verdict, otherwise
// find what stalls.
func TestProofOnward(t *testing.T) {
	cannotTell := func(r *prove.Report) { r.Verdict = prove.CantTell }
	for _, c := range []struct {
		name   string
		change func(*prove.Report)
		want   string
	}{
		{"better", func(*prove.Report) {}, `plimsoll watch "${SOURCE:?the database's address}" --out ring`},
		{"worse", func(r *prove.Report) { r.Verdict = prove.Worse }, "plimsoll diagnose 'my after'"},
		{"cannot tell", cannotTell, `plimsoll record "${SOURCE:?the database's address}" --out longer --for 2h0m0s`},
		{"cannot tell for days", func(r *prove.Report) { cannotTell(r); r.Figures[1].Record.Seconds = 86401 }, "plimsoll diagnose 'my after'"},
		{"cannot tell of the load", func(r *prove.Report) { cannotTell(r); r.Figures[1].Wanted = "neither" }, "plimsoll diagnose 'my after'"},
		{"a short BEFORE", func(r *prove.Report) { r.Short = &prove.Short{Before: true} }, `plimsoll record "${SOURCE:?the database's address}" --out before-again --for 14m0s`},
		{"too few cycles", func(r *prove.Report) { r.Short = &prove.Short{} }, `plimsoll record "${SOURCE:?the database's address}" --out longer --for 14m0s`},
		{"too few intervals", func(r *prove.Report) {
			r.Short, r.Before.CyclesOfOwn, r.After.CyclesOfOwn, r.After.StepSeconds = &prove.Short{}, false, false, 0.5
		}, `plimsoll record "${SOURCE:?the database's address}" --out longer --for 10m0s`},
		{"live", func(r *prove.Report) {
			cannotTell(r)
			r.After.Sources = []diagnose.Source{{Name: "mongodb://db1"}, {Kind: "host", Name: "host"}, {Name: "file"}, {Name: "mongodb://db1"}}
		}, "plimsoll record mongodb://db1 host --out longer --for 2h0m0s"},
	} {
		r := proved()
		c.change(r)
		if got := proofOnward(r, "my after", nil).Parts[0].Tasks[0].Steps[0].Commands[0]; got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Figures with the same basis share a row, so that the basis appears only once.
func TestBasis(t *testing.T) {
	tab := basisTable(proved())
	if len(tab.Rows) != 1 || tab.Rows[0][0].Text != "write p99, read p99" ||
		!strings.Contains(tab.Rows[0][1].Text, "Its buckets are 12 % wide") {
		t.Errorf("%+v", tab.Rows)
	}
}

// Queries are linked from the names of figures; all signals of a figure are listed.
func TestProofQueries(t *testing.T) {
	d := Proof(corerules.NewPack(nil), proved(), time.UTC, "after", nil)
	var last document.Section
	for _, s := range d.Sections {
		last = s
	}
	if last.ID != "queries" || len(last.Parts[0].Queries) != 2 {
		t.Errorf("%+v", last)
	}
	if got := tableOf(d, "figures").Rows[0][0].Href; got != "#"+last.Parts[0].Queries[0].ID {
		t.Errorf("write p99 links to %s", got)
	}
}
