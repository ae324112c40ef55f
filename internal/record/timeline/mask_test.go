package timeline_test

import (
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/record/timeline"
)

// mask parses "..##.": # where it is true.
func mask(s string) timeline.Mask {
	m := make(timeline.Mask, len(s))
	for i := range s {
		m[i] = s[i] == '#'
	}
	return m
}

func picture(m timeline.Mask) string {
	b := make([]byte, len(m))
	for i := range m {
		b[i] = '.'
		if m[i] {
			b[i] = '#'
		}
	}
	return string(b)
}

func TestMaskOperations(t *testing.T) {
	a, b := mask("..##..##"), mask(".##..###")
	for _, c := range []struct{ name, got, want string }{
		{"and", picture(a.And(b)), "..#...##"},
		{"or", picture(a.Or(b)), ".###.###"},
		{"without", picture(a.Without(b)), "...#...."},
		{"not", picture(a.Not()), "##..##.."},
		{"or of another length", picture(a.Or(mask("#"))), "#.##..##"},
		{"widen", picture(mask("...#....##").Widen(1, 2)), "..####.###"},
		{"widen at the ends", picture(mask("#...#").Widen(2, 2)), "#####"},
		{"close holes of one", picture(mask("#.#..#.").Close(1)), "###..#."},
		{"close holes of two", picture(mask("#.#..#.").Close(2)), "######."},
		{"close none", picture(mask("...").Close(2)), "..."},
		{"of episodes beyond the grid", picture(timeline.MaskOf(4, []timeline.Episode{{First: -3, Last: 0}, {First: 3, Last: 9}})), "#..#"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// Episodes and MaskOf are inverses, and widening an interval extends its ends.
func TestMaskProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := timeline.Mask(rapid.SliceOfN(rapid.Bool(), 0, 60).Draw(t, "mask"))
		if got := timeline.MaskOf(len(m), m.Episodes()); picture(got) != picture(m) {
			t.Fatalf("%s became %s", picture(m), picture(got))
		}

		before, after := rapid.IntRange(0, 5).Draw(t, "before"), rapid.IntRange(0, 5).Draw(t, "after")
		wide := m.Widen(before, after)
		for i := range m {
			want := false
			for k := max(0, i-after); k <= min(len(m)-1, i+before); k++ {
				want = want || m[k]
			}
			if wide[i] != want {
				t.Fatalf("%s widened by %d and %d is %s", picture(m), before, after, picture(wide))
			}
		}

		n := 0
		for _, e := range m.Episodes() {
			n += e.Cells()
		}

		if n != m.Count() {
			t.Fatalf("%d cells in episodes, %d in %s", n, m.Count(), picture(m))
		}

		if x := rapid.IntRange(0, 4).Draw(t, "hole"); picture(m.Close(x).Close(x)) != picture(m.Close(x)) {
			t.Fatalf("closing %s twice is not closing it once", picture(m))
		}
	})
}

func episodes(firsts ...int) []timeline.Episode {
	var out []timeline.Episode
	for _, f := range firsts {
		out = append(out, timeline.Episode{First: f, Last: f + 2})
	}
	return out
}

func TestRecurrence(t *testing.T) {
	for _, c := range []struct {
		name string
		eps  []timeline.Episode
		want float64 // cells; 0 if there is no period
	}{
		{"a clock", episodes(20, 80, 140, 200), 60},
		{"60 s after the last one ended: the period wanders with the duration", episodes(0, 62, 131, 193, 260), 65},
		{"each seen twice, five cells apart", episodes(20, 25, 80, 85, 140, 145, 200, 205), 60},
		{"two episodes are no period", episodes(20, 80), 0},
		{"irregular", episodes(0, 7, 100, 104, 300, 311, 900), 0},
		{"every other cell is noise, not a recurrence", episodes(0, 2, 4, 6, 8), 0},
		{"three distances that agree by chance within a quarter", episodes(0, 1000, 1700, 2500), 0},
		{"ten at random", episodes(12, 118, 170, 350, 361, 505, 600, 640, 811, 930), 0},
		{"a clock that was missed twice", episodes(0, 60, 121, 240, 301, 359, 480, 541, 600, 661, 720), 60},
		{"none", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, ok := timeline.Recurrence(c.eps)
			if ok != (c.want > 0) || ok && (p.Cells < c.want-3 || p.Cells > c.want+3) {
				t.Errorf("%+v, %v; want %v", p, ok, c.want)
			}
		})
	}
}
