package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// An end is what an example comes to where it cannot simply succeed.
type end struct {
	code   int
	stderr string // a regular expression
	// orFine: what is measured may as well be good.
	orFine bool
}

// What examples need that a test has not: they are run all the same, and say what is missing.
var (
	needsRoot   = end{code: exitFailure, stderr: `root`}
	needsEngine = end{code: exitFailure, stderr: `root|no plimsoll-wiredtiger`}
	needsServer = end{code: exitFailure, stderr: `(?i)connect|refused|reach|no server|lookup`}
)

// ends are by how an example begins, after [examplePlace] was put in: the longest that fits counts.
// Whatever is not here exits with 0.
var ends = map[string]end{
	"plimsoll lab mount":                         needsRoot,
	"plimsoll lab umount":                        needsRoot,
	"plimsoll lab set":                           needsRoot,
	"plimsoll lab exec":                          needsRoot,
	"plimsoll lab run":                           needsEngine,
	"plimsoll lab buckets":                       needsEngine,
	"plimsoll lab table":                         needsEngine,
	"plimsoll lab status":                        {code: exitFailure, stderr: `root|no volume|there are none`},
	"plimsoll diagnose mongodb":                  needsServer,
	"plimsoll lab check-perf":                    needsServer,
	"plimsoll lab table examples/lab --measured": {code: exitFine, stderr: ``},

	"plimsoll lab run lab-etcd.yaml --server":     {code: exitUsage, stderr: `me\.pem: no such file`},
	"plimsoll lab run lab-postgres.yaml --server": needsServer,
	"plimsoll lab check-perf --server https":      {code: exitUsage, stderr: `me\.pem: no such file`},

	// Devices of another machine.
	"plimsoll fit http://localhost:2379/metrics host":                {code: exitFailure, stderr: `a device "nvme`},
	"plimsoll probe data --stage 100ms --profile etcd-wal --fail-on": {code: exitFindings, stderr: `criterion not met`, orFine: true},

	// Objectives and causes that a telemetry platform on a default volume has.
	"plimsoll simulate telemetry.yaml -o json --fail-on": {code: exitFindings, stderr: `objective`},
	"plimsoll diagnose incident -o json --fail-on":       {code: exitFindings, stderr: `critical`},
}

// examplePlace puts what a test has in the place of what an operator has.
var examplePlace = strings.NewReplacer(
	"sudo plimsoll", "plimsoll",
	"/var/lib/mongodb/diagnostic.data", "diagnostic.data",
	"/var/lib/plimsoll", "ring",
	"/var/lib/etcd", "data", "/data ", "data ", "/mnt/gp3", "mnt",
	" --for 10m", " --for 2s", " --for 5m", " --for 2s", " --for 2m", " --for 2s",
	"2026-07-20 15:00", "2026-01-01 00:01", "2026-07-20 15:10", "2026-01-01 00:01:30",
	" --from -1h", "",
	"10.0.0.5", "127.0.0.1", "@db-1/", "@127.0.0.1:1/", "me@127.0.0.1:1", "me@127.0.0.1:1", "etcd://127.0.0.1:2379", "etcd://127.0.0.1:1",
)

// exampleStages makes a device be measured for as long as shows that it is.
var exampleStages = strings.NewReplacer("plimsoll probe data", "plimsoll probe data --stage 100ms", "plimsoll watch", "timeout -s TERM 3 plimsoll watch")

// exampleWork makes a folder with what examples are about: recordings of a small platform, before and
// after; a log; a plan; scenarios.
func exampleWork(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	page, prometheus := exampleServers(t)
	env = append(os.Environ(), "HOME="+dir, "TZ=UTC", "NO_COLOR=1", "LC_ALL=C.UTF-8", "PLIMSOLL_CATALOG="+filepath.Join(dir, "catalog.json"),
		"PAGE="+page, "PROMETHEUS="+prometheus)
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// Copies: an example may write what it names.
	for _, name := range []string{"scenarios", "lab"} {
		must(os.CopyFS(filepath.Join(dir, "examples", name), os.DirFS(filepath.Join(repository, "examples", name))))
	}
	for _, name := range []string{"lab-etcd.yaml", "lab-postgres.yaml", "lab-wiredtiger.yaml"} {
		must(os.Symlink(filepath.Join(repository, "examples/scenarios", name), filepath.Join(dir, name)))
	}
	telemetry, err := os.ReadFile(filepath.Join(repository, "examples/scenarios/telemetry.yaml"))
	must(err)
	write := func(name, text string) { must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	write("telemetry.yaml", regexp.MustCompile(`(?m)^run: .*`).ReplaceAllString(string(telemetry), "run: {duration: 150s, warmup: 30s}"))
	write("gp3.yaml", "type: gp3\nsize: 100GiB\niops: 3000\n")
	write("my-scenario.yaml", string(telemetry))
	write("iostat.log", cappedVolume(3, 15))
	for archive, names := range map[string][]string{"emit.txtar": {"mongo.yaml"}, "catalog_import.txtar": {"types.json"}} {
		a, err := txtar.ParseFile(filepath.Join("testdata/script", archive))
		must(err)
		for _, f := range a.Files {
			for _, name := range names {
				if f.Name == name {
					write(name, string(f.Data))
				}
			}
		}
	}
	for _, name := range []string{"data", "mnt", "bin"} {
		must(os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	must(os.WriteFile(filepath.Join(dir, "bin/mongod"), []byte("#!/bin/sh\n"), 0o755))
	// The cloud's own program, as far as an example needs it.
	must(os.WriteFile(filepath.Join(dir, "bin/aws"), []byte("#!/bin/sh\ncat "+filepath.Join(dir, "types.json")+".kept\n"), 0o755))
	types, err := os.ReadFile(filepath.Join(dir, "types.json"))
	must(err)
	write("types.json.kept", string(types))
	env = append(env, "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, line := range []string{
		"plimsoll simulate telemetry.yaml --record before && cp -r before incident && cp -r before diagnostic.data && cp -r before recorded",
		"plimsoll simulate telemetry.yaml --seed 2 --set 'volumes.journal={type: gp3, size: 10GiB}' --record after",
		"plimsoll plan telemetry.yaml --objective 'write_p99 < 25ms' -o json > plan.json",
	} {
		if code, _, stderr := runExample(t, dir, env, line); code != exitFine {
			t.Fatalf("%s: exit code %d\n%s", line, code, stderr)
		}
	}
	return dir, env
}

// exampleServers are an exporter, and a server that answers as a Prometheus that has nothing.
func exampleServers(t *testing.T) (page, prometheus string) {
	t.Helper()
	var n atomic.Int64
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := n.Add(1)
		fmt.Fprintf(w, "# TYPE etcd_disk_wal_fsync_duration_seconds histogram\n")
		for _, le := range []string{"0.001", "0.01", "0.1", "+Inf"} {
			fmt.Fprintf(w, "etcd_disk_wal_fsync_duration_seconds_bucket{le=%q} %d\n", le, 100*n)
		}
		fmt.Fprintf(w, "etcd_disk_wal_fsync_duration_seconds_sum %f\netcd_disk_wal_fsync_duration_seconds_count %d\n", float64(n)/10, 100*n)
	}))
	t.Cleanup(exporter.Close)
	return exporter.URL + "/metrics", "http://127.0.0.1:1"
}

// runExample runs a line as a shell does, without root if it can be had.
func runExample(t *testing.T, dir string, env []string, line string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", line, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// exampleLines are the commands of an example: a line that ends in a backslash goes on.
func exampleLines(example string) []string {
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(example, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// withoutRoot is how a command gives root up; "" where there is none to give up.
func withoutRoot() (prefix string, ok bool) {
	if os.Geteuid() != 0 {
		return "", true
	}
	prefix = "unshare --user --map-user=65534 --map-group=65534 "
	return prefix, exec.Command("sh", "-c", prefix+"true").Run() == nil
}

// Every example of every command's help is run, on what it is about: it does what it says, or ends with
// the error that its reader would get where something is missing.
func TestEveryExampleRuns(t *testing.T) {
	if os.Getenv("CI_FULL") == "" {
		t.Skip("runs a hundred commands, in minutes: CI_FULL=1 go test ./cmd/plimsoll -run EveryExample")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("examples are a shell's, and there is none here")
	}
	dir, env := exampleWork(t)
	a, _, _ := testApp()
	drop, canDrop := withoutRoot()
	for _, c := range documented(newRootCommand(a)) {
		if c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			continue // cobra's own, for other shells
		}
		t.Run(strings.ReplaceAll(verb(c), " ", "-"), func(t *testing.T) {
			for _, line := range exampleLines(c.Example) {
				runDocumented(t, dir, env, line, drop, canDrop)
			}
		})
	}
}

func runDocumented(t *testing.T, dir string, env []string, example, drop string, canDrop bool) {
	t.Helper()
	line := exampleStages.Replace(examplePlace.Replace(example))
	want := expected(line)
	line = regexp.MustCompile(`https?://(prometheus|thanos)(:\d+)?`).ReplaceAllString(line, "$$PROMETHEUS")
	line = regexp.MustCompile(`http://[\w.-]+:\d+/metrics`).ReplaceAllString(line, "$$PAGE")
	if strings.Contains(line, "$PROMETHEUS") {
		want = needsServer
	}
	if strings.HasPrefix(line, "plimsoll lab") && strings.Contains(want.stderr, "root") {
		if !canDrop {
			t.Logf("root cannot be given up here, so this is not run: %s", example)
			return
		}
		line = drop + line
	}
	for _, out := range regexp.MustCompile(`--(?:out|record|dir) (\S+)`).FindAllStringSubmatch(line, -1) {
		if out[1] != "layout" { // each is a folder that is not there yet
			if err := os.RemoveAll(filepath.Join(dir, out[1]+".made")); err != nil {
				t.Fatal(err)
			}
			line = regexp.MustCompile(regexp.QuoteMeta(out[0])+`(\s|$)`).ReplaceAllString(line, out[0]+".made$1")
			line = strings.ReplaceAll(line, "plimsoll diagnose "+out[1], "plimsoll diagnose "+out[1]+".made")
			line = strings.ReplaceAll(line, "plimsoll simulate "+out[1], "plimsoll simulate "+out[1]+".made")
		}
	}
	began := time.Now()
	code, stdout, stderr := runExample(t, dir, env, line)
	t.Logf("%d, %.1f s: %s", code, time.Since(began).Seconds(), line)
	if want.orFine && code == exitFine {
		return
	}
	if code != want.code || !regexp.MustCompile(want.stderr).MatchString(stderr) {
		t.Errorf("%s\nrun as: %s\nexit code %d, want %d; stderr (want %q):\n%.1500s", example, line, code, want.code, want.stderr, stderr)
	}
	if code == exitFine && stdout == "" && !strings.ContainsAny(line, ">") && !strings.Contains(line, ".made") {
		t.Errorf("%s: prints nothing", example)
	}
}

// expected is what an example comes to.
func expected(line string) end {
	best, want := "", end{code: exitFine}
	for begin, e := range ends {
		if strings.HasPrefix(line, begin) && len(begin) > len(best) {
			best, want = begin, e
		}
	}
	return want
}
