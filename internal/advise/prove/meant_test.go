package prove

import (
	"strings"
	"testing"

	"plimsoll/internal/base/random"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// A paced checkpoint takes longer by design: its verdict is "as meant", whether the fix is named or
// only its setting changed. Client-visible figures are still reported as worse.
func TestMeant(t *testing.T) {
	figures := func() []pair {
		return []pair{
			{kind: kind{name: "checkpoint"}, figure: Figure{Name: "checkpoint", Verdict: Worse}},
			{kind: kind{name: "write_p99", felt: true}, figure: Figure{Name: "write_p99", Verdict: Worse}},
			{kind: kind{name: "await"}, figure: Figure{Name: "await", Verdict: Worse}},
		}
	}

	for name, c := range map[string]struct {
		fixes    []string
		settings []Setting
		want     Verdict
	}{
		"named":               {fixes: []string{"pace-checkpoint"}, want: AsMeant},
		"seen by its setting": {settings: []Setting{{Name: "postgresql.checkpoint_completion_target", Before: "0", After: "0.9"}}, want: AsMeant},
		"another fix":         {fixes: []string{"dirty-bytes"}, want: Worse},
		"nothing":             {want: Worse},
	} {
		pairs, r := figures(), &Report{Settings: c.settings}
		r.meant(pairs, Options{Pack: testkit.Pack(), Fixes: c.fixes})
		if got := pairs[0].figure.Verdict; got != c.want {
			t.Errorf("%s: the checkpoint is %q, want %q", name, got, c.want)
		}
		if pairs[1].figure.Verdict != Worse || pairs[2].figure.Verdict != Worse {
			t.Errorf("%s: what is not raised on purpose is no longer worse: %+v", name, pairs)
		}
	}

	if err := checkFixes(testkit.Pack(), []string{"wish"}); err == nil {
		t.Error("a fix that nobody knows is accepted")
	}
}

// A fix whose settings are the same in both recordings was not applied. The report says so, and
// does not excuse figures that got worse.
func TestFixThatIsNotInEffect(t *testing.T) {
	with := func(word, percent string) *side {
		s := made{seed: 1, cells: 100}.side(word)
		s.c.Facts["vm.dirty_background_bytes"] = percent
		return s
	}

	opt := Options{Pack: testkit.Pack(), Fixes: []string{"dirty-bytes"}}
	r := &Report{}
	r.contradict(with("before", "67108864"), with("after", "67108864"), opt)

	if len(r.Warnings) != 1 || r.Warnings[0] != "--fix dirty-bytes is not in effect: vm.dirty_background_bytes is 67108864 in both recordings" {
		t.Errorf("%q", r.Warnings)
	}

	if r.meant(nil, opt); len(r.Fixes) != 0 {
		t.Errorf("fixes %q", r.Fixes)
	}

	r = &Report{}
	if r.contradict(with("before", "67108864"), with("after", "8388608"), opt); len(r.Warnings) != 0 {
		t.Errorf("a setting that changed: %q", r.Warnings)
	}
}

// Recordings of two hosts can be compared, with a warning.
func TestTwoHosts(t *testing.T) {
	of := func(word, host string, seed random.Seed) *side {
		s := made{seed: seed, cells: 300}.side(word)
		m := recording.NewMemory(recording.MemoryOptions{})
		m.Source(recording.Source{Kind: "openmetrics", Name: word, Host: host})
		s.in = []recording.Reader{m}
		return s
	}
	for after, want := range map[string]bool{"db-2": true, "db-1": false, "": false} {
		r, err := compare(t.Context(), of("before", "db-1", 1), of("after", after, 2), few)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "the hosts differ: db-1 before, "); got != want {
			t.Errorf("after is %q: warnings %q", after, r.Warnings)
		}
	}
}
