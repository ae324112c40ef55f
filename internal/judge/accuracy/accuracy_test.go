package accuracy_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/judge/accuracy"
)

var (
	update = flag.Bool("update", false, "try all incidents, or those of -seeds, and write the published tables anew")
	even   = flag.Bool("even", false, "try the seeds with even numbers only, and print each error")
	seeds  = flag.Int("seeds", 0, "try the incidents of so many seeds and print the table")
	step   = flag.Int("step", 1, "of each half of the seeds, try one of so many")
	only   = flag.String("only", "", "try these seeds only, parted by commas")
	finest = flag.Bool("finest", false, "diagnose at the finest sampling only")
)

const (
	// all is the number of incidents in the published table.
	all = 700
	// some is the number of incidents that every change is tested on.
	some = 70
)

const tunedOn, keptAside = "tuned on", "kept aside"

// half distinguishes the seeds that rules may be tuned on from those that are only reported.
func half(seed uint64) string {
	if seed%2 == 0 {
		return tunedOn
	}
	return keptAside
}

// among reports whether a list of seeds has one, or there is none.
func among(list string, seed int) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), strconv.Itoa(seed))
}

// tryAll tries the incidents of the seeds from 0 on, as many at a time as there are cores.
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
		if *even && half(uint64(seed)) != tunedOn || seed/2%*step != 0 || !among(*only, seed) {
			out[seed] = &tried{incident: incident{seed: uint64(seed)}, skipped: true}
			continue
		}
		next <- seed
	}

	close(next)
	wg.Wait()
	return out
}

// tableOf counts the claims about the incidents of each half: all rules together, and each rule of the half
// that was kept aside unless brief.
func tableOf(found []*tried, brief bool) string {
	var b strings.Builder
	for _, which := range []string{keptAside, tunedOn} {
		var trials []accuracy.Trial
		n, stalls := 0, 0
		for _, r := range found {
			if half(r.seed) != which || r.skipped {
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

// writeTable writes a row for each rule, with the counts at one second and F1 at each sampling; only the
// row of all rules if brief. A rule with no claim and no miss at any sampling has no row.
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

// worstOf lists what must never happen.
func worstOf(found []*tried) (critical, notDisk []string) {
	for _, r := range found {
		critical, notDisk = append(critical, r.criticalUnstalled...), append(notDisk, r.wrongNotTheDisk...)
	}
	return critical, notDisk
}

// What every change must keep: nothing critical where nothing is slow, no "not the disk" where it is
// the disk, and verdicts that are hardly less often right than when this was written: F1 90 %
// (-run TestTable -seeds 70).
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

// The totals are published on one page and each rule's rows on the other, both between these marks.
const (
	summaryPage = "../../../docs/accuracy.md"
	rulesPage   = "../../../docs/research/accuracy-rules.md"
)

const begin, end = "<!-- table: go test ./internal/judge/accuracy -run TestTable -update -timeout 60m -->\n", "<!-- end of table -->"

func TestTable(t *testing.T) {
	n := *seeds
	if *update && n == 0 {
		n = all
	}

	if n == 0 {
		t.Skip("-seeds 50 prints the table, -update tries all incidents and publishes it")
	}

	start := time.Now()
	found := tryAll(t, n)
	critical, notDisk := worstOf(found)
	never := fmt.Sprintf("Critical findings where nothing stalls: %d. \"Not the disk\" where it is: %d.\n", len(critical), len(notDisk))
	table := tableOf(found, false)
	t.Logf("%d runs in %s\n%s%s\ncritical: %s\nnot the disk: %s", n, time.Since(start).Round(time.Second), table, never, strings.Join(critical, "; "), strings.Join(notDisk, "; "))

	for _, r := range found {
		for _, e := range r.errors {
			if *even {
				t.Log(e)
			}
		}
	}

	if !*update || t.Failed() {
		return
	}

	publish(t, summaryPage, begin, end, tableOf(found, true)+never)
	publish(t, rulesPage, begin, end, table)
}

// publish writes what a page has between two marks.
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

// To tune a rule, print the incident as a file: -seeds 17 -run ScenarioOfSeed prints it.
func TestScenarioOfSeed(t *testing.T) {
	if *seeds == 0 {
		t.Skip("-seeds N prints the scenario of seed N, for plimsoll simulate")
	}
	fmt.Print(generate(uint64(*seeds)).text)
}
