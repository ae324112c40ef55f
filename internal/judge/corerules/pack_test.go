package corerules_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/rules"
)

// Missing evidence is judged first, then what clients noticed, and causes in an engine last: a cause may
// depend on the findings before it.
func TestOrderOfJudging(t *testing.T) {
	stage := func(r rules.Rule) int {
		switch {
		case r.ID == "evidence/gap" || r.ID == "evidence/volume-not-seen":
			return 0
		case r.Engine != "" && r.Kind == rules.Symptom:
			return 1
		case r.Engine == "":
			return 2
		default:
			return 3
		}
	}

	all := corerules.NewPack(engine.All().Rules()).Rules()
	if !slices.IsSortedFunc(all, func(a, b rules.Rule) int { return stage(a) - stage(b) }) {
		for _, r := range all {
			t.Log(stage(r), r.ID)
		}
		t.Error("the rules are not in the order of their stages")
	}
}

// The core needs no engine: without one, its rules are the same, and each has a script in this folder.
func TestCoreAlone(t *testing.T) {
	alone, all := corerules.NewPack(nil), corerules.NewPack(engine.All().Rules())
	var ids, core []string
	for _, r := range alone.Rules() {
		ids = append(ids, r.ID)
		script := "testdata/" + strings.ReplaceAll(r.ID, "/", "-") + ".test"
		if _, err := fs.Stat(alone.Scripts()[0], script); err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
	for _, r := range all.Rules() {
		if r.Engine == "" {
			core = append(core, r.ID)
		}
	}

	if !slices.Equal(ids, core) {
		t.Errorf("alone %v, with engines %v", ids, core)
	}
}
