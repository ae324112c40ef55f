package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateSimulate = flag.Bool("update", false, "write the golden pages of simulate anew")

var progress = regexp.MustCompile(`(?m)^plimsoll: simulating \d+ of \d+ seconds(, .*/s, .* left)?\n`)

// TestSimulatePages compares whole pages with testdata/simulate. Read them when they change.
func TestSimulatePages(t *testing.T) {
	for file, args := range map[string][]string{
		"appends.txt":         nil,
		"appends-ascii80.txt": {"--ascii", "--width", "80"},
		"appends-compare.txt": {
			"--compare", "twice the IOPS: volumes.wal.iops=3000", "--compare", "half the load, and a title that is rather long: workload.arrivals={poisson: 250/s}",
			"--compare", "volumes.wal.latency={write: {p50: 5ms}}", "--compare", "priced: volumes.wal={type: gp3, size: 100GiB}",
		},
	} {
		a, stdout, stderr := testApp(append([]string{"simulate", "testdata/simulate/appends.yaml"}, args...)...)
		a.getenv = func(name string) string { return map[string]string{"LC_ALL": "C.UTF-8"}[name] }

		// If the run takes two seconds on a busy machine, stderr has the progress.
		if code := a.run(context.Background()); code != exitFine || progress.ReplaceAllString(stderr.String(), "") != "" {
			t.Fatalf("%q: exit code %d, stderr %q", args, code, stderr)
		}

		got := strings.ReplaceAll(stdout.String(), thisBuild().Version, "VERSION")
		width := 100
		if slices.Contains(args, "80") {
			width = 80
		}

		for _, l := range strings.Split(got, "\n") {
			if n := len([]rune(l)); n > width {
				t.Errorf("%s: a line of %d columns: %s", file, n, l)
			}
			if slices.Contains(args, "--ascii") && strings.ContainsFunc(l, func(r rune) bool { return r > 126 }) {
				t.Errorf("%s: not only 7 bits: %s", file, l)
			}
		}

		path := "testdata/simulate/" + file
		if *updateSimulate {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}

		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		if string(want) != got {
			t.Errorf("%s has changed: go test ./cmd/plimsoll -run SimulatePages -update, and read it\n%s", path, got)
		}
	}
}

func TestSplitSets(t *testing.T) {
	for text, want := range map[string][]string{
		"a=1,b=2":               {"a=1", "b=2"},
		"a={b: 1, c: [2, 3]},d": {"a={b: 1, c: [2, 3]}", "d"},
		"name=it's,b=2":         {"name=it's", "b=2"},
		`name="x, y", b=2`:      {`name="x, y"`, "b=2"},
		" , ":                   nil,
		"}},a=1":                {"}},a=1"},
	} {
		if got := splitSets(text); !slices.Equal(got, want) {
			t.Errorf("%q splits into %q, want %q", text, got, want)
		}
	}
}

// TestSimulateJSON: the contract's fields are there, and variants in order.
func TestSimulateJSON(t *testing.T) {
	a, stdout, _ := testApp("simulate", "testdata/simulate/appends.yaml", "-o", "json", "--series", "--seed", "7",
		"--compare", "b: run.duration=10s", "--compare", "c: run.duration=12s")
	if code := a.run(context.Background()); code != exitFine {
		t.Fatal(code)
	}

	var got struct {
		Version int
		Results []struct {
			Variant string
			Seed    int
			Seconds float64
			Series  struct {
				P99 []*float64 `json:"write_p99_seconds"`
			}
		}
	}

	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}

	if got.Version != 1 || len(got.Results) != 3 {
		t.Fatalf("%+v", got)
	}

	for i, want := range []float64{30, 10, 12} {
		r := got.Results[i]
		if r.Seconds != want || r.Seed != 7 || r.Variant != []string{"", "b", "c"}[i] || len(r.Series.P99) != int(want) {
			t.Errorf("result %d is %+v", i, r)
		}
	}
}

// TestSimulateWarns: settings that are valid but may be unintended give one warning, which names
// the variant.
func TestSimulateWarns(t *testing.T) {
	a, _, stderr := testApp("simulate", "testdata/simulate/appends.yaml", "--set", "run.duration=2s", "--set", "host={instance: m6i.large}",
		"--compare", "fast: volumes.wal={type: io2, size: 200GiB, iops: 60000}", "--compare", "small: volumes.wal={type: gp3, size: 20GiB}")
	if code := a.run(context.Background()); code != exitFine {
		t.Fatal(code, stderr)
	}
	if got := stderr.String(); !strings.Contains(got, `warning: variant "fast": --set: volumes.wal.iops: 60,000 IOPS is more than m6i.large allows`) || strings.Contains(got, "small") {
		t.Errorf("%q", got)
	}
}
