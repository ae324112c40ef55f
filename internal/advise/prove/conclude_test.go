package prove

import "testing"

func TestCapital(t *testing.T) {
	for in, want := range map[string]string{"": "", "b": "B", "better": "Better", "can't tell": "Can't tell"} {
		if got := capital(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
