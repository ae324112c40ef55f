package scenario_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// same reports whether two scenarios have the same content, whatever their names.
func same(a, b *scenario.Scenario) bool {
	parts := func(s *scenario.Scenario) []any {
		return []any{s.Seed, s.Run, s.Host, s.Volumes, s.Engine.Name(), s.Engine.Config, s.Members, s.Workload, s.Objective}
	}
	return reflect.DeepEqual(parts(a), parts(b))
}

// TestYAML: a scenario's YAML gives the same scenario.
func TestYAML(t *testing.T) {
	files, err := filepath.Glob("../../../examples/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}

	cases, err := filepath.Glob("../../advise/casebook/cases/*/scenario.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}

	for _, file := range slices.Concat(files, cases) {
		s, err := language.Load(file, nil)
		if err != nil {
			t.Fatal(err)
		}

		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}

		beside := filepath.Join(filepath.Dir(file), "of-"+filepath.Base(file)) // recorded rates are there
		again, err := language.NewFile(beside, text).Parse(nil)
		if err != nil {
			t.Errorf("%s is written as\n%s\n%v", file, text, err)
			continue
		}

		if second, err := again.YAML(); err != nil || string(second) != string(text) || !same(s, again) {
			t.Errorf("%s: another scenario:\n%s\n%v", file, text, err)
		}
	}
}

// TestWith: assigning values or text has the same effect as --set.
func TestWith(t *testing.T) {
	text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		t.Fatal(err)
	}

	file := language.NewFile("telemetry.yaml", text)
	s, err := file.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}

	before, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}

	journal := catalog.Order{Type: "io2", Size: 10 * units.GiB, IOPS: 4000}
	for name, sets := range map[string][]scenario.Set{
		"text":  {{"volumes.journal", "{type: io2, size: 10GiB, iops: 4000}"}, {"engine.mongodb.cache", "3GiB"}, {"objective", ""}},
		"value": {{"volumes.journal", journal}, {"engine.mongodb.cache", 3 * units.GiB}, {"objective", nil}},
	} {
		with, err := s.With(sets...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		var lines []string
		for _, set := range sets {
			lines = append(lines, set.String())
		}

		parsed, err := file.Parse(lines)
		if err != nil {
			t.Fatalf("%s: %q: %v", name, lines, err)
		}

		if !same(with, parsed) || same(with, s) {
			t.Errorf("%s: %q give another scenario", name, lines)
		}

		if j, c := with.Volumes.Get("journal"), scenario.ConfigOf[*wiredtiger.Config](with); j == nil || *j != journal || c.Cache != 3*units.GiB || with.Objective.WriteP99 != nil {
			t.Errorf("%s: %+v", name, with)
		}
	}

	if after, err := s.YAML(); err != nil || string(after) != string(before) {
		t.Errorf("the original scenario changed:\n%s\n%v", after, err)
	}

	_, err = s.With(scenario.Set{Path: "volumes.data", Value: catalog.Order{Type: "gp3", Size: 100 * units.GiB, IOPS: 90_000}})
	if err == nil || !strings.Contains(err.Error(), "--set: volumes.data.iops: 90,000 IOPS") {
		t.Errorf("%v", err)
	}

	if _, err = s.With(scenario.Set{Path: "volumes..data", Value: 1}); err == nil || !strings.Contains(err.Error(), "is not a path of keys") {
		t.Errorf("%v", err)
	}
}

// TestMake: a scenario can be made from assignments alone, and missing parts are reported.
func TestMake(t *testing.T) {
	sets := []scenario.Set{
		{"plimsoll", scenario.Version},
		{"volumes.data", catalog.Order{Type: "gp3", Size: 100 * units.GiB}},
		{"engine.mongodb.cache", 2 * units.GB}, {"workload.preset", "telemetry"},
	}

	made, err := language.Make("made", sets)
	if err != nil {
		t.Fatal(err)
	}

	parsed, err := language.Parse("f.yaml", []byte(right), nil)
	if err != nil {
		t.Fatal(err)
	}

	if !same(made, parsed) || made.Name != "made" {
		t.Errorf("%+v, and parsed %+v", made, parsed)
	}

	if _, err := language.Make("made", sets[:3]); err == nil || !strings.Contains(err.Error(), "made:1:1: workload: missing") {
		t.Errorf("%v", err)
	}
}

// If the kernel uses only one of two settings, assigning one removes the other from the file, as sysctl does.
func TestAssignmentReplacesItsSibling(t *testing.T) {
	for set, want := range map[string][2]float64{
		"host.dirty_background_bytes=8MB": {8e6, 0.05}, "host.dirty_background_ratio=3%": {0, 0.03}, "host.dirty_ratio=30%": {0, 0.05},
	} {
		sc, err := language.Parse("f.yaml", []byte(right+"host: {dirty_background_ratio: 5%}\n"), []string{set})
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		if got := [2]float64{float64(sc.Host.DirtyBackground), float64(sc.Host.DirtyBackgroundRatio)}; got[0] != want[0] || want[0] == 0 && got[1] != want[1] {
			t.Errorf("%s: bytes and ratio are %v, want %v", set, got, want)
		}
	}
}
