package document

import (
	"slices"
	"testing"
)

// A part without media is for all of them.
func TestMedia(t *testing.T) {
	for _, c := range []struct {
		set, one Media
		want     bool
	}{{0, Terminal, true}, {0, Page, true}, {Page, Page, true}, {Page, Terminal, false}, {Page | Markdown, Markdown, true}, {Page | Markdown, Terminal, false}} {
		if got := c.set.Has(c.one); got != c.want {
			t.Errorf("%b has %b: %v", c.set, c.one, got)
		}
	}
}

func TestMinorShares(t *testing.T) {
	s := &Shares{Rows: []SharePart{{Name: "log"}, {Name: "lock", Minor: true}, {Name: "other", Minor: true}}}
	if got := s.Minor(); !slices.Equal(got, []string{"lock", "other"}) {
		t.Error(got)
	}
}

// Evidence has a number, an address, and the number can be read from the address.
func TestEvidenceAddress(t *testing.T) {
	e := &Evidence{Number: 12}
	if e.Href() != "#e12" || EvidenceNumber(e.Href()) != "12" {
		t.Errorf("%s, %s", e.Href(), EvidenceNumber(e.Href()))
	}
}

// A metric is listed once, in the order of the first link to it, under an ID that is safe in an address.
func TestQueries(t *testing.T) {
	q := &Queries{Describe: func(metric string) (string, string, []string) {
		return "Time in <" + metric + ">, µs", "help of " + metric, []string{"rate(" + metric + "[1m])"}
	}}
	if got := q.Section(); got != nil {
		t.Errorf("a section without queries: %v", got)
	}
	for _, c := range []struct{ metric, want string }{
		{"fsync_total", "#q1-time-in-fsync-total-s"}, {"", ""}, {"Lock_Total", "#q2-time-in-lock-total-s"}, {"fsync_total", "#q1-time-in-fsync-total-s"},
	} {
		if got := q.Link(c.metric); got != c.want {
			t.Errorf("%q: %q, want %q", c.metric, got, c.want)
		}
	}

	list := q.Section()[0].Parts[0].Queries
	if len(list) != 2 || list[0].Name != "fsync_total" || list[0].Help != "help of fsync_total" ||
		list[1].PromQL[0] != "rate(Lock_Total[1m])" {
		t.Errorf("%+v", list)
	}
	if q.Section()[0].Only.Has(Terminal) {
		t.Error("a terminal has no links to follow")
	}
}
