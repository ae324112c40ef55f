package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plimsoll/internal/base/yamltree"
)

// reading has the arguments of every tool that reads sources.
type reading struct {
	Sources []string `json:"sources" jsonschema:"names from the tool sources, or NAME/FILE for a file in a folder. Several are read together"`
	From    string   `json:"from,omitempty" jsonschema:"only from this time on: RFC 3339, or relative to now, such as -2h"`
	To      string   `json:"to,omitempty" jsonschema:"only up to this time"`
	For     string   `json:"for,omitempty" jsonschema:"how long to sample a live source: 30s"`
}

// judging has the arguments of diagnose.
type judging struct {
	reading
	Incident int    `json:"incident,omitempty" jsonschema:"the number of an incident, to see it in full; omit it for the most harmful and a list"`
	SlowFrom string `json:"slow_from,omitempty" jsonschema:"the mean latency from which an interval counts as stalled, such as 20ms; omit it to use the usual latency"`
}

// asking has the arguments of query.
type asking struct {
	reading
	PromQL string `json:"promql" jsonschema:"the expression, such as rate(node_disk_io_time_seconds_total[10s])"`
	At     string `json:"at,omitempty" jsonschema:"the time of the values; omit it for the minimum, mean, maximum and last value"`
}

// matching has the arguments of metrics.
type matching struct {
	reading
	Match string `json:"match,omitempty" jsonschema:"only names that contain a match of this regular expression, such as disk"`
}

// running has the arguments of simulate.
type running struct {
	Scenario string   `json:"scenario,omitempty" jsonschema:"the scenario as YAML; alternatively name its file in source"`
	Source   string   `json:"source,omitempty" jsonschema:"the name of the scenario's file, NAME/FILE"`
	Set      []string `json:"set,omitempty" jsonschema:"changes, such as volumes.data.iops=16000"`
}

// planning has the arguments of plan.
type planning struct {
	running
	Objective []string `json:"objective,omitempty" jsonschema:"such as write_p99 < 25ms; omit it for the scenario's own"`
	Budget    string   `json:"budget,omitempty" jsonschema:"the highest monthly cost: 500USD/month"`
	Keep      []string `json:"keep,omitempty" jsonschema:"what must stay unchanged: instance, volumes.data.type, engine"`
}

type named struct {
	Name string `json:"name,omitempty" jsonschema:"the item to show in full; omit it for a list"`
}

type nothing struct{}

func (t *tools) add(server *sdk.Server) {
	tool(t, server, "sources", "List what can be read: recordings, captures, servers.",
		func(context.Context, nothing) (string, error) { return t.bound(t.list()), nil })
	tool(t,
		server,
		"diagnose", "Find why a database stalls: the verdict, its causes with evidence, what is ruled out, and how to fix it.",
		func(ctx context.Context, in judging) (string, error) { return t.diagnose(ctx, in, "markdown") })

	tool(t,
		server,
		"incidents", "List the incidents in a recording as JSON, most harmful first: time, affected operations, harm and causes.",
		t.incidents)

	tool(t, server, "metrics", "List the metrics of sources with their units and time spans.",
		func(ctx context.Context, in matching) (string, error) {
			return t.read(ctx, in.reading, optional([]string{"metrics", "-o", "markdown"}, "--like=", in.Match))
		})

	tool(t, server, "query", "Evaluate a PromQL expression over sources.", t.query)
	tool(t, server, "simulate", "Simulate a scenario: latencies, checkpoints, volumes, stalls.",
		func(ctx context.Context, in running) (string, error) {
			return t.scenario(ctx, in, []string{"simulate", "-o", "markdown"})
		})

	tool(t, server, "plan", "Find the cheapest storage layout and settings that meet an objective.",
		func(ctx context.Context, in planning) (string, error) {
			args := each([]string{"plan", "-o", "markdown"}, "--objective=", in.Objective)
			args = each(args, "--keep=", in.Keep)
			return t.scenario(ctx, in.running, optional(args, "--budget=", in.Budget))
		})

	tool(t, server, "catalog", "Show volume and instance types: limits and prices.",
		func(ctx context.Context, in named) (string, error) {
			if in.Name == "" {
				return t.call(ctx, "catalog", "list")
			}
			return t.call(ctx, "catalog", "show", "--", in.Name)
		})

	tool(t, server, "rule", "Explain a rule: when it holds, why, and how to fix it.",
		func(ctx context.Context, in named) (string, error) {
			if in.Name == "" {
				return t.call(ctx, "rules", "list")
			}
			return t.call(ctx, "rules", "show", "--", in.Name)
		})
}

// tool adds a tool that only reads and answers with text.
func tool[In any](t *tools, s *sdk.Server, name, about string, do func(context.Context, In) (string, error)) {
	hints := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: about, Annotations: hints},
		func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
			text, err := do(ctx, in)
			if err != nil {
				return nil, nil, errors.New(t.bound(err.Error()))
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
}

// diagnose runs the verb with the given output format.
func (t *tools) diagnose(ctx context.Context, in judging, format string) (string, error) {
	args := []string{"diagnose", "-o", format}
	if in.Incident != 0 {
		args = append(args, fmt.Sprintf("--incident=%d", in.Incident))
	}
	return t.read(ctx, in.reading, optional(args, "--slow-from=", in.SlowFrom))
}

// incidents returns as many incidents of a diagnosis as fit in an answer.
func (t *tools) incidents(ctx context.Context, in reading) (string, error) {
	// The JSON must be whole to be parsed; only the answer is bounded.
	unbounded := *t
	unbounded.opt.AnswerMax = 64 << 20
	text, err := unbounded.diagnose(ctx, judging{reading: in}, "json")
	if err != nil {
		return "", err
	}

	var report struct {
		Incidents []json.RawMessage `json:"incidents"`
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		return "", fmt.Errorf("reading the diagnosis: %w", err)
	}

	out := struct {
		Incidents []json.RawMessage `json:"incidents"`
		NotShown  int               `json:"not_shown"`
	}{Incidents: []json.RawMessage{}}

	// The report is indented, the answer is not, so count the answer's bytes.
	size := 100
	for i, x := range report.Incidents {
		var compact bytes.Buffer
		if err := json.Compact(&compact, x); err != nil {
			return "", fmt.Errorf("reading the diagnosis: %w", err)
		}

		x = compact.Bytes()
		if size += len(x) + 1; size > t.opt.AnswerMax {
			out.NotShown = len(report.Incidents) - i
			break
		}
		out.Incidents = append(out.Incidents, x)
	}

	list, err := json.Marshal(out)
	return string(list), err
}

func (t *tools) query(ctx context.Context, in asking) (string, error) {
	if in.PromQL == "" {
		return "", errors.New("promql is empty")
	}
	return t.read(ctx, in.reading, optional([]string{"query", "-o", "markdown"}, "--at=", in.At), in.PromQL)
}

// read runs a verb on sources; last are the arguments that follow them.
func (t *tools) read(ctx context.Context, in reading, args []string, last ...string) (string, error) {
	if len(in.Sources) == 0 {
		return "", fmt.Errorf("sources is empty: name one of %s", t.names())
	}
	given, err := t.arguments(in.Sources)
	if err != nil {
		return "", err
	}
	args = optional(args, "--from=", in.From)
	args = optional(args, "--to=", in.To)
	args = optional(args, "--for=", in.For)
	// After "--", a source's name cannot be mistaken for a flag.
	args = append(append(args, "--"), given...)
	return t.call(ctx, append(args, last...)...)
}

// scenario runs a verb on a scenario, given as a file or as text.
func (t *tools) scenario(ctx context.Context, in running, args []string) (string, error) {
	if (in.Scenario == "") == (in.Source == "") {
		return "", errors.New("set either scenario (YAML) or source (the name of its file)")
	}
	// A scenario from a client must not read files that are not among the sources.
	if namesFile(in) {
		return "",
			errors.New("arrivals.recorded reads a file: put the scenario into the same folder and name it in source")
	}

	file, err := in.Source, error(nil)
	if in.Source != "" {
		file, err = t.argument(in.Source)
	} else {
		var dir string
		if dir, err = os.MkdirTemp("", "plimsoll-mcp-"); err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			file = filepath.Join(dir, "scenario.yaml")
			err = os.WriteFile(file, []byte(in.Scenario), 0o600)
		}
	}

	if err != nil {
		return "", err
	}

	args = append(each(args, "--set=", in.Set), "--", file)
	text, err := t.call(ctx, args...)

	// The temporary file's name means nothing to the client.
	if in.Source == "" {
		text = strings.ReplaceAll(text, file, "scenario.yaml")
		if err != nil {
			err = errors.New(strings.ReplaceAll(err.Error(), file, "scenario.yaml"))
		}
	}

	return text, err
}

// recorded is the scenario key that names a file.
const recorded = "recorded"

// namesFile reports whether a scenario, or an assignment to one, names a file, in any YAML
// notation. Text that cannot be parsed cannot name one either.
func namesFile(in running) bool {
	texts := []string{in.Scenario}
	for _, set := range in.Set {
		path, value, _ := strings.Cut(set, "=")
		if strings.Contains(path, recorded) {
			return true
		}
		texts = append(texts, value)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		root, err := yamltree.Parse([]byte(text), "scenario", "")
		return err == nil && hasKey(root, recorded)
	})
}

func hasKey(n *yamltree.Node, key string) bool {
	if n == nil {
		return false
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key || hasKey(n.Entries[i].Value, key) {
			return true
		}
	}
	return slices.ContainsFunc(n.Items, func(item *yamltree.Node) bool { return hasKey(item, key) })
}

// optional appends a flag if it has a value.
func optional(args []string, flag, value string) []string {
	if value == "" {
		return args
	}
	return append(args, flag+value)
}

// each appends a flag for each value.
func each(args []string, flag string, values []string) []string {
	for _, v := range values {
		args = append(args, flag+v)
	}
	return args
}
