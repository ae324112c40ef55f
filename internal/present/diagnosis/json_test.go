package diagnosis

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

func renderJSON(t *testing.T, r *diagnose.Report) string {
	t.Helper()
	var b strings.Builder
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJSONGolden(t *testing.T) {
	whole := checkpointReport()
	for i := range whole.Timeline { // ten points are enough to show their format
		whole.Timeline[i].Values = whole.Timeline[i].Values[15:25]
	}
	for name, r := range map[string]*diagnose.Report{"checkpoint": whole, "degraded": degradedReport(), "healthy": healthyReport(), "headroom": limited(), "nothing": nothingReport()} {
		t.Run(name, func(t *testing.T) { golden.Compare(t, name+".json", renderJSON(t, r)) })
	}
}

// The output conforms to the published schema.
func TestJSONConforms(t *testing.T) {
	s := readSchema(t)
	for _, c := range textCases {
		if c.name == "empty" {
			continue // no version: such a report is never written
		}

		var doc any
		if err := json.Unmarshal([]byte(renderJSON(t, c.report())), &doc); err != nil {
			t.Fatal(err)
		}

		if c.name == "hostile" || strings.HasPrefix(c.name, "hostile_") {
			continue // an unknown severity and negative seconds: see TestSchemaRejects
		}

		for _, problem := range s.check("", s.root, doc) {
			t.Errorf("%s: %s", c.name, problem)
		}
	}
}

// The checker finds errors, so its success means something.
func TestSchemaRejects(t *testing.T) {
	s := readSchema(t)
	edit := func(f func(*diagnose.Report)) any {
		r := checkpointReport()
		f(r)
		var doc any
		if err := json.Unmarshal([]byte(renderJSON(t, r)), &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}

	for name, c := range map[string]struct {
		doc  any
		want string
	}{
		"severity": {edit(func(r *diagnose.Report) { r.Findings[0].Severity = "bad" }), "/findings/0/severity"},
		"negative": {edit(func(r *diagnose.Report) { r.Account[0].Seconds = -1 }), "/accounting/0/seconds"},
		"version":  {edit(func(r *diagnose.Report) { r.Version = 2 }), "/version"},
		"missing":  {map[string]any{}, "sources is required"},
		"type":     {[]any{}, "want object"},
		"unknown":  {map[string]any{"surprise": 1}, "surprise is not in the schema"},
	} {
		problems := s.check("", s.root, c.doc)
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.want) }) {
			t.Errorf("%s: want a problem with %q, got %q", name, c.want, problems)
		}
	}
}

// The schema has exactly the fields of the Go types. A field added to only one of them fails this
// test.
func TestSchemaMatchesTypes(t *testing.T) {
	s := readSchema(t)
	for def, v := range map[string]any{
		"": diagnose.Report{}, "span": diagnose.Span{}, "source": diagnose.Source{}, "finding": diagnose.Finding{}, "support_case": rules.SupportCase{}, "counted": rules.Counted{},
		"evidence": diagnose.Evidence{}, "fix": diagnose.Fix{}, "share": diagnose.Share{}, "not_measured": diagnose.NotMeasured{},
		"stalls": diagnose.StallSummary{}, "track": diagnose.Track{}, "action": diagnose.Action{},
		"measured": rules.Traced{}, "traced_wait": rules.TracedWait{}, "stage": rules.StageTime{},
	} {
		schema := s.root
		if def != "" {
			schema, _ = s.defs[def].(map[string]any)
		}
		fields, required := jsonFields(reflect.TypeOf(v))
		if diff := cmp.Diff(sorted(fields), sorted(keys(schema["properties"].(map[string]any)))); diff != "" {
			t.Errorf("%s: properties (-Go type +schema.json):\n%s", def, diff)
		}
		if diff := cmp.Diff(sorted(required), sorted(stringsOf(schema["required"].([]any)))); diff != "" {
			t.Errorf("%s: required (-Go type without omitempty +schema.json):\n%s", def, diff)
		}
	}
}

func jsonFields(t reflect.Type) (all, required []string) {
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() { // not part of the contract
			continue
		}
		all = append(all, name)
		if opts == "" {
			required = append(required, name)
		}
	}
	return all, required
}

func TestJSONArraysAreNeverNull(t *testing.T) {
	r := &diagnose.Report{Findings: []diagnose.Finding{{}}, Missing: []diagnose.NotMeasured{{}}, Timeline: []diagnose.Track{{}},
		Others: []*diagnose.Report{{Findings: []diagnose.Finding{{}}}}, Elsewhere: []diagnose.Finding{{}}, Measured: &diagnose.Measured{}}
	text := renderJSON(t, r)
	for _, field := range []string{"sources", "accounting", "evidence", "fixes", "missing", "values", "waits", "stages"} {
		if !strings.Contains(text, `"`+field+`": []`) {
			t.Errorf("%s is not an empty array:\n%s", field, text)
		}
	}
	if strings.Contains(text, "null") {
		t.Errorf("null where nothing was given:\n%s", text)
	}
}

func TestJSONNumbersAreFinite(t *testing.T) {
	text := renderJSON(t, damagedReport())
	if strings.Contains(text, "NaN") || !strings.Contains(text, "null") {
		t.Errorf("a missing point of a track should be null:\n%s", text)
	}
	r := checkpointReport()
	r.Stalls.Seconds = math.Inf(1)
	if err := JSON(&strings.Builder{}, r); err == nil {
		t.Error("an infinite number of stalled seconds was written")
	}
}

// JSON does not change its input, and writes times in UTC.
func TestJSONLeavesTheReport(t *testing.T) {
	r := damagedReport()
	zone := time.FixedZone("X", -5*3600)
	r.Span.From = r.Span.From.In(zone)
	before := fmt.Sprintf("%+v", r.Findings)
	text := renderJSON(t, r)
	if after := fmt.Sprintf("%+v", r.Findings); before != after {
		t.Errorf("the report was changed:\n%s\n%s", before, after)
	}
	if !strings.Contains(text, `"from": "2026-07-20T15:55:00Z"`) || strings.Contains(text, "-05:00") {
		t.Errorf("times are not in UTC:\n%s", text[:400])
	}
}

func sorted(s []string) []string { slices.Sort(s); return s }

func keys(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func stringsOf(l []any) []string {
	var out []string
	for _, x := range l {
		out = append(out, x.(string))
	}
	return out
}
