package workload

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/base/units"
)

// TestProblems shows what is reported about invalid specifications, and what valid ones resolve to.
func TestProblems(t *testing.T) {
	datadriven.Walk(t, "testdata/problems", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			var spec Spec
			if err := yaml.UnmarshalWithOptions([]byte(d.Input), &spec, yaml.DisallowUnknownField()); err != nil {
				return err.Error() + "\n"
			}

			w, problems := spec.Resolve(testFile)
			if len(problems) > 0 {
				return problems.Error() + "\n"
			}

			out, err := yaml.Marshal(w.Spec())
			if err != nil {
				return err.Error() + "\n"
			}

			return string(out)
		})
	})
}

// A resolved specification resolves to itself.
func TestResolvedIsResolved(t *testing.T) {
	specs := varied()
	for _, p := range Presets() {
		specs = append(specs, Spec{Preset: p.Name})
	}

	for _, s := range specs {
		w := resolved(t, s)
		text, err := yaml.Marshal(w.Spec())
		if err != nil {
			t.Fatal(err)
		}

		var read Spec
		if err := yaml.UnmarshalWithOptions(text, &read, yaml.DisallowUnknownField()); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}

		again := resolved(t, read)
		if diff := cmp.Diff(w.Spec(), again.Spec()); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// Resolving changes neither its input nor a preset.
func TestResolveLeavesItsArgument(t *testing.T) {
	make := func() Spec {
		return Spec{
			Preset: "ycsb-a", Keys: &Keys{Count: 5}, Document: &Document{Size: 3}, Mix: &Mix{Scan: 1},
			Arrivals: &Arrivals{Daily: &Daily{High: 5}}, Connections: 3,
		}
	}

	s := make()
	before := Presets()
	w := resolved(t, s)

	if diff := cmp.Diff(make(), s); diff != "" {
		t.Error(diff)
	}

	if diff := cmp.Diff(before, Presets()); diff != "" {
		t.Error(diff)
	}

	if k := w.Spec().Keys; k.Count != 5 || k.Distribution != "zipf" || k.Theta != 0.99 {
		t.Errorf("keys %+v: want the count that is written, and the preset's zipf", *k)
	}
}

// Whatever a user writes gives problems that name a field, or a workload that runs.
func FuzzSpec(f *testing.F) {
	for _, p := range Presets() {
		f.Add("preset: " + p.Name)
	}

	for _, s := range varied() {
		text, err := yaml.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}

	f.Add("preset: telemetry\nworking_set: 1B\nkeys: {count: 5}")
	f.Add("arrivals: {steps: [{rate: -1/s}, {clients: -5, for: 1ns}]}\nmix: {push: 200%}\nbuckets: {span: 0s, interval: 1d}")
	f.Add("arrivals: {constant: 1e300/s}\nmix: {insert: 1}\ndocument: {quantiles: [{share: 0, size: 1B}, {share: 1, size: 1B}]}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 || strings.ContainsAny(text, "&*") { // the YAML reader bounds aliases
			return
		}

		var spec Spec
		if yaml.UnmarshalWithOptions([]byte(text), &spec, yaml.DisallowUnknownField()) != nil {
			return
		}

		w, problems := spec.Resolve(nil)
		for _, p := range problems {
			if p.Field == "" || p.Text == "" {
				t.Errorf("a problem without a field or a text: %+v", p)
			}
		}

		if len(problems) > 0 {
			return
		}

		if r := w.Rate(); r < 0 || r > RateMax+1 {
			t.Errorf("rate %v", r)
		}

		var op Op
		if c := w.Closed(1); c != nil {
			for i := range min(1000, c.Clients()) {
				if c.Begin(i, 0, &op) {
					checkOp(t, w, &op)
				}
			}
			return
		}

		src := w.Open(1)
		for range 1000 {
			if !src.Next(&op) {
				break
			}
			checkOp(t, w, &op)
		}
	})
}

// The working set is the size of the documents in bytes.
func TestWorkingSet(t *testing.T) {
	w := resolved(t, Spec{Preset: "ycsb-c", WorkingSet: 18 * units.GB})
	if w.Documents() != 18_000_000 {
		t.Errorf("%v documents of 1 kB are 18 GB", w.Documents())
	}
}
