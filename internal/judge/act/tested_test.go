package act_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/testkit"
)

// Every step that a rule prints says how it was tested. Each test named there exists and runs those
// remedies.
func TestHowStepsWereTested(t *testing.T) {
	table, err := os.ReadFile("tested.go")
	if err != nil {
		t.Fatal(err)
	}

	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}

	// The moves of logs are tested with the scripts that do them.
	for _, name := range append(files, "../../advise/emit/moveservers_test.go", "../../advise/emit/logmove_test.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}

	trials := string(table)
	for _, list := range []string{"parameters", "orders"} {
		shared := regexp.MustCompile(`(?s)var ` + list + ` = (\[\]string\{.*?\})`).FindSubmatch(table)
		if shared == nil {
			t.Fatalf("no list of %s", list)
		}
		trials = strings.ReplaceAll(trials, list+"}", string(shared[1])+"}")
	}

	for _, m := range regexp.MustCompile(`(?s)\{"(Test\w+)", .*?\[\]string\{(.*?)\}`).FindAllStringSubmatch(trials, -1) {
		_, body, found := strings.Cut(tests.String(), "func "+m[1]+"(")
		body, _, _ = strings.Cut(body, "\n}\n")
		for _, name := range regexp.MustCompile(`"[a-z0-9-]+"`).FindAllString(m[2], -1) {
			if !found || !strings.Contains(body, name) {
				t.Errorf("%s does not run %s", m[1], name)
			}
		}
	}

	for _, m := range testkit.Pack().Remedies() {
		for i := range m.Recipes {
			trial := m.Recipes[i].Trial
			_, body, found := strings.Cut(tests.String(), "func "+trial+"(")
			body, _, _ = strings.Cut(body, "\n}\n")
			if trial != "" && (!found || !strings.Contains(body, `"`+m.Name+`"`)) {
				t.Errorf("%s does not run %s", trial, m.Name)
			}
		}
	}

	real, ways := 0, 0
	for _, r := range testkit.Pack().Rules() {
		for _, f := range act.Fixes(testkit.Pack(), &r) {
			for _, m := range f.Remedies {
				for _, w := range m.Ways {
					if (w.Tested == "") != (w.None != "") {
						t.Errorf("%s, %s in %s: tested %q, no steps because %q", r.ID, m.Remedy, w.Place, w.Tested, w.None)
					}
					if ways++; strings.Contains(w.Tested, "real") {
						real++
					}
				}
			}
		}
	}

	if ways < 100 || real < 20 {
		t.Errorf("%d ways, %d tested on the real thing", ways, real)
	}
}
