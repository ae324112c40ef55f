package prove

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The required length grows with the recording until it is long enough, regardless of the cycles'
// lengths.
func TestLeast(t *testing.T) {
	for _, c := range []struct {
		made made
		want time.Duration
	}{
		{made{cells: 620, every: 60}, 0},
		{made{cells: 300, every: 60}, 8 * time.Minute},
		{made{cells: 40}, 61 * time.Second},
		{made{cells: 300}, 0},
	} {
		s := c.made.side("before")
		s.cut, _ = cut(s.c, s.c)
		if got, _ := s.lacks(s); got != c.want {
			t.Errorf("%+v: %v, want %v", c.made, got, c.want)
		}
	}

	// PostgreSQL's checkpoints by volume: some consecutive ones are short, and then there are none.
	s := made{cells: 90, every: 20}.side("before")
	for n := range unitsMin {
		s.cut = partition{cycles: true, n: n, usual: 11}
		if got, _ := s.lacks(s); got <= 90*time.Second {
			t.Errorf("%d cycles in 90 s: %v", n, got)
		}
	}
}

// Compared with a recording with cycles, one with longer cycles has to be longer, and one without
// checkpoints does not wait for any.
func TestLeastBesideAnother(t *testing.T) {
	for _, c := range []struct {
		made made
		want time.Duration
	}{
		{made{cells: 620, every: 60}, 0},
		{made{cells: 620, every: 150}, 20 * time.Minute},
		{made{cells: 620, every: 2000}, 0},
		{made{cells: 200, every: 2000}, 7 * time.Minute},
	} {
		before, after := made{cells: 620, every: 60}.side("before"), c.made.side("after")
		before.cut, after.cut = cut(before.c, after.c)
		if got, _ := after.lacks(before); got != c.want {
			t.Errorf("%+v: %v, want %v", c.made, got, c.want)
		}
	}
}

// Advice names the engine that was recorded, and all of them if none was.
func TestAdviceIsAboutTheRecordedEngine(t *testing.T) {
	s := made{cells: 90, every: 200}.side("before")
	s.cut, _ = cut(s.c, s.c)

	for _, c := range []struct {
		engines  []string
		postgres bool
	}{{[]string{"mongodb"}, false}, {nil, true}} {
		s.c.Engines = c.engines

		short, common := longEnough(s, s), nothingInCommon(s, s, &Report{})
		for _, err := range []error{short, common} {
			var r *refusal
			if !errors.As(err, &r) {
				t.Fatalf("%v: %v is no refusal", c.engines, err)
			}
			hint := strings.ToLower(r.hint)
			if !strings.Contains(hint, "mongo") || strings.Contains(hint, "postgres") != c.postgres {
				t.Errorf("%v: %s", c.engines, r.hint)
			}
		}
	}
}
