package text_test

import (
	"strings"
	"testing"

	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// Marks are drawn below the series at their time, the newest with their text. A mark after the end
// is drawn at the end.
func TestMarksOnTheAxis(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(i % 10)
	}
	drawn := text.Timeline(&document.Timeline{FromS: 0, ToS: 100, From: "0", To: "100 s",
		Charts: []document.Chart{{Title: "latency", Unit: "seconds", StepS: 1, Series: []document.Series{{Name: "latency", Values: values}}}},
		Marks:  []document.Mark{{AtS: 0, Text: "first", Clock: "12:00:00"}, {AtS: 10, Text: "a"}, {AtS: 50, Text: "b \x1b[2J"}, {AtS: 1000, Text: "last", Clock: "12:01:40"}},
	}, 80)
	if n := strings.Count(drawn, "▲"); n != 4 {
		t.Errorf("%d marks:\n%s", n, drawn)
	}
	if !strings.Contains(drawn, "12:01:40 last") || strings.Contains(drawn, "first") || strings.ContainsRune(drawn, '\x1b') {
		t.Errorf("the words of the newest three marks, and no escapes:\n%s", drawn)
	}
}
