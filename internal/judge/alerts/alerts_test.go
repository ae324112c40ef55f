package alerts_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/judge/alerts"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/testkit"
)

func TestPrometheusTakesTheRules(t *testing.T) {
	for _, opt := range []alerts.Options{{}, {By: []string{"namespace", "pod"}, Window: 15 * time.Minute, Interval: time.Minute}} {
		text, err := alerts.YAML(testkit.Pack(), alerts.Prometheus, opt)
		if err != nil {
			t.Fatal(err)
		}

		groups, errs := rulefmt.Parse(text, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		for _, err := range errs {
			t.Error(err)
		}

		if len(errs) > 0 {
			continue
		}

		if len(groups.Groups) != 3 || len(groups.Groups[1].Rules) < 15 {
			t.Errorf("groups %d", len(groups.Groups))
		}

		for _, g := range groups.Groups {
			for _, r := range g.Rules {
				for _, by := range opt.By {
					if r.Record != "" && !strings.Contains(r.Expr, by) {
						t.Errorf("%s does not keep %s: %s", r.Record, by, r.Expr)
					}
				}
			}
		}
	}
}

// Every rule of the pack is either exported or left out for a stated reason.
func TestEveryRuleIsExportedOrNot(t *testing.T) {
	groups, err := alerts.Groups(testkit.Pack(), alerts.Options{})
	if err != nil {
		t.Fatal(err)
	}

	exported := map[string]bool{}
	for _, r := range groups[1].Rules {
		exported[r.Labels["rule"]] = true
	}

	for _, r := range testkit.Pack().Rules() {
		if _, out := alerts.LeftOut(testkit.Pack())[r.ID]; out == exported[r.ID] {
			t.Errorf("%s: exported %v, left out %v", r.ID, exported[r.ID], out)
		}
		delete(exported, r.ID)
	}

	if len(exported) > 0 {
		t.Errorf("exported without being in the pack: %v", exported)
	}
}

func TestPrometheusRuleIsTheSameRules(t *testing.T) {
	text, err := alerts.YAML(testkit.Pack(), alerts.PrometheusRule, alerts.Options{})
	if err != nil {
		t.Fatal(err)
	}

	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Spec any `json:"spec"`
	}

	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		t.Fatal(err)
	}

	if object.APIVersion != "monitoring.coreos.com/v1" || object.Kind != "PrometheusRule" || object.Metadata.Name == "" {
		t.Errorf("%+v", object)
	}

	spec, err := yaml.Marshal(object.Spec)
	if err != nil {
		t.Fatal(err)
	}

	if _, errs := rulefmt.Parse(spec, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, opt := range []alerts.Options{{Interval: time.Millisecond}, {Window: time.Second}, {Window: 48 * time.Hour}} {
		if _, err := alerts.Groups(testkit.Pack(), opt); err == nil {
			t.Errorf("%+v is accepted", opt)
		}
	}
	if _, err := alerts.YAML(testkit.Pack(), "helm", alerts.Options{}); err == nil {
		t.Error("an unknown form is accepted")
	}
}

// Prometheus' own promtool runs the exported rules on the pack's scripts. In each case, the condition
// over recorded signals holds whenever the pack's does. (Each rule gets only the signals it reads,
// because promtool evaluates everything in a file, every second.)
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here (Debian: prometheus)")
	}

	dir := t.TempDir()
	whole, err := alerts.YAML(testkit.Pack(), alerts.Prometheus, alerts.Options{})
	if err != nil {
		t.Fatal(err)
	}

	write(t, filepath.Join(dir, "whole.yaml"), whole)
	run(t, dir, promtool, "check", "rules", "whole.yaml")

	var tests []string
	for _, step := range []time.Duration{time.Second, 15 * time.Second} {
		opt := alerts.Options{Interval: step, Window: 10 * step}
		groups, err := alerts.Groups(testkit.Pack(), opt)
		if err != nil {
			t.Fatal(err)
		}

		for _, r := range testkit.Pack().Rules() {
			if _, out := alerts.LeftOut(testkit.Pack())[r.ID]; out {
				continue
			}

			unit := unitTests(t, r, step, opt)
			if len(unit) == 0 {
				continue
			}

			name := fmt.Sprintf("%s-%s", strings.ReplaceAll(r.ID, "/", "-"), step)
			writeYAML(t, filepath.Join(dir, name+".rules.yaml"), map[string]any{"groups": only(t, groups, r)})
			writeYAML(t, filepath.Join(dir, name+".yaml"), map[string]any{
				"rule_files": []string{name + ".rules.yaml"}, "evaluation_interval": fmt.Sprintf("%ds", int(step.Seconds())), "tests": unit})
			tests = append(tests, name+".yaml")
		}
	}

	if len(tests) < 15 {
		t.Errorf("only %d rules have a script that promtool can run", len(tests))
	}

	run(t, dir, promtool, append([]string{"test", "rules"}, tests...)...)
}

// The alert fires once the condition has held long enough, with the labels of its database.
func TestPromtoolFires(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here (Debian: prometheus)")
	}

	dir := t.TempDir()
	r, err := testkit.Pack().Rule("host/memory-limit")
	if err != nil {
		t.Fatal(err)
	}

	groups, err := alerts.Groups(testkit.Pack(), alerts.Options{Interval: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}

	writeYAML(t, filepath.Join(dir, "rules.yaml"), map[string]any{"groups": only(t, groups, r)})
	alertCount := func(at string, want ...map[string]any) map[string]any {
		return map[string]any{"expr": `count by (cluster) (ALERTS{alertname="` + alerts.Name(r.ID) + `",alertstate="firing",rule="` + r.ID + `"})`, "eval_time": at, "exp_samples": want}
	}
	writeYAML(t, filepath.Join(dir, "test.yaml"), map[string]any{
		"rule_files": []string{"rules.yaml"}, "evaluation_interval": "15s",
		"tests": []map[string]any{{
			"interval": "15s",
			"input_series": []map[string]string{
				{"series": `node_pressure_memory_stalled_seconds_total{cluster="a",instance="a:9100"}`, "values": "0+0x20 3+3x40"},
				{"series": `node_pressure_memory_stalled_seconds_total{cluster="b",instance="b:9100"}`, "values": "0+0.1x60"},
				// c's stall ends after nine minutes. Two minutes later its alert has resolved, long before
				// its window ends.
				{"series": `node_pressure_memory_stalled_seconds_total{cluster="c",instance="c:9100"}`, "values": "0+0x20 3+3x16 51+0x24"},
			},
			"promql_expr_test": []map[string]any{alertCount("5m"),
				alertCount("9m", map[string]any{"labels": `{cluster="a"}`, "value": 1}, map[string]any{"labels": `{cluster="c"}`, "value": 1}),
				alertCount("11m15s", map[string]any{"labels": `{cluster="a"}`, "value": 1})},
		}},
	})

	run(t, dir, promtool, "test", "rules", "test.yaml")
}

// only reduces the groups to what one rule needs.
func only(t *testing.T, groups []alerts.Group, r rules.Rule) []alerts.Group {
	t.Helper()
	when, err := rules.Parse(r.When)
	if err != nil {
		t.Fatal(err)
	}
	needs := rules.Names(when)
	out := slices.Clone(groups)
	for i := range out {
		out[i].Rules = slices.DeleteFunc(slices.Clone(out[i].Rules), func(x alerts.Rule) bool {
			return !slices.Contains(needs, x.Record) && x.Labels["rule"] != r.ID
		})
	}
	return out
}

func writeYAML(t *testing.T, path string, what any) {
	t.Helper()
	text, err := yaml.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, text)
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, path string, args ...string) {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", args[0], err, out[:min(len(out), 6000)])
	}
}

// unitTests converts the cases of a rule's script that are sampled at the given step to promtool unit
// tests.
func unitTests(t *testing.T, r rules.Rule, step time.Duration, opt alerts.Options) (out []map[string]any) {
	t.Helper()
	when, err := rules.Parse(r.When)
	if err != nil {
		t.Fatal(err)
	}

	condition := alerts.Condition(when, alerts.Options{By: []string{"cluster"}, Window: opt.Window, Interval: opt.Interval})
	for _, c := range cases(t, r) {
		if c.step != step || len(c.evals) == 0 {
			continue
		}

		var series []map[string]string
		for _, l := range c.series {
			name, values, _ := strings.Cut(l, " ")
			if i := strings.Index(l, "} "); i >= 0 {
				name, values = l[:i+1], l[i+2:]
			}
			series = append(series, map[string]string{"series": name, "values": strings.TrimSpace(values)})
		}

		var exprs []map[string]any
		for _, e := range c.evals {
			want := []map[string]any{}
			if e.holds {
				want = append(want, map[string]any{"labels": "{}", "value": 1})
			}
			exprs = append(exprs, map[string]any{"expr": "group(" + condition + ")", "eval_time": e.at, "exp_samples": want})
		}

		out = append(out, map[string]any{"name": c.title, "interval": fmt.Sprintf("%ds", int(step.Seconds())), "input_series": series, "promql_expr_test": exprs})
	}

	return out
}

type scriptCase struct {
	title  string
	step   time.Duration
	series []string
	evals  []eval
}

type eval struct {
	at    string
	holds bool
}

// cases parses the parts of a rule's script that promtool needs: one load, and evals of the condition.
func cases(t *testing.T, r rules.Rule) (out []scriptCase) {
	t.Helper()
	f, err := testkit.Pack().Script(r.ID)
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	sc := bufio.NewScanner(f)

	evaluating := false
	for sc.Scan() {
		line := sc.Text()
		if title, ok := strings.CutPrefix(line, "# case: "); ok {
			out, evaluating = append(out, scriptCase{title: title}), false
		}

		if len(out) == 0 || strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}

		c := &out[len(out)-1]
		fields := strings.Fields(line)
		switch {
		case fields[0] == "load":
			if c.step, err = time.ParseDuration(fields[1]); err != nil {
				t.Fatal(err)
			}
		case fields[0] == "eval":
			evaluating = true
			c.evals = append(c.evals, eval{at: fields[3]})
		case evaluating:
			c.evals[len(c.evals)-1].holds = true
		default:
			c.series = append(c.series, strings.TrimSpace(line))
		}
	}

	return slices.Clip(out)
}
