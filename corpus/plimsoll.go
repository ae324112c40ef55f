package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// report has the fields of `plimsoll diagnose -o json` that this package reads.
type report struct {
	Verdict  string    `json:"verdict"`
	Findings []finding `json:"findings"`
	Stalls   struct {
		Seconds float64 `json:"seconds"`
	} `json:"stalls"`
	Others []report `json:"others"`
}

type finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Kind     string `json:"kind"`
	Subject  string `json:"subject"`
	Title    string `json:"title"`
	Summary  string `json:"summary"`
}

//go:embed plimsoll.yaml
var wordsYAML []byte

// words translates this program's rules into causes.
type words struct {
	Causes map[string]string `yaml:"causes"`
	Titled []struct {
		Rule  string `yaml:"rule"`
		Words string `yaml:"words"`
		Cause string `yaml:"cause"`
	} `yaml:"titled"`
}

var readWords = sync.OnceValues(func() (words, error) {
	var w words
	return w, yaml.UnmarshalWithOptions(wordsYAML, &w, yaml.Strict())
})

// answerOf translates a report into an answer.
func answerOf(r report, w words) Answer {
	a := Answer{Verdict: r.Verdict, Criterion: map[string]string{}}

	all := append([]report{r}, r.Others...)
	var claims []Claim
	judged := true
	for _, one := range all {
		a.Stalled = a.Stalled || one.Stalls.Seconds > 0
		judged = judged && !strings.HasPrefix(one.Verdict, "No source reports")

		for _, f := range one.Findings {
			if product, good, ok := goodEnough(f); ok {
				a.Criterion[product] = worse(a.Criterion[product], good)
				continue
			}
			claims = append(claims, w.claimsOf(f)...)
			// A slow device is a symptom even if no client was seen waiting.
			if f.Kind != "symptom" || strings.HasPrefix(f.Rule, "evidence/") {
				continue
			}
			a.Stalled = a.Stalled || f.Severity != "info"
			if severityOf(f.Severity) > severityOf(a.Symptom) {
				a.Symptom = f.Severity
			}
		}
	}

	slices.SortStableFunc(claims, func(x,
		y Claim) int {
		return severityOf(y.Severity) - severityOf(x.Severity)
	})
	a.Claims = claims
	a.Unjudged = !judged
	return a
}

// claimsOf translates a finding that names causes: most name one, and a few a mechanism of two, such as
// checkpoints whose syncs wait for the disk.
func (w words) claimsOf(f finding) []Claim {
	causes := w.Causes[f.Rule]
	for _, t := range w.Titled {
		if t.Rule == f.Rule && strings.Contains(f.Title, t.Words) {
			causes = t.Cause
		}
	}

	var out []Claim
	for _, cause := range strings.Fields(causes) {
		out = append(out, Claim{Cause: cause, Subject: f.Subject, Severity: f.Severity})
	}
	return out
}

// goodEnoughWords begins a finding about a criterion.
var goodEnoughWords = regexp.MustCompile(`^Good enough for ([A-Za-z]+): (probably not|probably|yes|no|unclear)`)

// goodEnough reads the answer to "is this storage good enough", by product in lower case.
func goodEnough(f finding) (product, answer string, ok bool) {
	m := goodEnoughWords.FindStringSubmatch(f.Summary)
	if f.Rule != "storage/good-enough" || m == nil {
		return "", "", false
	}
	return strings.ToLower(m[1]), m[2], true
}

// worse is the less favourable of two answers: several jobs of one report are one storage.
func worse(a, b string) string {
	order := []string{"no", "probably not", "unclear", "probably", "yes"}
	if a == "" || slices.Index(order, b) < slices.Index(order, a) {
		return b
	}
	return a
}

// diagnose runs the program on a case's inputs.
func diagnose(program string, c Case) (Answer, error) {
	cmd := exec.Command(program, append([]string{"diagnose", "-o", "json"}, c.Inputs...)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems

	err := cmd.Run()
	var exit *exec.ExitError
	// Any exit code is an answer: findings exit with 3, refused inputs with 1.
	if err != nil && !errors.As(err, &exit) {
		return Answer{}, err
	}

	var r report
	if json.Unmarshal(out.Bytes(), &r) != nil || r.Verdict == "" {
		return refused(problems.String()), nil //nolint:nilerr // the program ran and refused: that is its answer
	}

	w, err := readWords()
	return answerOf(r, w), err
}

// refused is the answer for inputs that the program does not read, or on which it gives no verdict.
func refused(problems string) Answer {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	last := problems[strings.LastIndex(strings.TrimSpace(problems), "\n")+1:]
	if json.Unmarshal([]byte(last), &e) == nil && e.Error.Message != "" {
		last = e.Error.Message
	}

	// Too little for a judgement is an honest answer; an unknown format is not.
	if strings.HasPrefix(last, "nothing to diagnose") || strings.Contains(last, "record again with") {
		return Answer{Unjudged: true, Verdict: last}
	}
	return Answer{Refused: last, Verdict: last}
}
