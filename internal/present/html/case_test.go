package html

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/present/results"
	"plimsoll/internal/testkit"
)

// A page omits what its case does not have: no plan was requested, nothing reaches the objective, or
// nothing has to change.
func TestCaseEnds(t *testing.T) {
	whole := `id="plan" id="files" id="recorded"`
	for _, c := range []struct {
		name, ids, says string
		change          func(*casebook.Walk)
	}{
		{"to the end", whole, "storageclass-journal.yaml", func(*casebook.Walk) {}},
		{"--no-plan", "", "Where the published claim is wrong", func(k *casebook.Walk) { k.Plan, k.Files, k.Proof = nil, nil, nil }},
		{"no layout", `id="plan"`, "No layout considered reaches write_p99 &lt; 25.0\u00a0ms.", func(k *casebook.Walk) { k.Plan.Chosen, k.Files, k.Proof = nil, nil, nil }},
		{"no change", `id="plan"`, "No change needed for write_p99 &lt; 25.0\u00a0ms", func(k *casebook.Walk) { k.Plan.Chosen, k.Files, k.Proof = k.Plan.Now, nil, nil }},
		{"by the application", whole, "the changes are to the application", func(k *casebook.Walk) { k.Files = nil }},
	} {
		k := exampleWalk(t)
		c.change(k)
		page := pageOf(t, results.Case(testkit.Pack(), k, results.Origin{}))

		var ids []string
		for _, id := range strings.Fields(whole) {
			if strings.Contains(page, "<section "+id) {
				ids = append(ids, id)
			}
		}

		if got := strings.Join(ids, " "); got != c.ids || !strings.Contains(page, c.says) {
			t.Errorf("%s: sections %s, want %s and the words %q", c.name, got, c.ids, c.says)
		}
	}
}
