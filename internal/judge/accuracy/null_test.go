package accuracy_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// The share of recordings in which a rule may make a false claim, and in which it may make a critical
// one.
const (
	falseMost    = 0.05
	criticalMost = 0.01
	// nullMany is the number of recordings of each rule in the published table.
	nullMany = 1000
	// nullSome is enough recordings of each case to notice a rule that far exceeds that share.
	nullSome    = 7
	nullSeconds = 1800
	nullSeed    = uint64(1)
)

func itoa(n int) string { return strconv.Itoa(n) }

// A falseRow counts the false claims of a rule in a case.
type falseRow struct {
	rule, name             string
	of, claimed, criticals int
	seeds                  []uint64
}

// nullRound is the number of recordings of a case that one round of tryNulls makes.
const nullRound = 100

// tryNulls judges recordings of each case and counts the false claims. It makes at least n recordings
// for each rule by repeating the cases of rules that have fewer. With round 0 it makes n of each case,
// once.
func tryNulls(t *testing.T, n, round int) []falseRow {
	t.Helper()
	cases := append(nullCases(), scriptNullCases(t)...)
	rows := map[string]*falseRow{}
	tried := map[string]int{}

	if round == 0 {
		for ci, c := range cases {
			tryNullCase(t, ci, c, 0, n, rows, tried)
		}
		return falseRows(rows, tried)
	}

	for from := 0; ; from += round {
		ofRule := map[string]int{}
		for key, of := range tried {
			rule, _, _ := strings.Cut(key, "\x00")
			ofRule[rule] += of
		}

		made := false
		for ci, c := range cases {
			short := from == 0
			for key := range tried {
				rule, name, _ := strings.Cut(key, "\x00")
				short = short || name == c.name && ofRule[rule] < n
			}
			if short {
				made = true
				tryNullCase(t, ci, c, from, from+round, rows, tried)
			}
		}

		if !made || t.Failed() {
			return falseRows(rows, tried)
		}
	}
}

// tryNullCase judges a range of a case's recordings.
func tryNullCase(t *testing.T, ci int, c nullCase, from, to int, rows map[string]*falseRow, tried map[string]int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup

	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := from; i < to; i++ {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			seed := nullSeed<<32 + uint64(ci)<<20 + uint64(i)
			found, measured := judgeNull(t, c, seed, i)

			mu.Lock()
			defer mu.Unlock()

			for rule := range measured {
				tried[rule+"\x00"+c.name]++
			}

			for rule, f := range found {
				key := rule + "\x00" + c.name
				row := rows[key]
				if row == nil {
					row = &falseRow{rule: rule, name: c.name}
					rows[key] = row
				}
				row.claimed++
				if f.Severity == diagnose.Critical {
					row.criticals++
				}
				row.seeds = append(row.seeds, seed)
			}
		})
	}

	wg.Wait()
}

// falseRows joins the false claims and the number of tries of each rule and case.
func falseRows(rows map[string]*falseRow, tried map[string]int) []falseRow {
	var out []falseRow
	for key, of := range tried {
		rule, name, _ := strings.Cut(key, "\x00")
		row := rows[key]
		if row == nil {
			row = &falseRow{rule: rule, name: name}
		}
		row.of = of
		out = append(out, *row)
	}

	slices.SortFunc(out, func(a, b falseRow) int { return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.name, b.name)) })
	return out
}

// judgeNull returns the worst false claim of each rule, and the rules that had something to judge.
func judgeNull(t *testing.T, c nullCase, seed uint64, i int) (found map[string]diagnose.Finding, measured map[string]bool) {
	t.Helper()
	r := newNullRecording(t, seed, nullSeconds)
	c.make(r, i)
	r.mem.Source(recording.Source{Kind: "host", Name: "null", Facts: r.facts, From: nullBegan, To: nullBegan.Add(time.Duration(r.n-1) * time.Second)})

	got, err := diagnose.Run(t.Context(), []recording.Reader{r.mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Errorf("%s, seed %d: %v", c.name, seed, err)
		return nil, nil
	}

	all := slices.Clone(got.Findings)
	for _, x := range got.Incidents {
		all = append(all, x.Findings...)
	}

	found, measured = map[string]diagnose.Finding{}, map[string]bool{}
	for _, rule := range testkit.Pack().Rules() {
		lacks := func(m diagnose.NotMeasured) bool { return m.Rule == rule.ID }
		// To find out which rules a case covers, pass it a finding of each.
		probe := diagnose.Finding{Rule: rule.ID, Kind: rule.Kind, Severity: diagnose.Warning}
		if !slices.ContainsFunc(got.Missing, lacks) && c.wrong(probe) {
			measured[rule.ID] = true
		}
	}

	for _, f := range all {
		if !c.wrong(f) {
			continue
		}
		if old, ok := found[f.Rule]; !ok || old.Severity != diagnose.Critical {
			found[f.Rule] = f
		}
	}

	return found, measured
}

// nullTable returns the published table: for each rule, the case with the most false claims, and all of
// its recordings together.
func nullTable(rows []falseRow) string {
	byRule := map[string][]falseRow{}
	for _, r := range rows {
		byRule[r.rule] = append(byRule[r.rule], r)
	}

	var b strings.Builder
	b.WriteString("| rule | recordings | false | critical | most in one case | which |\n|---|---|---|---|---|---|\n")

	for _, rule := range slices.Sorted(maps.Keys(byRule)) {
		var sum falseRow
		worst := byRule[rule][0]
		for _, r := range byRule[rule] {
			sum.of, sum.claimed, sum.criticals = sum.of+r.of, sum.claimed+r.claimed, sum.criticals+r.criticals
			if r.claimed*worst.of > worst.claimed*r.of {
				worst = r
			}
		}

		name, most := worst.name, rate(worst.claimed, worst.of)
		if worst.claimed == 0 {
			name, most = "–", "–"
		}

		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s | %s |\n", rule, sum.of, rate(sum.claimed, sum.of), rate(sum.criticals, sum.of), most, name)
	}

	return b.String()
}

func rate(n, of int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// tooMany lists the rules with more false claims than allowed in any case, or more critical ones in all
// their cases together, even allowing for chance in a rule that is just good enough.
func tooMany(rows []falseRow) (out []string) {
	beyond := func(n, of int, most float64) bool {
		mean := most * float64(of)
		return float64(n) > mean+max(2, 3*math.Sqrt(mean*(1-most)))
	}

	ofRule := map[string]*falseRow{}
	for _, r := range rows {
		sum := ofRule[r.rule]
		if sum == nil {
			sum = &falseRow{rule: r.rule}
			ofRule[r.rule] = sum
		}
		sum.of, sum.criticals = sum.of+r.of, sum.criticals+r.criticals

		if beyond(r.claimed, r.of, falseMost) {
			out = append(out, fmt.Sprintf("%s, %s: %d of %d false (seeds %v)", r.rule, r.name, r.claimed, r.of,
				r.seeds[:min(3, len(r.seeds))]))
		}
	}

	for _, rule := range slices.Sorted(maps.Keys(ofRule)) {
		if r := ofRule[rule]; beyond(r.criticals, r.of, criticalMost) {
			out = append(out, fmt.Sprintf("%s: %d of %d critical", rule, r.criticals, r.of))
		}
	}

	return out
}

const nullBegin, nullEnd = "<!-- table: make nulls -->\n", "<!-- end of null table -->"

// Claims that are false by construction are hardly ever made: where causes and stalls are independent,
// devices have no cap, or nothing is wrong at all.
func TestNulls(t *testing.T) {
	if underRace {
		t.Skip("a diagnosis takes ten times as long under the race detector")
	}

	n, round := nullSome, 0
	if *update {
		n, round = nullMany, nullRound
	}

	began := time.Now()
	rows := tryNulls(t, n, round)
	table := nullTable(rows)
	t.Logf("at least %d recordings in %s\n%s", n, time.Since(began).Round(time.Second), table)

	for _, r := range rows {
		if r.claimed > 0 {
			t.Logf("%s, %s: %d of %d, %d critical, seeds %v", r.rule, r.name, r.claimed, r.of, r.criticals, r.seeds[:min(3, len(r.seeds))])
		}
	}

	for _, x := range tooMany(rows) {
		t.Error(x)
	}

	if !*update || t.Failed() {
		return
	}

	publish(t, rulesPage, nullBegin, nullEnd, table)
}
