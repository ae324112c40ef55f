package diagnosis

import (
	"strings"
	"testing"

	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/present/document"
)

// A metric is listed once, in the order of the first link to it, under an ID that is safe in an address.
func TestQueries(t *testing.T) {
	q := NewQueries(corerules.NewPack(nil))
	if got := q.Section(); got.Parts != nil {
		t.Errorf("a section without queries: %v", got)
	}
	for _, c := range []struct{ metric, want string }{
		{"Fsync_<Total>, µs", "#q1-fsync-total-s"}, {"", ""}, {"plimsoll:disk_busy:ratio", "#q2-disk-busy-ratio"}, {"Fsync_<Total>, µs", "#q1-fsync-total-s"},
	} {
		if got := q.Link(c.metric); got != c.want {
			t.Errorf("%q: %q, want %q", c.metric, got, c.want)
		}
	}

	list := q.Section().Parts[0].Queries
	if len(list) != 2 || list[0].Name != "Fsync_<Total>, µs" || list[0].Help != "a plain metric" ||
		!strings.Contains(list[1].PromQL[0], "[1m]") {
		t.Errorf("%+v", list)
	}
	if q.Section().Only.Has(document.Terminal) {
		t.Error("a terminal has no links to follow")
	}
}
