package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/record/recording"
)

// A plan from a cloud's metadata has the prices of its region, or says that they are unknown.
func TestRegionOfThePrices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	const text = "plimsoll: 1\nname: x\nhost: {cores: 2, memory: 8GiB}\nvolumes: {data: {type: hyperdisk-balanced, size: 100GiB}}\nengine: {mongodb: {cache: 1GB}}\nworkload: {preset: telemetry}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	file, err := openScenario(t.Context(), (&app{}).language(), path)
	if err != nil {
		t.Fatal(err)
	}

	sc, err := file.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		asked, want, says string
		reported          []string
	}{
		{"", "us-east1", "", []string{"us-east1", "", "us-east1"}},
		{"us-central1", "us-central1", "", []string{"us-east1"}},
		{"", "", "", []string{"us-east1", "us-central1"}},
		{"", "", "", nil},
		{"", "", "prices are those of us-central1: no known price of hyperdisk-balanced in europe-west9", []string{"europe-west9"}},
		{"europe-west9", "", "hint: import them: curl ", nil},
	} {
		m := recording.NewMemory(recording.MemoryOptions{})
		for i, region := range c.reported {
			m.Source(recording.Source{Name: strings.Repeat("s", i+1), Facts: map[string]string{"region": region}})
		}
		a, _, stderr := testApp()
		o := &planOptions{region: c.asked}
		o.reading.region = reportedRegion([]recording.Reader{m})
		if got := o.regionFor(a, sc); got != c.want || !strings.Contains(stderr.String(), c.says) || c.says == "" && stderr.Len() > 0 {
			t.Errorf("asked for %q where %q are reported: %q, and says %q", c.asked, c.reported, got, stderr)
		}
	}
}
