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

	"plimsoll/fleet/alerts"
	"plimsoll/rules"
)

func TestPrometheusTakesTheRules(t *testing.T) {
	for _, opt := range []alerts.Options{{}, {By: []string{"namespace", "pod"}, Window: 15 * time.Minute, Interval: time.Minute}} {
		text, err := alerts.YAML(alerts.Prometheus, opt)
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
		if len(groups.Groups) != 2 || len(groups.Groups[1].Rules) < 15 {
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

// Every rule of the pack is exported, or it is said why it is not.
func TestEveryRuleIsExportedOrNot(t *testing.T) {
	groups, err := alerts.Groups(alerts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]bool{}
	for _, r := range groups[1].Rules {
		exported[r.Labels["rule"]] = true
	}
	for _, r := range rules.Pack() {
		if _, out := alerts.LeftOut[r.ID]; out == exported[r.ID] {
			t.Errorf("%s: exported %v, left out %v", r.ID, exported[r.ID], out)
		}
		delete(exported, r.ID)
	}
	if len(exported) > 0 {
		t.Errorf("exported without being in the pack: %v", exported)
	}
}

func TestPrometheusRuleIsTheSameRules(t *testing.T) {
	text, err := alerts.YAML(alerts.PrometheusRule, alerts.Options{})
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

func TestWhatIsRefused(t *testing.T) {
	for _, opt := range []alerts.Options{{Interval: time.Millisecond}, {Window: time.Second}, {Window: 48 * time.Hour}} {
		if _, err := alerts.Groups(opt); err == nil {
			t.Errorf("%+v is taken", opt)
		}
	}
	if _, err := alerts.YAML("helm", alerts.Options{}); err == nil {
		t.Error("a form that is none is taken")
	}
}

// Prometheus' own promtool runs the exported rules on the pack's scripts: in each case the condition over recorded signals holds where the
// pack's does, and the alert of a case that is about the rule fires.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here (Debian: prometheus)")
	}
	dir := t.TempDir()
	var tests []string
	for _, step := range []time.Duration{time.Second, 15 * time.Second} {
		opt := alerts.Options{Interval: step, Window: 40 * step}
		text, err := alerts.YAML(alerts.Prometheus, opt)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("rules-%s.yaml", step)
		write(t, filepath.Join(dir, name), text)
		for _, r := range rules.Pack() {
			if _, out := alerts.LeftOut[r.ID]; out {
				continue
			}
			unit := unitTests(t, r, step, opt)
			if len(unit) == 0 {
				continue
			}
			body, err := yaml.Marshal(map[string]any{"rule_files": []string{name}, "evaluation_interval": fmt.Sprintf("%ds", int(step.Seconds())), "tests": unit})
			if err != nil {
				t.Fatal(err)
			}
			file := fmt.Sprintf("%s-%s.yaml", strings.ReplaceAll(r.ID, "/", "-"), step)
			write(t, filepath.Join(dir, file), body)
			tests = append(tests, file)
		}
		run(t, dir, promtool, "check", "rules", name)
	}
	if len(tests) < 15 {
		t.Errorf("only %d rules have a script that promtool can run", len(tests))
	}
	run(t, dir, promtool, append([]string{"test", "rules"}, tests...)...)
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

// unitTests are the cases of a rule's script that are sampled at a step, as promtool's unit tests.
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

// cases reads a rule's script as far as promtool needs it: one load, and evals of the condition.
func cases(t *testing.T, r rules.Rule) (out []scriptCase) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "rules", "testdata", strings.ReplaceAll(r.ID, "/", "-")+".test"))
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
