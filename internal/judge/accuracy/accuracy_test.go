package accuracy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/judge/accuracy"
)

var update = flag.Bool("update", false, "try all incidents, or all null cases, and write the published tables anew")

const (
	// all is the number of incidents in the published table.
	all = 700
	// some is the number of incidents that every change is tested on.
	some = 50
)

const tunedOn, keptAside = "tuned on", "kept aside"

// half distinguishes the seeds that rules may be tuned on from those that are only reported.
func half(seed uint64) string {
	if seed%2 == 0 {
		return tunedOn
	}
	return keptAside
}

// tryAll runs the incidents of the seeds from 0 on, one per core at a time.
func tryAll(t *testing.T, n int) []*tried {
	t.Helper()
	out := make([]*tried, n)
	next := make(chan int)

	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range next {
				r, err := try(t.Context(), generate(uint64(seed)))
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					r = &tried{}
				}
				out[seed] = r
			}
		})
	}

	for seed := range n {
		next <- seed
	}

	close(next)
	wg.Wait()
	return out
}

// tableOf counts the claims about the incidents of each half: for all rules together and, unless brief,
// for each rule of the held-out half.
func tableOf(found []*tried, brief bool) string {
	var b strings.Builder
	for _, which := range []string{keptAside, tunedOn} {
		var trials []accuracy.Trial
		n, stalls := 0, 0
		for _, r := range found {
			if half(r.seed) != which {
				continue
			}
			n++
			if r.stalled >= leastStall {
				stalls++
			}
			trials = append(trials, r.trials...)
		}

		fmt.Fprintf(&b, "### The half that was %s: %d runs, of which %d stall\n\n", which, n, stalls)
		writeTable(&b, accuracy.Tabulate(trials), brief || which == tunedOn)
		b.WriteString("\n")
	}

	return b.String()
}

// writeTable writes one row per rule, with the counts at one second and F1 at each sampling. If brief,
// it writes only the row for all rules. It omits rules with no claim and no miss at any sampling.
func writeTable(b *strings.Builder, all []accuracy.Row, brief bool) {
	b.WriteString("| rule | right | false alarms | missed | F1 at 1 s | at 10 s | at 15 s |\n|---|---|---|---|---|---|---|\n")

	rows := map[string]map[time.Duration]accuracy.Row{}
	var order []string
	for _, r := range all {
		if rows[r.Rule] == nil {
			rows[r.Rule] = map[time.Duration]accuracy.Row{}
			order = append(order, r.Rule)
		}
		rows[r.Rule][r.Sampling] = r
	}

	for _, rule := range order {
		finest, counted := rows[rule][samplings[0]], 0
		name, f1 := "**all**", ""
		if rule != "" {
			name = "`" + rule + "`"
		}

		for _, sampling := range samplings {
			r := rows[rule][sampling]
			counted += r.Hits + r.Alarms + r.Misses
			f1 += " " + percent(r.F1()) + " |"
		}

		if counted > 0 && (rule == "" || !brief) {
			fmt.Fprintf(b, "| %s | %d | %d | %d |%s\n", name, finest.Hits, finest.Alarms, finest.Misses, f1)
		}
	}
}

func percent(x float64, ok bool) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}

// worstOf lists the mistakes that must never happen.
func worstOf(found []*tried) (critical, notDisk []string) {
	for _, r := range found {
		critical, notDisk = append(critical, r.criticalUnstalled...), append(notDisk, r.wrongNotTheDisk...)
	}
	return critical, notDisk
}

// What every change must preserve: no critical finding where nothing is slow, no "not the disk" where
// it is the disk, and verdicts about as accurate as when this test was written: F1 90 %
// (BenchmarkIncidents, seeds 0 to 69).
func TestSome(t *testing.T) {
	if underRace {
		t.Skip("simulations take ten times as long under the race detector")
	}

	found := tryAll(t, some)
	if t.Failed() {
		return
	}

	critical, notDisk := worstOf(found)
	if len(critical) > 0 {
		t.Errorf("critical findings where nothing stalls: %s", strings.Join(critical, "; "))
	}

	if len(notDisk) > 0 {
		t.Errorf("\"not the disk\" where it is: %s", strings.Join(notDisk, "; "))
	}

	var trials []accuracy.Trial
	for _, r := range found {
		trials = append(trials, r.trials...)
	}

	const least = 0.85
	if f1, _ := accuracy.Tabulate(trials)[0].F1(); f1 < least {
		t.Errorf("at one second, F1 is %.2f, less than %.2f:\n%s", f1, least, tableOf(found, false))
	}
}

// The totals are published on one page and the rows of each rule on the other, both between these
// marks.
const (
	summaryPage = "../../../docs/accuracy.md"
	rulesPage   = "../../../docs/research/accuracy-rules.md"
)

const begin, end = "<!-- table: go test ./internal/judge/accuracy -run TestTable -update -timeout 60m -->\n", "<!-- end of table -->"

// The published table covers all incidents. BenchmarkIncidents tries some of them.
func TestTable(t *testing.T) {
	if !*update {
		t.Skip("-update tries all incidents and publishes the table")
	}

	found := tryAll(t, all)
	if t.Failed() {
		return
	}

	publish(t, summaryPage, begin, end, tableOf(found, true)+neverOf(found))
	publish(t, rulesPage, begin, end, tableOf(found, false))
}

// neverOf counts the mistakes that must never happen.
func neverOf(found []*tried) string {
	critical, notDisk := worstOf(found)
	return fmt.Sprintf("Critical findings where nothing stalls: %d. \"Not the disk\" where it is: %d.\n", len(critical), len(notDisk))
}

// BenchmarkIncidents tries one incident per iteration, from seed 0 on. It prints the table, and the wrong claims
// about the half that rules may be tuned on. -artifacts keeps the scenario of each incident, for plimsoll
// simulate:
//
//	go test ./internal/judge/accuracy -run '^$' -bench Incidents -benchtime 50x -v -artifacts -outputdir /tmp
func BenchmarkIncidents(b *testing.B) {
	var found []*tried
	scenarios := b.ArtifactDir()
	for b.Loop() {
		in := generate(uint64(len(found)))
		if err := os.WriteFile(filepath.Join(scenarios, fmt.Sprintf("%d.yaml", in.seed)), []byte(in.text), 0o644); err != nil {
			b.Fatal(err)
		}

		r, err := try(b.Context(), in)
		if err != nil {
			b.Fatalf("seed %d: %v", in.seed, err)
		}
		found = append(found, r)
	}

	critical, notDisk := worstOf(found)
	b.Logf("%s%s\ncritical: %s\nnot the disk: %s", tableOf(found, false), neverOf(found), strings.Join(critical, "; "), strings.Join(notDisk, "; "))

	for _, r := range found {
		for _, e := range r.errors {
			if half(r.seed) == tunedOn {
				b.Log(e)
			}
		}
	}
}

// publish writes text between two marks of a page.
func publish(t *testing.T, page, begin, end, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks %q and %q", page, begin, end)
	}

	if err := os.WriteFile(page, []byte(before+begin+"\n"+strings.TrimSpace(table)+"\n\n"+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
