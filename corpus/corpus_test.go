package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write grades.txt and the published tables anew")

// scoredOnce diagnoses the whole corpus with the program of this tree, once for all tests.
var scoredOnce = sync.OnceValues(func() ([]Scored, error) {
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	program := filepath.Join(dir, "plimsoll")
	build := exec.Command("go", "build", "-o", program, "./cmd/plimsoll")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return nil, &exec.Error{Name: string(out), Err: err}
	}

	cases, err := load(".")
	if err != nil {
		return nil, err
	}
	return scoreAll(cases, program)
})

func scored(t *testing.T) []Scored {
	t.Helper()
	all, err := scoredOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// grades lists the tuned half with the grade of each case, so that a change cannot worsen one
// unnoticed.
func grades(all []Scored) string {
	var b strings.Builder
	for _, s := range all {
		if !s.Unread() {
			b.WriteString(strings.TrimSpace(s.Grade+" "+s.Name+" "+s.Why) + "\n")
		}
	}
	return b.String()
}

func TestGradesOfTheTunedHalf(t *testing.T) {
	got := grades(scored(t))
	if *update {
		if err := os.WriteFile("grades.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile("grades.txt")
	if err != nil {
		t.Fatal(err)
	}

	want := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		want[line] = true
	}
	for line := range strings.Lines(got) {
		if !want[line] {
			t.Errorf("changed: %sif it is an improvement: go test ./corpus -update", line)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("no longer: %s", line)
	}
}

func TestNoCriticalFindingOnHealthyCases(t *testing.T) {
	for _, s := range scored(t) {
		// The name of an unread case stays unread.
		if alarm(s) && s.Unread() {
			t.Error("a healthy case of the unread half has a critical finding")
		} else if alarm(s) {
			t.Errorf("%s: %s\n%s", s.Name, s.Why, s.Answer.Verdict)
		}
	}
}

// The totals are published on one page and the kinds of cases on the other, both between these marks.
const (
	summaryPage = "../docs/accuracy.md"
	kindsPage   = "../docs/research/accuracy-rules.md"
	begin, end  = "<!-- table: go test ./corpus -update -->\n", "<!-- end of corpus table -->"
)

func TestTableIsPublished(t *testing.T) {
	compare(t, summaryPage, totals(scored(t), true))
	compare(t, kindsPage, totals(scored(t), false))
}

// compare compares a page's text between the marks, or updates it.
func compare(t *testing.T, page, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the table's marks", page)
	}

	now := "\n" + table + "\n"
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+now+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if old != now {
		t.Errorf("%s is out of date: go test ./corpus -update", page)
	}
}

// The corpus reflects issue threads and incident reports, not the cases that are easy to find.
func TestCorpusIsBroad(t *testing.T) {
	cases, err := load(".")
	if err != nil {
		t.Fatal(err)
	}

	products, storage, healthy := map[string]bool{}, map[string]bool{}, 0
	for _, c := range cases {
		products[c.Truth.Product] = true
		storage[c.Truth.Storage] = true
		if c.Truth.Healthy {
			healthy++
		}
	}

	if len(cases) < leastCases || healthy < leastHealthy || len(products) < 8 || len(storage) < 5 {
		t.Errorf("%d cases, %d healthy, %d products, %d kinds of storage: want at least %d, %d, 8, 5",
			len(cases), healthy, len(products), len(storage), leastCases, leastHealthy)
	}
}

const leastCases, leastHealthy = 60, 15

var isURL = regexp.MustCompile(`^https?://\S+$`)

func TestInputsAreSmallAndSourced(t *testing.T) {
	cases, err := load(".")
	if err != nil {
		t.Fatal(err)
	}

	const most = 20 << 10
	for _, c := range cases {
		if !isURL.MatchString(c.Truth.Source) {
			t.Errorf("%s: source %q is no URL", c.Name, c.Truth.Source)
		}
		for _, path := range c.Inputs {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > most {
				t.Errorf("%s has %d bytes, more than %d", path, info.Size(), most)
			}
		}
	}
}

func TestGrade(t *testing.T) {
	claim := func(words ...string) Answer {
		var a Answer
		for _, w := range words {
			cause, severity, _ := strings.Cut(w, " ")
			a.Claims = append(a.Claims, Claim{Cause: cause, Subject: "sda", Severity: severity})
			a.Stalled = a.Stalled || severity != "info"
		}
		return a
	}
	sick := Truth{Causes: []string{"iops-cap"}, Also: []string{"cpu"}, Never: []string{"burst-credits"}, Severity: "warning"}
	healthy := Truth{Healthy: true, Also: []string{"cpu"}}
	etcd := Truth{Criterion: map[string]string{"etcd": "no"}}

	for _, x := range []struct {
		name   string
		truth  Truth
		answer Answer
		want   string
	}{
		{"the cause", sick, claim("iops-cap critical"), right},
		{"the cause behind a further true one", sick, claim("cpu critical", "iops-cap warning"), right},
		{"too mild", sick, claim("iops-cap info"), partly},
		{"second", sick, claim("checkpoint critical", "iops-cap warning"), partly},
		{"ruled out", sick, claim("iops-cap critical", "burst-credits warning"), wrong},
		{"another cause", sick, claim("checkpoint warning"), wrong},
		{"the symptom alone", sick, Answer{Stalled: true}, partly},
		{"all clear", sick, Answer{}, wrong},
		{"not judged", sick, Answer{Unjudged: true}, partly},
		{"not read", sick, Answer{Refused: "unknown"}, wrong},

		{"quiet", healthy, Answer{}, right},
		{"quiet with a remark", healthy, claim("iops-cap info"), right},
		{"no judgement of a healthy system", healthy, Answer{Unjudged: true}, partly},
		{"a warning", healthy, Answer{Claims: []Claim{{Cause: "iops-cap", Severity: "warning"}}}, partly},
		{"an alarm", healthy, claim("iops-cap critical"), wrong},
		{"a stall", healthy, Answer{Stalled: true, Symptom: "critical"}, wrong},
		{"a mild stall", healthy, Answer{Stalled: true, Symptom: "warning"}, partly},
		{"busy processors", healthy, claim("cpu critical"), right},

		{"good enough", etcd, Answer{Criterion: map[string]string{"etcd": "no"}}, right},
		{"perhaps", etcd, Answer{Criterion: map[string]string{"etcd": "probably"}}, partly},
		{"not good enough", etcd, Answer{Criterion: map[string]string{"etcd": "yes"}}, wrong},
	} {
		if got, why := grade(x.truth, x.answer); got != x.want {
			t.Errorf("%s: %s (%s), want %s", x.name, got, why, x.want)
		}
	}

	// A device other than the one at fault is a different cause.
	sick.Subject = "sdb"
	if got, _ := grade(sick, claim("iops-cap critical")); got != wrong {
		t.Errorf("the wrong device: %s", got)
	}
}
