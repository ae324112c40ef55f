package watch

import (
	"fmt"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
)

// Reading the same marks again does not trigger a diagnosis, even at the maximum number of marks. A new
// one does, although their number stays the same.
func TestFullMarksAreNotNew(t *testing.T) {
	var all []recording.Mark
	for k := range recording.MarksMax {
		all = append(all, recording.Mark{At: time.Unix(int64(k), 0).UTC(), Text: fmt.Sprint(k)})
	}

	w := &Watch{}
	w.addMarks(all)
	if !w.justMarked() {
		t.Error("the first marks are not new")
	}

	for range 3 {
		if w.addMarks(all); w.justMarked() {
			t.Error("the same marks are new again")
		}
	}

	w.addMarks([]recording.Mark{{At: time.Unix(1e6, 0).UTC(), Text: "another"}})
	if !w.justMarked() || len(w.Marks()) != recording.MarksMax {
		t.Errorf("another mark is not new; %d marks", len(w.Marks()))
	}
}
