package prove

import "testing"

// A paced checkpoint takes longer by design: as meant, whether the fix is named or its setting
// changed. What clients feel stays worse.
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
		r.meant(pairs, Options{Pack: pack, Fixes: c.fixes})
		if got := pairs[0].figure.Verdict; got != c.want {
			t.Errorf("%s: the checkpoint is %q, want %q", name, got, c.want)
		}
		if pairs[1].figure.Verdict != Worse || pairs[2].figure.Verdict != Worse {
			t.Errorf("%s: what is not raised on purpose is no longer worse: %+v", name, pairs)
		}
	}
	if err := checkFixes(pack, []string{"wish"}); err == nil {
		t.Error("a fix that nobody knows is accepted")
	}
}
