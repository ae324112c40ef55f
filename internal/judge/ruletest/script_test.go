package ruletest_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"

	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/testkit"
)

// Every rule has a script testdata/<id, / as ->.test with each kind of case, and all cases pass.
func TestThePack(t *testing.T) {
	scripts, err := ruletest.Scripts(testkit.Pack())
	if err != nil {
		t.Fatal(err)
	}

	kinds, cases := map[string]bool{}, 0
	for _, s := range scripts {
		for i := range s.Cases {
			cases++
			kinds[s.Rule.ID+" "+s.Cases[i].Kind] = true
			failed, err := s.Run(context.Background(), &s.Cases[i])
			if err != nil {
				t.Error(err)
			}
			for _, x := range failed {
				t.Errorf("%s:%d: %s", s.Name, x.Line, x.Text)
			}
		}
	}

	if cases < 200 {
		t.Errorf("only %d cases", cases)
	}

	for _, r := range testkit.Pack().Rules() {
		want := []string{"positive", "negative"}
		if len(r.Needs) > 0 || r.Needs == nil || len(r.AnyOf) > 0 {
			want = append(want, "not-measurable")
		}
		for _, kind := range want {
			if !kinds[r.ID+" "+kind] {
				t.Errorf("%s has no %s case", r.ID, kind)
			}
		}
	}
}

// Prometheus' own engine judges the conditions as this package does: without its directives, a case is a
// promqltest script.
func TestConditionsInPrometheus(t *testing.T) {
	scripts, err := ruletest.Scripts(testkit.Pack())
	if err != nil {
		t.Fatal(err)
	}

	for _, s := range scripts {
		if s.Rule.When == "" {
			continue
		}

		when, err := testkit.Pack().Inline(s.Rule.When, "5s")
		if err != nil {
			t.Fatal(err)
		}

		lines := linesOf(t, s.Rule.ID)
		for i, c := range s.Cases {
			end := len(lines)
			if i+1 < len(s.Cases) {
				end = s.Cases[i+1].Line - 1
			}

			var text []string
			for _, line := range lines[c.Line:end] {
				switch word, _, _ := strings.Cut(line, ": "); {
				case !strings.HasPrefix(line, "# "):
					text = append(text, line)
				case !slices.Contains([]string{"# finding", "# severity", "# missing", "# omits", "# no finding"}, word):
					t.Errorf("%s: %q is not a directive", s.Name, line) // a comment in promqltest, but a typing error here
				}
			}

			t.Run(fmt.Sprintf("%s:%d", s.Name, c.Line), func(t *testing.T) {
				script := strings.ReplaceAll(strings.Join(text, "\n"), "{{when}}", when)
				promqltest.RunTest(t, script, promqltest.NewTestEngine(t, false, 2500*time.Millisecond, 50_000_000))
			})
		}
	}
}

func linesOf(t *testing.T, rule string) []string {
	t.Helper()
	f, err := testkit.Pack().Script(rule)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

const capped = `# rule: disk/iops-capped
# case: positive: at gp3's cap
# finding: 3,000 IOPS
load 1s
    node_disk_io_time_seconds_total{device="sda"} 0+0.2x20 5+1x9 14.2+0.2x49
    node_disk_io_time_weighted_seconds_total{device="sda"} 0+0.2x20 36+32x9 324.2+0.2x49
    node_disk_writes_completed_total{device="sda"} 0+300x20 9000+3000x9 36300+300x49
    node_disk_reads_completed_total{device="sda"} 0+0x79
    node_disk_written_bytes_total{device="sda"} 0+1228800x20 36864000+12288000x9 148684800+1228800x49
    node_disk_read_bytes_total{device="sda"} 0+0x79
    node_disk_write_time_seconds_total{device="sda"} 0+0.2x20 36+32x9 324.2+0.2x49

eval instant at 25s count({{when}})
    {} 1
eval instant at 10s count({{when}})
`

func TestCaseFailsForEachWrongDirective(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"3,000 IOPS", "4,000 IOPS", `no finding contains "4,000 IOPS"`},
		{"# finding: 3,000 IOPS", "# no finding", "got a finding, want none"},
		{"# finding: 3,000 IOPS", "# severity: info", "the first finding is not info"},
		{"# finding: 3,000 IOPS", "# missing: node_disk", `want "node_disk"`},
		{"# finding: 3,000 IOPS", "# omits: 4,000 IOPS", ""},
		{"# finding: 3,000 IOPS", "# omits: 3,000 IOPS", `a finding contains "3,000 IOPS"`},
		{"    {} 1", "    {} 2", "want {} 2"},
		{"    {} 1\n", "", "gives one series, want nothing"},
		{"at 10s", "at 26s", "gives one series, want nothing"},
	} {
		s, err := ruletest.Parse(testkit.Pack(), "x.test", strings.NewReader(strings.Replace(capped, c.old, c.new, 1)))
		if err != nil {
			t.Fatal(err)
		}

		failed, err := s.Run(context.Background(), &s.Cases[0])
		if err != nil {
			t.Fatal(err)
		}

		switch {
		case c.want == "" && len(failed) > 0:
			t.Errorf("unchanged: %v", failed)
		case c.want != "" && (len(failed) == 0 || !strings.Contains(failed[0].Text, c.want)):
			t.Errorf("%q for %q: %v, want %q", c.new, c.old, failed, c.want)
		}
	}
}

func TestInvalidScripts(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "x.test:0: no case",
		"load 1s":                      "x.test:1: only comments may precede the first case",
		"# case: a: b\nfoo":            `x.test:2: "foo": want load`,
		"# case: a: b\nload now":       "x.test:2: load now",
		"# case: a: b\nload 1s\n  up{": "x.test:3: ",
		"# case: a: b\nload 1s\n  up 0+1x9999999": "x.test:3: x9999999: a case may have at most",
		"# case: a: b\neval range up":             "x.test:2: eval range up",
		"# case: a: b\n":                          "x.test:1: no rule \"x\"",
	} {
		if _, err := ruletest.Parse(testkit.Pack(), "x.test", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(capped)
	f.Add("# case: a: b\nload 1s\n  up 0+1x60 _x5 stale\neval instant at 5s {{when}}\n  {a=\"b\"} NaN\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ruletest.Parse(testkit.Pack(), "disk-iops-capped.test", strings.NewReader(text)); err == nil && len(s.Cases) == 0 {
			t.Error("a script without a case was accepted")
		}
	})
}
