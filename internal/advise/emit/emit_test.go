package emit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
	"plimsoll/internal/engine/parts"
)

// layoutOf returns a layout based on one of the examples, or on a text.
func layoutOf(t testing.TB, file string, sets ...string) *emit.Transition {
	t.Helper()
	l, err := tryLayout(t, file, sets)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func tryLayout(t testing.TB, file string, sets []string) (*emit.Transition, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../examples/scenarios", file))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = os.ReadFile(filepath.Join("testdata", file))
	}
	if err != nil {
		t.Fatal(err)
	}
	return (&emit.Request{File: file, Text: string(text), Sets: sets}).Transition(engine.All().Deployments())
}

// targets returns the names of the targets for an engine.
func targets(key string) []string {
	var out []string
	for _, e := range engine.All() {
		if e.Key != key {
			continue
		}
		for _, t := range emit.Targets(parts.List{e}.Deployments().Deployments) {
			out = append(out, t.Name)
		}
	}
	return out
}

// filesOf returns the files of a layout for targets.
func filesOf(t testing.TB, l *emit.Transition, o emit.Options, names ...string) map[string]string {
	t.Helper()
	r, err := emit.Files(l, names, o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range r.Files {
		out[f.Path] = string(f.Text)
	}
	return out
}

// TestLayouts compares the output with testdata/layout, which has one topic per file. The input of emit is
// assignments, one per line. The common parts of scripts are omitted.
func TestLayouts(t *testing.T) {
	datadriven.Walk(t, "testdata/layout", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "emit" {
				t.Fatalf("unknown command %q", d.Cmd)
			}

			var file, only, set, container string
			d.ScanArgs(t, "of", &file)
			d.MaybeScanArgs(t, "only", &only)
			d.MaybeScanArgs(t, "statefulset", &set)
			d.MaybeScanArgs(t, "container", &container)

			var to []string
			for _, a := range d.CmdArgs {
				if a.Key == "to" {
					to = a.Vals
				}
			}

			o := emit.Options{Container: container}
			if set != "" {
				text, err := os.ReadFile(filepath.Join("testdata", set))
				if err != nil {
					t.Fatal(err)
				}
				o.StatefulSet, o.StatefulSetFile = text, set
			}

			l, err := tryLayout(t, file, strings.FieldsFunc(d.Input, func(r rune) bool { return r == '\n' }))
			if err != nil {
				return withHint(err)
			}

			r, err := emit.Files(l, to, o)
			if err != nil {
				return withHint(err)
			}

			var files []emit.File
			for _, f := range r.Files {
				if (only == "" && f.Path == "README.md") || (only != "" && f.Path != only) {
					continue
				}
				f.Text = bytes.ReplaceAll(f.Text, []byte(emit.LVMScript), []byte("[lvm.bash]\n"))
				f.Text = bytes.ReplaceAll(f.Text, []byte(emit.LogScript), []byte("[log.bash]\n"))
				f.Text = bytes.ReplaceAll(f.Text, []byte(emit.AWSScript), []byte("[aws.bash]\n"))
				f.Text = bytes.ReplaceAll(f.Text, []byte(emit.QueueScript), []byte("[queue.bash]\n"))
				files = append(files, f)
			}

			var b strings.Builder
			if err := emit.Print(&b, files); err != nil {
				t.Fatal(err)
			}

			return b.String()
		})
	})
}

func withHint(err error) string {
	out := "error: " + err.Error() + "\n"
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		out += "hint: " + h.Hint() + "\n"
	}
	return out
}

// If no chosen target applies a change, the README describes how to make it.
func TestEveryChangeIsAppliedOrListed(t *testing.T) {
	l := layoutOf(t, "telemetry.yaml", "volumes.data.iops=6000", "host.dirty_background_bytes=8MB", "engine.mongodb.leaf_page=16KiB", "workload.working_set=10GB", "seed=7", "objective.write_p99=1s")
	r, err := emit.Files(l, []string{"sysctl", "mongod"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	by := map[string]string{}
	for i, c := range l.Changes() {
		by[c.Path] = strings.Join(r.By[i], ",")
	}

	want := map[string]string{"volumes.data.iops": "", "host.dirty_background_bytes": "sysctl", "engine.mongodb.leaf_page": "", "workload.working_set": ""}
	for path, who := range want {
		got, ok := by[path]
		if !ok || got != who {
			t.Errorf("%s is applied by %q (listed: %v), want %q", path, got, ok, who)
		}
	}

	for _, not := range []string{"seed", "objective.write_p99"} {
		if _, ok := by[not]; ok {
			t.Errorf("%s is listed as a change of the deployment", not)
		}
	}

	if len(r.Idle) != 1 || r.Idle[0] != "mongod" {
		t.Errorf("idle are %v, want mongod", r.Idle)
	}

	readme := string(r.Files[0].Text)
	for _, says := range []string{"`volumes.data.iops` | 3000 | 6000 | **none of these files**: --target terraform, aws or kubernetes", "change it in the application", "an option of each collection"} {
		if !strings.Contains(readme, says) {
			t.Errorf("the README does not say %q", says)
		}
	}
}

// A scenario's name appears in comments of scripts, so nothing in it may end the comment.
func TestNamesCannotRunAnything(t *testing.T) {
	text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		t.Fatal(err)
	}

	for _, evil := range []string{"x\nrm -rf /", "x\r\nrm -rf /", "$(rm -rf /)`rm -rf /`", "x\u2028rm -rf /", "x\u0085rm -rf /", strings.Repeat("x\t", 400) + "\nrm -rf /", "'; rm -rf /; '", "\"}\nrm -rf /"} {
		name, err := json.Marshal(evil)
		if err != nil {
			t.Fatal(err)
		}

		p := &emit.Request{File: evil, Text: string(text), Sets: []string{"name=" + string(name), "volumes.journal={type: gp3, size: 10GiB}", "volumes.data.iops=6000", "host.dirty_bytes=64MB", "engine.mongodb.cache=4GB"}}
		l, err := p.Transition(engine.All().Deployments())
		if err != nil {
			t.Logf("%q is refused: %v", evil, err)
			continue
		}

		for path, text := range filesOf(t, l, emit.Options{Skip: true}, targets("mongodb")...) {
			if strings.HasSuffix(path, ".md") {
				continue
			}
			for line := range strings.Lines(strings.ReplaceAll(text, emit.LogScript, "")) {
				if i := strings.Index(line, "rm -rf"); i >= 0 && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
					t.Errorf("%q: %s has %q", evil, path, line)
				}
			}
		}

		if s := l.Slug(); strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(s) > 40 {
			t.Errorf("%q becomes %q in names", evil, s)
		}
	}
}

func TestReadPlan(t *testing.T) {
	const good = `{"version":1,"scenario":{"file":"a.yaml","text":"plimsoll: 1\n"},"objectives":[],"chosen":{"sets":["volumes.data.iops=6000"],"changes":[{"path":"x"}],"monthly_usd":3},"frontier":[{}]}`
	p, err := emit.ReadPlan("p.json", []byte(good))
	if err != nil || p.File != "a.yaml" || p.Text != "plimsoll: 1\n" || len(p.Sets) != 1 {
		t.Errorf("a plan is read as %+v, %v", p, err)
	}

	for _, c := range []struct{ text, says string }{
		{"", "ends in the middle"},
		{good[:60], "ends in the middle"},
		{"[]", "not a plan"},
		{"{}", `lacks "version"`},
		{`{"version":1,"chosen":{}}`, `lacks the scenario's "text"`},
		{`{"version":1,"scenario":{"text":"x"}}`, `lacks "chosen"`},
		{strings.Replace(good, `"version":1`, `"version":2`, 1), "version 2"},
		{strings.Replace(good, `["volumes.data.iops=6000"]`, `[5]`, 1), "chosen"},
		{good + good, "text after the plan"},
		{strings.Repeat(`{"a":`, 20_000), "not a plan"},
	} {
		if _, err := emit.ReadPlan("p.json", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60q: error %v, want it to say %q", c.text, err, c.says)
		}
	}

	_, err = emit.ReadPlan("p.json", []byte(`{"version":1,"scenario":{"text":"x"},"chosen":null}`))
	if input := (*emit.InputError)(nil); !errors.As(err, &input) || !input.Unmet {
		t.Errorf("a plan without a choice: %v", err)
	}
}

// Facts about the current deployment are part of the layout, but need no action.
func TestFactsAreNotChanges(t *testing.T) {
	text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		t.Fatal(err)
	}

	p := &emit.Request{File: "telemetry.yaml", Text: string(text), Facts: []string{"host.instance=m6i.2xlarge", "host.cores=", "host.memory="},
		Sets: []string{"host.instance=m6i.2xlarge", "host.cores=", "host.memory=", "volumes.data.iops=6000"}}
	l, err := p.Transition(engine.All().Deployments())
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range l.Changes() {
		if c.Path != "volumes.data.iops" {
			t.Errorf("%s is emitted as a change", c.Path)
		}
	}

	if len(l.Changes()) != 1 || l.After.Host.Instance == "" {
		t.Errorf("changes are %v, of a layout with the instance %q", l.Changes(), l.After.Host.Instance)
	}
}

// Any plan gives an error, or files with distinct names below the folder.
func FuzzPlan(f *testing.F) {
	text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		f.Fatal(err)
	}

	plan := func(sets ...string) []byte {
		p := map[string]any{"version": 1, "scenario": map[string]any{"file": "t.yaml", "text": string(text)}, "chosen": map[string]any{"sets": sets}}
		b, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}

	f.Add(plan("volumes.data.iops=6000", "host.dirty_bytes=64MB"))
	f.Add(plan("volumes.data={type: gp3, size: 1TiB, stripe: 5}", "engine.mongodb.eviction_dirty_target=0.013"))
	f.Add(plan("volumes.data.type=nvme", "volumes.data.size=", "volumes.data.iops=", "volumes.data.throughput="))
	f.Add([]byte(`{"version":1,"scenario":{"text":"x"},"chosen":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := emit.ReadPlan("p.json", text)
		if err != nil {
			return
		}

		p.File = "testdata/none/p.json" // the scenario may not name existing files
		l, err := p.Transition(engine.All().Deployments())
		if err != nil {
			return
		}

		r, err := emit.Files(l, targets(l.After.Engine.Name()), emit.Options{})
		if err != nil {
			return
		}

		seen := map[string]bool{}
		for _, file := range r.Files {
			if seen[file.Path] || !filepath.IsLocal(file.Path) || len(file.Text) == 0 {
				t.Errorf("file %q: seen %v, %d bytes", file.Path, seen[file.Path], len(file.Text))
			}
			seen[file.Path] = true
		}
	})
}

// A new claim for an etcd member means a new member: a member that lost its data cannot rejoin
// unless it is removed first.
func TestNewClaimOfEtcd(t *testing.T) {
	l := layoutOf(t, "etcd-one-volume.yaml", "host.filesystem=ext4")
	readme := filesOf(t, l, emit.Options{}, "kubernetes")["README.md"]
	for _, says := range []string{"etcdctl member remove ID", "etcdctl member add NAME", "ETCD_INITIAL_CLUSTER_STATE=existing", "nor shrink", "the leader last"} {
		if !strings.Contains(readme, says) {
			t.Errorf("the README does not say %q:\n%s", says, readme)
		}
	}
	l = layoutOf(t, "etcd-one-volume.yaml", "volumes.data.iops=6000")
	if readme := filesOf(t, l, emit.Options{}, "kubernetes")["README.md"]; strings.Contains(readme, "member remove") || !strings.Contains(readme, "patch pvc") {
		t.Errorf("other figures of a claim take no new member:\n%s", readme)
	}
}
