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
