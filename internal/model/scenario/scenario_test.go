package scenario_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestExamples reads every scenario in the repository.
func TestExamples(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../../examples/scenarios/*.yaml", "../../advise/casebook/cases/*/scenario.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}

	if len(files) < 5 {
		t.Fatalf("only %d scenarios: %q", len(files), files)
	}

	for _, file := range files {
		s, err := language.Load(file, nil)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}

		if s.Workloads() == nil || s.Engine.Name() == "" {
			t.Errorf("%s: %+v is not ready to run", file, s)
		}

		for k := 1; k <= s.MemberCount(); k++ {
			if _, err := s.Build(k, func(name string) string { return name }); err != nil {
				t.Errorf("%s: member %d: %v", file, k, err)
			}
		}

		for _, w := range s.Warnings {
			t.Logf("%s", w)
		}
	}

	if _, err := os.Stat("../../../examples/scenarios/telemetry.yaml"); err != nil {
		t.Error(err)
	}
}
