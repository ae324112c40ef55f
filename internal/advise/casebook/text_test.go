package casebook_test

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/results"
	"plimsoll/internal/present/text"
	"plimsoll/internal/testkit"
)

// The walks are byte-identical on every machine. A change of a model shows up here as a change of
// the report.
func TestWalks(t *testing.T) {
	for _, name := range casebook.Names() {
		t.Run(name, func(t *testing.T) {
			w := casebook.WalkOf(t, name)
			if w == nil {
				t.Skip("hours of virtual time; walked without the race detector")
			}
			var b strings.Builder
			d := results.Case(testkit.Pack(), w, results.Origin{File: "scenario.yaml"})
			if err := text.Write(&b, d, text.Options{Width: 100}); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, name+".txt", b.String())
		})
	}
}
