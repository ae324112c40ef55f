//go:build linux

package blockdev

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
)

func TestParseSeen(t *testing.T) {
	got, err := parseSeen("     120        0     8672       15     3000       40   240000    31000        2     4096    31015        0        0        0        0        7        1\n")
	if err != nil || got.Requests != 3120 || got.Time != units.Duration(31015*time.Millisecond) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "1 2 3", "1 2 3 4 5 6 7 many", "1 2 3 -4 5 6 7 8", "1 2 3 4 5 6 7 99999999999999"} {
		if got, err := parseSeen(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzParseSeen(f *testing.F) {
	f.Add("1 0 8 15 30 4 24 31 2 40 31 0 0 0 0 7 1\n")
	f.Add("18446744073709551615 0 0 0 0 0 0 0")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseSeen(text); err == nil && (s.Requests < 0 || s.Time < 0) {
			t.Errorf("%q: %+v", text, s)
		}
	})
}
