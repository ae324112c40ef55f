package results

import (
	"strings"
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/text"
)

// page is a rule's page with everything that the conversion to text has to handle.
const page = `# The volume's IOPS cap binds

Above the first heading: see [limits](../limits.md).

## What it means

The volume serves as many requests as it may.
See [AWS](https://docs.aws.amazon.com/ebs) and [fixes](fixes/raise-iops.md).

<!-- for authors -->
` + "```sh" + `
# a comment, not a heading
## and another
echo "[no](link)"
` + "```" + `

## Fix
`

const fix = `# Raise the volume's IOPS

Takes minutes.

## Undo

Lower them again.
`

// A terminal shows a rule's page without links, because it has no other page to go to; web addresses and code
// stay. Its fixes follow as one section each.
func TestRule(t *testing.T) {
	r := &rules.Description{
		Title:  "The volume's IOPS cap binds",
		When:   "iops > 0.95 * iops_limit",
		PromQL: "rate(x[1m]) > 0.95 * y",
		Signals: []rules.SignalDescription{
			{Name: "iops", Unit: "1/s", Help: "Requests a second.", Exprs: []string{"rate(x[1m])"}},
			{Name: "engine", Help: "Its name.", Exprs: []string{"y"}},
		},
	}
	golden.Inline(
		t,
		strings.ReplaceAll(set(t, Rule(r, []byte(page), []byte(fix)), text.Options{Width: 80}), "`", "'"),
		`
The volume's IOPS cap binds

Above the first heading: see limits.

WHAT IT MEANS
────────────────────────────────────────────────────────────────────────────────
   The volume serves as many requests as it may.
   See AWS (https://docs.aws.amazon.com/ebs) and fixes.

   '''sh
   # a comment, not a heading
   ## and another
   echo "[no](link)"
   '''

FIX
────────────────────────────────────────────────────────────────────────────────

RAISE THE VOLUME'S IOPS
────────────────────────────────────────────────────────────────────────────────
   Takes minutes.

   Undo:

   Lower them again.

IN PROMQL
────────────────────────────────────────────────────────────────────────────────
   Over signals:

   iops > 0.95 * iops_limit

   Over exporters' metrics; the rule may hold if the result is not empty:

   rate(x[1m]) > 0.95 * y

SIGNALS
────────────────────────────────────────────────────────────────────────────────
   iops (1/s): Requests a second.

   rate(x[1m])

   engine: Its name.

   y
`,
	)

	none := Rule(&rules.Description{Title: "A rule without metrics"}, []byte("# A rule without metrics\n"))
	if len(none.Sections) != 0 || none.Verdict != "A rule without metrics" {
		t.Errorf("%q, %d sections", none.Verdict, len(none.Sections))
	}
}

// A rule without an engine is listed as about "any".
func TestRules(t *testing.T) {
	golden.Inline(
		t,
		set(
			t,
			Rules(
				[]rules.Description{
					{ID: "disk/iops-capped", Kind: "cause", Title: "The volume's IOPS cap binds"},
					{ID: "mongodb/slow-writes", Kind: "symptom", Engine: "mongodb", Title: "Writes stall"},
				},
			),
			text.Options{Width: 90},
		),
		`
rule                 kind     about    title
disk/iops-capped     cause    any      The volume's IOPS cap binds
mongodb/slow-writes  symptom  mongodb  Writes stall
`,
	)
}

// Links become their text; in a code block nothing is a link.
func TestWithoutLinks(t *testing.T) {
	for in, want := range map[string]string{
		"a [b](c.md) d":                    "a b d",
		"[b](https://x.y/z).":              "b (https://x.y/z).",
		"[a](b)[c](d)":                     "ac",
		"[a] (b)":                          "[a] (b)",
		"```\n[a](b)\n```\n[c](d)":         "```\n[a](b)\n```\nc",
		"  ```\n  [a](b)\n  ```\n":         "  ```\n  [a](b)\n  ```\n",
		"x[1m](not a link because spaces)": "x[1m](not a link because spaces)",
	} {
		if got := withoutLinks(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
