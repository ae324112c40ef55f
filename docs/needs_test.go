package docs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// addRulePages adds the pages of the rules and of their fixes.
func addRulePages(t *testing.T, all map[string]string) {
	t.Helper()
	for _, pattern := range []string{"rules/*.md", "rules/fixes/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d pages: %v", pattern, len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all["docs/"+filepath.ToSlash(f)] = string(text)
		}
	}
}

// needing is a sentence of a page, or its end, that says what something needs.
var needing = regexp.MustCompile(`(?i)\bneeds?:?\s(?:[^.]|\.\S)*`)

// neededBy returns everything that a page says something needs.
func neededBy(text string) string {
	return strings.ToLower(strings.Join(needing.FindAllString(text, -1), " "))
}

// schemes are the addresses that need something to connect to.
var schemes = []struct{ prefix, need string }{
	{"aws://", "AWS"}, {"azure://", "Azure"}, {"gcp://", "Google Cloud"}, {"k8s://", "Kubernetes"},
	{"mongodb://", "MongoDB"}, {"mongodb+srv://", "MongoDB"}, {"postgres://", "PostgreSQL"},
	{"etcd://", "etcd"}, {"etcds://", "etcd"},
}

// A word in capitals, a shell's expansion, a date and a device stand for the reader's own.
var placeholder = regexp.MustCompile(`^[A-Z][A-Z_]+(\.[a-z]+)?$|\$[({A-Z]|^20\d\d-\d\d-\d\d|nvme\dn1`)

// needsOf returns what a command needs apart from files that a sandbox has, in words that the page must use
// to say so.
func needsOf(c command) []string {
	var out []string
	add := func(need string) {
		if !slices.Contains(out, need) {
			out = append(out, need)
		}
	}

	for i, a := range c.args[1:] {
		_, value, named := strings.Cut(a, "=")
		for _, s := range schemes {
			if strings.HasPrefix(a, s.prefix) || named && strings.HasPrefix(value, s.prefix) {
				add(s.need)
			}
		}

		web := strings.HasPrefix(a, "http://") || strings.HasPrefix(a, "https://") ||
			named && strings.HasPrefix(value, "http://")
		switch {
		case web && strings.HasSuffix(a, "/metrics"):
			add("metrics page")
		case web && c.args[0] == "mark":
			add("watch")
		case web:
			add("Prometheus")
		case a == "host" && !strings.HasPrefix(c.args[i], "-"):
			add("Linux")
		}
	}

	has := func(flag string) bool { return slices.Contains(c.args, flag) }
	switch c.args[0] {
	case "trace":
		add("root")
	case "rollout":
		if !has("--on") {
			add("root")
		}
	case "emit":
		if has("--statefulset") {
			add("Kubernetes")
		}
	case "diagnose":
		if has("traced") {
			add("root") // a trace that was saved before
		}
	case "lab":
		if !has("--server") {
			add("root")
		}
	case "probe":
		if !has("--show") {
			add("Linux")
		}
	case "mark":
		if !has("--in") {
			add("watch")
		}
	case "mcp", "watch", "top":
		// All of these run until they are stopped, on what their addresses name.
		if len(out) == 0 {
			add("recording")
		}
	}

	if !c.first && len(out) == 0 {
		add("root")
	}

	return out
}

// fills replace what a reader has to fill in by what the sandbox has. A zero byte ends an argument.
var fills = []struct {
	placeholder *regexp.Regexp
	value       string
}{
	{regexp.MustCompile(`\x00SOURCE\x00`), "\x00recording\x00"},
	{regexp.MustCompile(`\x00SCENARIO\.yaml\x00`), "\x00telemetry.yaml\x00"},
	{regexp.MustCompile(`\x00--from\x00\.\.\.\x00`), "\x00--from\x00-5m\x00"},
	{regexp.MustCompile(`\x00--to\x00\.\.\.\x00`), "\x00--to\x00-1m\x00"},
	{regexp.MustCompile(`2026-07-20 15:00`), "-5m"},
	{regexp.MustCompile(`2026-07-20 15:10`), "-4m"},
	{regexp.MustCompile(`\x00nvme1n1=`), "\x00data="},
	{regexp.MustCompile(`\x00journal=nvme2n1\x00`), "\x00data=data\x00"},
	{regexp.MustCompile(`\$\{UNIT:\?[^}]*\}`), "db"},
	{regexp.MustCompile(`\$\{(?:DATA|DBPATH|PGDATA):\?[^}]*\}`), "/srv/db"},
}

// filledIn returns a command as a reader would run it in the sandbox.
func filledIn(c command) command {
	text := strings.Join(c.args, "\x00") + "\x00"
	for _, f := range fills {
		text = f.placeholder.ReplaceAllString(text, f.value)
	}

	c.args = strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	return c
}

// ranElsewhere reports whether other tests run a command.
func ranElsewhere(c command) bool {
	return c.args[0] == "casebook" // package casebook runs all cases, in 10 s each
}

// hasPlaceholder reports whether a reader still has to fill in something.
func hasPlaceholder(c command) bool {
	return slices.ContainsFunc(c.args, func(a string) bool { return placeholder.MatchString(a) })
}

// sectionOf returns the section of a page that has a line, with the text before the page's first section,
// which holds for all of them.
func sectionOf(text string, line int) string {
	lines := strings.Split(text, "\n")
	fenced := false
	first, from, to := len(lines), -1, len(lines)

	for i, l := range lines {
		if strings.HasPrefix(l, "```") {
			fenced = !fenced
		}
		if fenced || !strings.HasPrefix(l, "## ") {
			continue
		}

		first = min(first, i)
		if i < line {
			from = i
		} else {
			to = min(to, i)
		}
	}

	if from < 0 {
		return strings.Join(lines[:to], "\n")
	}
	return strings.Join(lines[:first], "\n") + "\n" + strings.Join(lines[from:to], "\n")
}

// runLine is the line of a scenario that says how long it is simulated.
var runLine = regexp.MustCompile(`(?m)^run: .*`)

// A sandbox is a folder with files under the names that pages use for a reader's own.
type sandbox struct {
	t        *testing.T
	dir      string
	template string // the same files, to restore the folder for each page
	examples string // a copy of the repository's, which commands only read
	page     string
	seed     int
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	b := &sandbox{t: t, template: t.TempDir(), examples: filepath.Join(t.TempDir(), "examples")}
	if testing.Short() {
		return b
	}

	if err := os.CopyFS(b.examples, os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}

	const scenario = "examples/scenarios/telemetry.yaml"
	for name, from := range map[string]string{"iostat.log": "examples/mongodb-checkpoint/iostat.log",
		"telemetry.yaml": scenario, "scenario.yaml": scenario,
		"etcd.txt": "examples/etcd-latency-bound/etcd.prom.gz"} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(from)))
		if err != nil {
			t.Fatal(err)
		}
		if from == scenario {
			// A plan simulates it for each layout. That the commands run does not depend on how long it is: two
			// checkpoints are enough.
			text = runLine.ReplaceAll(text, []byte("run: {duration: 45s, warmup: 15s}"))
			if !bytes.Contains(text, []byte("checkpoint: 60s")) {
				t.Fatal("the scenario has no checkpoint each 60 s")
			}
			text = bytes.Replace(text, []byte("checkpoint: 60s"), []byte("checkpoint: 20s"), 1)
		}
		if err := os.WriteFile(filepath.Join(b.template, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	b.record(scenario, "recording", "incident", "capture", "before", "diagnostic.data", "var/lib/plimsoll",
		"var/lib/mongodb/diagnostic.data")
	b.record(scenario, "after")
	b.record("examples/scenarios/etcd.yaml", "etcd/before")
	b.record("examples/scenarios/etcd.yaml", "etcd/after")
	run(t, "mark", "dirty_target 1 %", "--at", "-5m", "--in", filepath.Join(b.template, "var", "lib", "plimsoll"))

	plan := run(t, "plan", filepath.Join(b.template, "telemetry.yaml"), "--objective", "write_p99 < 25ms", "--keep", "engine,host", "-o", "json")
	if err := os.WriteFile(filepath.Join(b.template, "plan.json"), []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}

	return b
}

// record writes recordings of simulations. Pages ask for the last hour, so they end now.
func (b *sandbox) record(scenario string, names ...string) {
	b.t.Helper()
	b.seed++
	simulated := filepath.Join(b.t.TempDir(), "simulated")
	run(b.t, "simulate", scenario, "--seed", strconv.Itoa(b.seed), "--out", simulated)

	// The time of a simulation starts in 2026.
	offset := time.Since(time.Date(2026, 1, 1, 0, 12, 0, 0, time.UTC)).Truncate(time.Second).String()
	for _, name := range names {
		folder := filepath.Join(b.template, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
			b.t.Fatal(err)
		}
		run(b.t, "record", simulated, "--offset", offset, "--out", folder)
	}
}

// run runs a command in the sandbox. Exit codes 3 and 4 are valid results too: a finding, an objective that
// is not met, a comparison without a verdict.
func (b *sandbox) run(c command) error {
	b.t.Helper()
	if b.page != c.page {
		b.page, b.dir = c.page, b.t.TempDir()
		if err := os.CopyFS(b.dir, os.DirFS(b.template)); err != nil {
			b.t.Fatal(err)
		}
		if err := os.Symlink(b.examples, filepath.Join(b.dir, "examples")); err != nil {
			b.t.Fatal(err)
		}
	}

	args := slices.Clone(c.args)
	for i, a := range args {
		if engine := filepath.Join(b.dir, strings.TrimSuffix(filepath.Base(c.page), ".md"), a); i > 0 && isFolder(engine) {
			args[i] = engine // the page's own engine has a recording of this name
		}
		if strings.HasPrefix(a, "/var/lib/") {
			args[i] = filepath.Join(b.dir, filepath.FromSlash(a))
		}
		if i > 0 && args[i-1] == "--out" {
			_ = os.RemoveAll(filepath.Join(b.dir, a))
		}
	}

	var stdout, stderr bytes.Buffer
	p := exec.Command(program(b.t), args...)
	p.Dir, p.Stdout, p.Stderr = b.dir, &stdout, &stderr
	p.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8", "NO_COLOR=1")
	err := p.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && (exit.ExitCode() == 3 || exit.ExitCode() == 4) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, firstLines(stderr.String()))
	}

	if c.to != "" {
		return os.WriteFile(filepath.Join(b.dir, filepath.FromSlash(c.to)), stdout.Bytes(), 0o644)
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
