package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/present/document"
)

// A peak of one point stays visible, however many points share its slot.
func TestSlotKeepsTheMaximum(t *testing.T) {
	const start = 1_784_559_600.25 // seconds since 1970 are less precise than those of a run
	r := row{chart: document.Chart{FromS: start, StepS: 0.5}}
	for i := range 600 {
		v := 1.0
		if i == 123 {
			v = 9
		}
		r.series.Values = append(r.series.Values, v)
	}

	got := (&document.Timeline{FromS: start, ToS: start + 300}).Slots(r.chart, r.series, 30)
	for i, v := range got {
		want := 1.0
		if i == 6 { // 61.5 s of ten-second slots
			want = 9
		}
		if v != want {
			t.Errorf("slot %d is %v, want %v", i, v, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"  one   two three ", 9, []string{"one two", "three"}},
		{"abcdefghijklmnop", 10, []string{"abcdefghij", "klmnop"}},
		{"ab cdefghijklmnop", 10, []string{"ab", "cdefghijkl", "mnop"}},
		{"at 07-31 15:58:06, for 48.0 MB/s", 16, []string{"at", "07-31 15:58:06,", "for 48.0 MB/s"}},
		{"データベース", 8, []string{"データベ", "ース"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, c.width, c.width)); diff != "" {
			t.Errorf("wrap(%q, %d) (-want +got):\n%s", c.text, c.width, diff)
		}
	}
}
