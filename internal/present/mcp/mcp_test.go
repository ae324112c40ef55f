package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plimsoll/internal/present/mcp"
)

// connect starts a server and returns a client's session.
func connect(t *testing.T, run mcp.Command, opt mcp.Options) *sdk.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { served <- mcp.Serve(ctx, run, opt, fromClient, toClient) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)

	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})

	return session
}

// call returns a tool's answer, and whether it is an error.
func call(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d parts", tool, len(r.Content))
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

func options(sources ...mcp.Source) mcp.Options {
	return mcp.Options{Version: "1", Sources: sources, AnswerMax: 4096, AtOnce: 1, TimeMax: time.Minute}
}

// echo answers with the verb's arguments.
func echo(_ context.Context, args []string) (string, error) { return strings.Join(args, "|"), nil }

// Tools run verbs. Client input is never interpreted as a flag.
func TestToolsAreVerbs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "night.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	s := connect(t, echo, options(mcp.Source{Name: "db", Argument: "mongodb://u:secret@db-1"}, mcp.Source{Name: "captures", Argument: dir}))
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"diagnose", map[string]any{"sources": []string{"db"}, "incident": 2, "from": "-2h"}, "diagnose|-o|markdown|--incident=2|--from=-2h|--|mongodb://u:secret@db-1"},
		{"diagnose", map[string]any{"sources": []string{"captures/night.json"}}, "diagnose|-o|markdown|--|" + dir + "/night.json"},
		{"query", map[string]any{"sources": []string{"captures"}, "promql": "--for=1h"}, "query|-o|markdown|--|" + dir + "|--for=1h"},
		{"metrics", map[string]any{"sources": []string{"captures"}, "match": "disk"}, "metrics|-o|markdown|--like=disk|--|" + dir},
		{"simulate", map[string]any{"scenario": "version: 1", "set": []string{"seed=2"}}, "simulate|-o|markdown|--set=seed=2|--|scenario.yaml"},
		{"plan", map[string]any{"source": "captures/night.json", "objective": []string{"write_p99 < 5ms"}, "budget": "5USD/month"},
			"plan|-o|markdown|--objective=write_p99 < 5ms|--budget=5USD/month|--|" + dir + "/night.json"},
		{"catalog", map[string]any{"name": "--help"}, "catalog|show|--|--help"},
		{"rule", nil, "rules|list"},
	} {
		got, failed := call(t, s, c.tool, c.args)
		if failed || got != c.want {
			t.Errorf("%s %v: %q, want %q", c.tool, c.args, got, c.want)
		}
	}

	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, tool := range list.Tools {
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
}

// A client can read only the given sources, and sees no password.
func TestOnlyWhatIsListed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}

	run := func(context.Context, []string) (string, error) { return "", errors.New("it ran") }
	s := connect(t, run, options(mcp.Source{Name: "db", Argument: "mongodb://u:secret@db-1"}, mcp.Source{Name: "captures", Argument: dir}))
	for _, name := range []string{secret, "captures/link", "captures/../" + filepath.Base(outside) + "/secret", "captures/none", "mongodb://db-2", "host", "db/x", ""} {
		if got, failed := call(t, s, "diagnose", map[string]any{"sources": []string{name}}); !failed || strings.Contains(got, "it ran") || strings.Contains(got, "u:secret") {
			t.Errorf("source %q: %s", name, got)
		}
	}

	for _, args := range []map[string]any{
		{"scenario": "workload: {arrivals: {recorded: /etc/passwd}}"},
		{"scenario": `workload: {arrivals: {"\u0072ecorded": /etc/passwd}}`},
		{"scenario": `{"a=b": 1, workload: {arrivals: {recorded: /etc/passwd}}}`},
		{"scenario": "version: 1", "set": []string{`workload.arrivals={"\x72ecorded": /etc/passwd}`}},
		{"scenario": "version: 1", "set": []string{"workload.arrivals.recorded=/etc/passwd"}},
		{"scenario": "version: 1", "source": "captures/link"},
		{},
	} {
		if got, failed := call(t, s, "simulate", args); !failed || strings.Contains(got, "it ran") {
			t.Errorf("%v: %s", args, got)
		}
	}

	if got, _ := call(t, s, "sources", nil); got != "db\ncaptures\n  captures/link\n" {
		t.Errorf("sources: %q", got)
	}
}

// An answer never exceeds its limit, and says what was cut. Incidents are omitted whole.
func TestAnswersAreBounded(t *testing.T) {
	incidents := strings.TrimSuffix(strings.Repeat(`{"number":1,"what":"`+strings.Repeat("x", 1000)+`"},`, 9), ",")
	run := func(_ context.Context, args []string) (string, error) {
		if slices.Contains(args, "json") {
			return `{"incidents":[` + incidents + `]}`, nil
		}
		return strings.Repeat("a line with é\n", 1000), nil
	}

	s := connect(t, run, options(mcp.Source{Name: "db", Argument: "x"}))
	got, _ := call(t, s, "diagnose", map[string]any{"sources": []string{"db"}})
	if len(got) > 4096 || !strings.Contains(got, "of 15000 bytes") {
		t.Errorf("%d bytes, ending %q", len(got), got[max(len(got)-120, 0):])
	}

	got, _ = call(t, s, "incidents", map[string]any{"sources": []string{"db"}})
	if len(got) > 4096 || !strings.HasSuffix(got, `"not_shown":6}`) {
		t.Errorf("%d bytes, ending %q", len(got), got[max(len(got)-120, 0):])
	}
}

// A verb's error becomes the tool's, verbs run one at a time, and a call that takes too long ends.
func TestErrors(t *testing.T) {
	running := make(chan struct{}, 1)
	run := func(ctx context.Context, args []string) (string, error) {
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		default:
			return "", errors.New("two at once")
		}
		if args[0] == "rules" {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "", fmt.Errorf("no type %q\nhint: plimsoll catalog list", args[len(args)-1])
	}

	opt := options()
	opt.TimeMax = 500 * time.Millisecond
	s := connect(t, run, opt)

	if got, failed := call(t, s, "rule", nil); !failed || !strings.Contains(got, "timeout after 500ms") {
		t.Errorf("%s", got)
	}

	opt.TimeMax = time.Minute
	s = connect(t, run, opt)

	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "catalog", Arguments: map[string]any{"name": "gp9"}})
			if err != nil {
				t.Error(err)
				return
			}
			if got := r.Content[0].(*sdk.TextContent).Text; !strings.Contains(got, `no type "gp9"`) || !strings.Contains(got, "hint:") {
				t.Errorf("%s", got)
			}
		})
	}

	asking.Wait()
}
