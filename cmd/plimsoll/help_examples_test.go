package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// An end is an example's expected result if it does not simply succeed.
type end struct {
	code   int
	stderr string // a regular expression for its message
	// orFine: the measured result may also be good.
	orFine bool
	// slow examples take seconds of CPU and only run with CI_FULL=1.
	slow bool
}

// Requirements of examples that a test does not meet: they run anyway, and say what is missing.
var (
	needsRoot       = end{code: exitFailure, stderr: `root`}
	needsEngine     = end{code: exitFailure, stderr: `root|no plimsoll-wiredtiger`}
	needsServer     = end{code: exitFailure, stderr: `127\.0\.0\.1:1\b.*refused`}
	needsIdentity   = end{code: exitUsage, stderr: `me\.pem: no such file`}
	endsWhenStopped = end{code: exitFine, stderr: `watching ended`}
)

// ends maps the beginning of an example, after [examplePlace] was inserted, to its expected end. The
// longest match counts. Other examples exit with 0.
var ends = map[string]end{
	"plimsoll lab mount":   needsRoot,
	"plimsoll lab umount":  needsRoot,
	"plimsoll lab set":     needsRoot,
	"plimsoll lab exec":    needsRoot,
	"plimsoll lab run":     needsEngine,
	"plimsoll lab buckets": needsEngine,
	"plimsoll lab table":   needsEngine,
	"plimsoll lab status":  {code: exitFailure, stderr: `root|no volume|none is mounted`},
	"plimsoll watch":       endsWhenStopped,
	// The scenario is in a file, and stdout stays empty.
	"plimsoll init mongodb":    {code: exitFine, stderr: `is a scenario with comments`},
	"plimsoll init postgresql": {code: exitFine, stderr: `is a scenario with comments`},
	"plimsoll top":             {code: exitUsage, stderr: `top needs a terminal`},
	"plimsoll top http":        {code: exitFine},
	"plimsoll mark":            {code: exitFailure, stderr: `127\.0\.0\.1:(9814|1\b).*refused|ring is not a recording`},
	"plimsoll prove ring":      {code: exitFailure, stderr: `file or folder ring not found`},
	"plimsoll trace":           needsRoot,
	"plimsoll mcp":             {code: exitFine, stderr: `serving \d sources`},

	"plimsoll discover": {code: exitFailure, stderr: `no Kubernetes cluster is configured|context \\"production\\" does not exist`},

	"plimsoll rollout plan.json --site site.yaml":           {code: exitUsage, stderr: `no log at`},
	"plimsoll rollout plan.json --site site.yaml --dry-run": {code: exitFailure, stderr: `it cannot begin yet`},
	"plimsoll rollout plan.json --on":                       {code: exitFailure, stderr: `no Kubernetes cluster is configured`},
	"plimsoll rollout --on":                                 {code: exitFailure, stderr: `no Kubernetes cluster is configured`},
	"plimsoll rollout --":                                   {code: exitUsage, stderr: `no rollout in`},

	"plimsoll lab table examples/lab --measured":                    {code: exitFine},
	"plimsoll casebook ":                                            {slow: true},
	"plimsoll probe data --stage 100ms --profile wiredtiger":        {slow: true},
	"plimsoll probe data --stage 100ms --profile randread --fit -o": {slow: true},

	"plimsoll diagnose mongodb":                   needsServer,
	"plimsoll diagnose http://prometheus":         needsServer,
	"plimsoll diagnose --prometheus":              needsServer,
	"plimsoll record http://prometheus":           needsServer,
	"plimsoll plan http://prometheus":             needsServer,
	"plimsoll lab check-perf":                     needsServer,
	"plimsoll lab run lab-postgres.yaml --server": needsServer,
	"plimsoll lab run lab-etcd.yaml --server":     needsIdentity,
	"plimsoll lab check-perf --server https":      needsIdentity,

	"plimsoll fit http://localhost:2379/metrics host":                {code: exitFailure, stderr: `no device "nvme9[89]n1"`},
	"plimsoll probe data --stage 100ms --profile etcd-wal --fail-on": {code: exitFindings, stderr: `criterion not met`, orFine: true},

	// Objectives and causes of a telemetry platform on a default volume.
	"plimsoll simulate telemetry.yaml -o json --fail-on": {code: exitFindings, stderr: `objective`},
	"plimsoll diagnose incident -o json --fail-on":       {code: exitFindings, stderr: `critical`},
}

// examplePlace replaces an operator's names with a test's, and minutes with seconds.
var examplePlace = strings.NewReplacer(
	"sudo plimsoll", "plimsoll",
	"/var/lib/mongodb/diagnostic.data", "diagnostic.data",
	" host mongodb://localhost", " host http://localhost:2379/metrics",
	"/var/lib/plimsoll", "ring",
	"/var/lib/etcd", "data", "/data ", "data ", "/mnt/gp3", "mnt", "nvme1n1", "nvme98n1", "nvme2n1", "nvme99n1",
	"9216/metrics --out", "9216/metrics --for 2s --out",
	" --for 10m", " --for 2s", " --for 5m", " --for 2s", " --for 2m", " --for 2s",
	"'2026-07-20 15:00'", "'2026-01-01 00:11'", "'2026-07-20 15:10'", "'2026-01-01 00:12'",
	"--from -1h", "", "db-7:9814", "127.0.0.1:1",
	"mongodb://db-1:27017", "mongodb://127.0.0.1:1", "@db-1/", "@127.0.0.1:1/", "etcd://127.0.0.1:2379", "etcd://127.0.0.1:1",
	" --web.listen-address :9814", "",
	"plimsoll probe /data", "plimsoll probe data --stage 100ms", "plimsoll probe /var/lib/etcd", "plimsoll probe data --stage 100ms",
	"plimsoll watch", "plimsoll watch --every 1s --web.listen-address 127.0.0.1:0",
)

// placed returns an example as it is run here, and its expected result.
func placed(example string) (line string, want end, begin string) {
	line = examplePlace.Replace(example)
	for b, e := range ends {
		if strings.HasPrefix(line, b) && len(b) > len(begin) {
			begin, want = b, e
		}
	}
	return line, want, begin
}

// exampleLines are the commands of an example: a line that ends in a backslash continues.
func exampleLines(c *cobra.Command) []string {
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", " ")) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// A changed example is reported with the expectation that belonged to it.
func TestExpectedEndsAreOfExamples(t *testing.T) {
	a, _, _ := testApp()
	used := map[string]bool{}
	for _, c := range documented(newRootCommand(a)) {
		for _, example := range exampleLines(c) {
			_, _, begin := placed(example)
			used[begin] = true
		}
	}
	for begin := range ends {
		if !used[begin] {
			t.Errorf("no example is expected to end as one that begins with %q", begin)
		}
	}
}

// Every example of every command's help is run on suitable inputs: it succeeds, or ends with the
// error that a user would get if something were missing. Long examples are run with CI_FULL=1.
func TestEveryExampleRuns(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("examples are a shell's, and there is none here")
	}

	w := newExampleWork(t)
	a, _, _ := testApp()

	drop, canDrop := withoutRoot()
	seen := map[string]bool{} // some lines are examples of two commands
	for _, c := range documented(newRootCommand(a)) {
		examples := slices.DeleteFunc(exampleLines(c), func(line string) bool { return seen[line] })
		for _, line := range examples {
			seen[line] = true
		}

		t.Run(strings.ReplaceAll(verb(c), " ", "-"), func(t *testing.T) {
			t.Parallel() // most of them wait for a clock
			dir := t.TempDir()
			for i, example := range examples {
				t.Run(fmt.Sprint(i+1), func(t *testing.T) {
					if strings.HasPrefix(example, "sudo ") && !canDrop {
						t.Skipf("root cannot be given up here: %s", example)
					}
					w.fill(t, dir)
					w.documented(t, dir, example, drop)
				})
			}
		})
	}
}

// withoutRoot is the prefix that makes a command drop root; "" if the test does not run as root.
func withoutRoot() (prefix string, ok bool) {
	if os.Geteuid() != 0 {
		return "", true
	}
	prefix = "unshare --user --map-user=65534 --map-group=65534 "
	return prefix, exec.Command("sh", "-c", prefix+"true").Run() == nil
}

// writes returns the files and folders that a line creates.
var writes = regexp.MustCompile(`(?:> ?|--out )([^\s;]+)`)

func (w *exampleWork) documented(t *testing.T, dir, example, drop string) {
	t.Helper()
	line, want, _ := placed(example)
	if want.slow && os.Getenv("CI_FULL") == "" {
		t.Skipf("seconds of CPU, with CI_FULL=1: %s", example)
	}

	if _, tool, ok := strings.Cut(line, "| "); ok {
		if _, err := exec.LookPath(strings.Fields(tool)[0]); err != nil {
			t.Skipf("%v: %s", err, example)
		}
	}

	for pattern, address := range map[string]string{
		`http://prometheus:\d+/api/v1/write`: w.receiver, `http://(?:prometheus|thanos):\d+`: w.absent, `http://[\w.-]+:\d+/metrics`: w.exporter,
	} {
		line = regexp.MustCompile(pattern+`(\s|$)`).ReplaceAllString(line, address+"$1")
	}

	if strings.HasPrefix(example, "sudo ") {
		line = drop + line
	}

	made := writes.FindAllStringSubmatch(line, -1)
	for _, m := range made {
		if !strings.Contains(line, "--diff") { // which compares with what is there
			if err := os.RemoveAll(filepath.Join(dir, m[1])); err != nil {
				t.Fatal(err)
			}
		}
	}

	received := w.received.Load()
	r := w.run(t, dir, line)
	t.Logf("exit code %d, %.1f s of CPU: %s", r.code, r.cpu.Seconds(), line)

	if want.orFine && r.code == exitFine {
		return
	}

	if r.code != want.code || !regexp.MustCompile(want.stderr).MatchString(r.stderr) {
		t.Errorf("%s\nexit code %d, want %d; stderr (want %q):\n%.1500s", example, r.code, want.code, want.stderr, r.stderr)
	}

	if r.code != exitFine {
		return
	}

	for _, m := range made {
		if info, err := os.Stat(filepath.Join(dir, m[1])); err != nil || info.Size() == 0 {
			t.Errorf("%s: %s was not made, or is empty (%v)", example, m[1], err)
		}
	}

	if strings.Contains(line, w.receiver) && w.received.Load() == received {
		t.Errorf("%s: nothing was pushed", example)
	}

	if r.stdout == "" && want.stderr == "" && len(made) == 0 && !strings.Contains(line, w.receiver) {
		t.Errorf("%s: prints nothing", example)
	}
}
