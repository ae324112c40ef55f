package bigpage

import "testing"

// Every element of a slice can be used, whatever part of it lies in large pages.
func TestSlice(t *testing.T) {
	for _, n := range []int{0, 1, 4096, alignment, 2*alignment - 1, 2 * alignment, 5*alignment + 123} {
		s := Slice[uint8](n)
		if len(s) != n {
			t.Fatalf("%d elements, want %d", len(s), n)
		}
		for i := range s {
			if s[i] != 0 {
				t.Fatalf("element %d of %d is %d", i, n, s[i])
			}
			s[i] = uint8(i)
		}
		for i := range s {
			if s[i] != uint8(i) {
				t.Fatalf("element %d of %d is %d", i, n, s[i])
			}
		}
	}
}
