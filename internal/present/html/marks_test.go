package html

import (
	"strings"
	"testing"

	"plimsoll/internal/present/document"
)

// A mark is a line through every chart, on paper and for the script. A page whose server accepts marks
// from it may send a form there, and no other page may.
func TestMarksOnThePage(t *testing.T) {
	d := &document.Document{Kind: "Diagnosis", Title: "x", Timeline: &document.Timeline{ToS: 10,
		Charts: []document.Chart{{ID: "c1", Title: "latency", Unit: "seconds", StepS: 1, Series: []document.Series{{Name: "latency", Style: 1, Values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}}}},
		Marks:  []document.Mark{{AtS: 5, Text: "</script><b>"}}}}
	d.Sections = []document.Section{{ID: "timeline", Title: "Timeline", Parts: []document.Part{{Timeline: d.Timeline}}}}
	text, err := render(d)
	if err != nil {
		t.Fatal(err)
	}

	page := string(text)
	for _, want := range []string{`class="moment"`, `"marks":[{"at":5,"text":"\u003c/script\u003e\u003cb\u003e"}]`, "changed here"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}

	if !strings.Contains(Policy(d), "form-action 'none'") {
		t.Error("any page may send forms")
	}

	if strings.Contains(page, "</script><b>") || strings.Contains(page, "<form") {
		t.Error("a mark is markup, or the page has a form that nobody takes")
	}

	d.Action = &document.Action{Label: "Mark", Path: "/mark"}
	if text, err = render(d); err != nil {
		t.Fatal(err)
	}

	if page = string(text); !strings.Contains(Policy(d), "form-action 'self'") || !strings.Contains(page, `<form method="post" action="/mark">`) {
		t.Error("the page has no button, or may not send it")
	}
}
