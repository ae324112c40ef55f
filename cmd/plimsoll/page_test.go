package main

import (
	"context"
	"encoding/json"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
)

// out runs the program within this process and returns its output.
func out(t *testing.T, want int, args ...string) string {
	t.Helper()
	a, stdout, stderr := testApp(args...)
	if code := a.run(t.Context()); code != want {
		t.Fatalf("%q: exit code %d, want %d: %s", args, code, want, stderr)
	}
	return stdout.String()
}

var evidencePres = regexp.MustCompile(`(?s)<li id="e\d+"><strong>([^<]*)</strong>.*?</li>`)

// evidenceOf returns a page's evidence: commands, line by line, and PromQL.
func evidenceOf(t *testing.T, page string) (commands, promQL []string) {
	t.Helper()
	pre := regexp.MustCompile(`(?s)<pre( class="promql")?>(.*?)</pre>`)
	items := evidencePres.FindAllString(page, -1)
	if len(items) == 0 {
		t.Fatal("the page has no evidence")
	}

	for _, item := range items {
		for _, m := range pre.FindAllStringSubmatch(item, -1) {
			text := html.UnescapeString(m[2])
			if m[1] != "" {
				promQL = append(promQL, text)
				continue
			}
			commands = append(commands, strings.Split(text, "\n")...)
		}
	}

	return commands, promQL
}

// words splits a command like a shell that only has single quotes.
func words(command string) []string {
	var all []string
	var word strings.Builder

	quoted, some := false, false
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\'':
			quoted, some = !quoted, true
		case c == '\\' && !quoted:
			i++
			word.WriteByte(command[i])
		case c == ' ' && !quoted:
			if some || word.Len() > 0 {
				all = append(all, word.String())
			}
			word.Reset()
			some = false
		default:
			word.WriteByte(c)
		}
	}

	return append(all, word.String())
}

const evidenceScenario = `plimsoll: 1
name: "it's short"
run: {duration: 40s, warmup: 2s}
host: {instance: m6i.xlarge}
volumes:
  data: {type: gp3, size: 500GiB}
engine:
  mongodb: {cache: 5GB, checkpoint: 10s}
workload:
  arrivals: {poisson: 300/s}
  mix: {insert: 100%}
  document: {size: 3KiB}
  keys: {count: 100000}
objective: {write_p99: 25ms}
`

// The commands in a simulation's page reproduce its figures, and its PromQL gives them from the
// recording.
func TestEvidenceOfSimulation(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "it's a scenario.yaml")
	if err := os.WriteFile(file, []byte(evidenceScenario), 0o644); err != nil {
		t.Fatal(err)
	}

	page := out(t, exitFine, "simulate", file, "--seed", "7", "--compare", "journal apart: volumes.journal={type: gp3, size: 10GiB}", "-o", "html")
	commands, promQL := evidenceOf(t, page)
	var results []*simulate.Result

	recorded := filepath.Join(dir, "recorded")
	for _, c := range commands {
		args := words(c)
		switch {
		case slices.Contains(args, "--out") && recordedYet(recorded):
		case slices.Contains(args, "--out"):
			args[slices.Index(args, "DIR")] = recorded
			out(t, exitFine, args[1:]...)
		case args[1] == "simulate":
			r := &simulate.Result{}
			if err := json.Unmarshal([]byte(out(t, exitFine, args[1:]...)), r); err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		case args[1] == "catalog":
			if text := out(t, exitFine, args[1:]...); !strings.Contains(text, "SOURCES") {
				t.Errorf("%s names no source", c)
			}
		}
	}

	if len(results) != 2 || results[0].Seed != 7 {
		t.Fatalf("%d results of the commands %q", len(results), commands)
	}

	for _, r := range results {
		text := strings.ReplaceAll(units.Seconds(*r.Writes.All.P99Seconds), " ", "\u00a0")
		if !regexp.MustCompile(`<td class="number"><a href="#e\d+">` + regexp.QuoteMeta(text) + `</a>`).MatchString(page) {
			t.Errorf("the page does not have the p99 of %s that its command gives: %s", r.Variant, text)
		}
	}

	holdRecording(t, recorded, results[0], promQL)
}

func recordedYet(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// holdRecording evaluates each query at the end of a recording and compares the answers with the
// result.
func holdRecording(t *testing.T, dir string, r *simulate.Result, promQL []string) {
	t.Helper()
	reader, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	defer reader.Close()
	end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration((r.WarmupSeconds + r.Seconds) * float64(time.Second)))
	v := r.Volumes[0]
	want := []struct {
		part  string
		value float64
		off   float64 // relative error allowed for the query
	}{
		{"histogram_quantile(0.99", *r.Writes.All.P99Seconds, 0.13}, // a class
		{"latency_seconds_count", r.DonePerSec, 0.05},
		{"checkpoint_most_recent", *r.Checkpoints.MedianSeconds, 0.5}, // by time, and the first one may have begun in the warm-up
		{"node_memory_Dirty_bytes", r.Host.DirtyBytesMax, 0.01},
		{"tracked_dirty_bytes", -1, 0},
		{"reads_completed_total{device=\"data\"}", v.IOPS, 0.05},
		{"io_time_seconds_total{device=\"data\"}", v.BusyMax, 0.05},
	}

	seen := 0
	for _, q := range promQL {
		series, err := reader.Range(context.Background(), q, end, end, time.Second, 0)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}

		for _, w := range want {
			if !strings.Contains(q, w.part) {
				continue
			}
			seen++
			if len(series) != 1 || len(series[0].Points) != 1 {
				t.Errorf("%s gives %v", q, series)
				continue
			}
			if got := series[0].Points[0].F; w.value >= 0 && math.Abs(got-w.value) > w.off*w.value {
				t.Errorf("%s gives %v, the result is %v", q, got, w.value)
			}
		}
	}

	if seen != len(want) {
		t.Errorf("%d of %d kinds of queries are on the page: %q", seen, len(want), promQL)
	}
}

// A layout's command in a plan's page reproduces the page's figures.
func TestEvidenceOfPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.yaml")
	short := strings.Replace(evidenceScenario, "duration: 40s", "duration: 5s", 1)
	if err := os.WriteFile(file, []byte(short), 0o644); err != nil {
		t.Fatal(err)
	}

	page := out(t, exitFindings, "plan", file, "--objective", "write_p99 < 1us", "--keep", "instance", "--most", "3", "-o", "html")
	commands, _ := evidenceOf(t, page)

	ran := 0
	for _, c := range commands {
		args := words(c)
		if args[1] != "simulate" {
			continue
		}

		ran++
		r := &simulate.Result{}
		if err := json.Unmarshal([]byte(out(t, exitFine, append(args[1:], "-o", "json")...)), r); err != nil {
			t.Fatal(err)
		}

		if text := strings.ReplaceAll(units.Seconds(*r.Writes.All.P99Seconds), " ", "\u00a0"); !strings.Contains(page, ">"+text+"</a>") {
			t.Errorf("%s gives a p99 of %s, which the page does not have", c, text)
		}
	}

	if ran == 0 || !strings.Contains(page, "AWS price list") {
		t.Errorf("%d layouts have a command, of %q", ran, commands)
	}
}

// A command is repeated with all arguments except the output format and a server's address, which
// may contain a password.
func TestAsGiven(t *testing.T) {
	root, run := &cobra.Command{Use: "plimsoll"}, &cobra.Command{Use: "run"}
	lab := &cobra.Command{Use: "lab"}
	root.AddCommand(lab)
	lab.AddCommand(run)
	f := run.Flags()
	f.StringArray("set", nil, "")
	f.Bool("compare-model", true, "")
	f.Bool("new", false, "")
	f.Uint64("seed", 0, "")

	for _, name := range []string{"output", "out", "server", "etcd"} {
		f.String(name, "", "")
	}

	if err := run.ParseFlags([]string{"--set", "a.b=1,2", "--set", "c=d e", "--compare-model=false", "--new", "--seed", "7", "--output", "html", "--out", "x", "--server", "postgres://u:secret@h/"}); err != nil {
		t.Fatal(err)
	}

	want := []string{"lab", "run", "s.yaml", "--compare-model=false", "--new", "--seed", "7", "--set", "a.b=1,2", "--set", "c=d e"}
	if got := asGiven(run, []string{"s.yaml"}); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
