package casebook

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

func TestEveryCaseIsWhole(t *testing.T) {
	if n := len(Names()); n != 5 {
		t.Fatalf("%d cases", n)
	}

	for i, name := range Names() {
		c, err := Open(name, profilers)
		if err != nil {
			t.Fatal(err)
		}

		seen := map[string]bool{}
		for _, s := range c.Steps {
			seen[s.Step] = true
			if strings.TrimSpace(s.Text) == "" {
				t.Errorf("%s: %s says nothing", name, s.Step)
			}
		}

		for _, step := range arc {
			if !seen[step] {
				t.Errorf("%s lacks its %s", name, step)
			}
		}

		if len(c.Assumed) == 0 {
			t.Errorf("%s assumes nothing: every publication leaves something out", name)
		}

		if byNumber, err := Open(string(rune('1'+i)), profilers); err != nil || byNumber.Name != name {
			t.Errorf("case %d is not %s: %v", i+1, name, err)
		}
	}

	if _, err := Open("nonesuch", nil); err == nil || !strings.Contains(err.Error(), Names()[0]) {
		t.Errorf("an unknown case: %v", err)
	}
}

func TestPlaces(t *testing.T) {
	results := map[string]any{
		"":  map[string]any{"a": map[string]any{"b": 3.0}, "list": []any{map[string]any{"name": "data", "iops": 7.0}}, "none": nil},
		"v": map[string]any{"a": map[string]any{"b": 6.0}},
	}

	for text, want := range map[string]float64{
		"a.b": 3, "v:a.b": 6, "v:a.b / a.b": 2, "v:a.b - a.b": 3, "list.data.iops": 7, "list.0.iops": 7, "none": math.NaN(),
	} {
		e, err := parsePlace(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.eval("", results)
		if err != nil || (got != want && !(math.IsNaN(got) && math.IsNaN(want))) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}

	for text, names := range map[string]string{"a.c": "b", "list.wal.iops": "data", "a": "b"} {
		e, err := parsePlace(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.eval("", results); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v", text, err)
		}
	}

	for _, text := range []string{"", "a b", "a..b", ":a", "a / ", "a / b / c"} {
		if _, err := parsePlace(text); err == nil {
			t.Errorf("%q is a place", text)
		}
	}
}

func TestDeviation(t *testing.T) {
	for _, c := range []struct {
		published []float64
		got, want float64
	}{
		{[]float64{10}, 15, 0.5},
		{[]float64{10}, 5, -0.5},
		{[]float64{10, 20}, 15, 0},
		{[]float64{20, 10}, 30, 0.5},
		{[]float64{0}, 0, 0},
	} {
		if got := deviation(c.published, c.got); got == nil || math.Abs(*got-c.want) > 1e-9 {
			t.Errorf("%v against %v: %v", c.got, c.published, got)
		}
	}
	if deviation(nil, 1) != nil || deviation([]float64{0}, 1) != nil {
		t.Error("a deviation from nothing")
	}
}

// Errors in a user's own case are reported.
func TestBadCases(t *testing.T) {
	const good = "title: t\npublished: p\nvariants: [{name: a, about: x}]\n"
	for text, want := range map[string]string{
		good + "stepz: []\n":                                                "stepz",
		good + "layout: {to: [aws]}\n":                                      "layout: objective is missing",
		good + "layout: {objective: [write_p98 < 1ms]}\n":                   "write_p98",
		good + "layout: {objective: [write_p99 < 1ms], size: data=1}\n":     "layout: size: ",
		good + "layout: {objective: [write_p99 < 1ms], query_span: long}\n": "layout: query_span: ",
		"title: t\n": "variants",
		good + "steps: [{step: coda, text: x}]\n":                                                     "coda",
		good + "steps: [{step: fix, text: x, figures: [{name: f, variant: b, model: seed}]}]\n":       `"b"`,
		good + "steps: [{step: fix, text: x, figures: [{name: f, model: 'b:seed'}]}]\n":               `"b"`,
		good + "steps: [{step: fix, text: x, figures: [{name: f}]}]\n":                                "note",
		good + "steps: [{step: fix, text: x, figures: [{name: f, model: seed, published: [1,2,3]}]}]": "published",
		"title: t\nvariants: [{name: a}, {name: a}]\n":                                                "variants[1]",
	} {
		_, err := Read(fstest.MapFS{"case.yaml": {Data: []byte(text)}, "scenario.yaml": {Data: []byte("plimsoll: 1\n")}}, "mine", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v", text, err)
		}
	}

	for _, folder := range []fstest.MapFS{
		{},
		{"case.yaml": {Data: []byte(good)}},
		{"case.yaml": {Data: make([]byte, fileBytesMax+1)}, "scenario.yaml": {}},
	} {
		if _, err := Read(folder, "mine", nil); err == nil {
			t.Errorf("%v is a case", folder)
		}
	}
}

// Bad content in a folder is refused with one line that names the file, at little cost.
func TestHostileCase(t *testing.T) {
	figure := "variants: [{name: a}]\nsteps: [{step: symptom, text: x, figures: [{name: f, published: [.nan], note: n}]}]\n"
	for name, want := range map[string]string{
		"a: " + strings.Repeat("[", 100_000): "mine/case.yaml:1:36: nested deeper",
		"a: &a [x, x]\nb: [*a, *a]\n":        "mine/case.yaml:1:4: anchors",
		"\x7fELF\x00\x00":                    "mine/case.yaml:1:5: not UTF-8 text",
		strings.Repeat("#", fileBytesMax+1):  "mine: case.yaml: larger than 1 MiB",
		figure:                               "published is not a number",
	} {
		_, err := Read(fstest.MapFS{"case.yaml": {Data: []byte(name)}, "scenario.yaml": {}}, "mine", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", name, err, want)
		}
	}

	if _, err := Read(fstest.MapFS{}, "mine", nil); err == nil || !strings.HasPrefix(err.Error(), "mine: a case is a folder") {
		t.Errorf("an empty folder: %v", err)
	}
}
