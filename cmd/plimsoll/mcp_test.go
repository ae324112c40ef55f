package main

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plimsoll/internal/present/mcp"
)

// TestAssistant asks every tool as an assistant would, several at a time.
func TestAssistant(t *testing.T) {
	opt, err := (&mcpOptions{answerMax: "48KiB", timeMax: 5 * time.Minute, atOnce: 2}).Validate([]string{"examples=../../examples"})
	if err != nil {
		t.Fatal(err)
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	a := &app{getenv: os.Getenv, now: time.Now}
	served := make(chan error, 1)
	go func() { served <- mcp.Serve(t.Context(), a.inside, opt, fromClient, toClient) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	capture := []string{"examples/wiredtiger-journal/node.prom.gz", "examples/wiredtiger-journal/iostat.log", "examples/wiredtiger-journal/wiredtiger.prom.gz"}
	var asking sync.WaitGroup
	for _, c := range []struct {
		tool   string
		args   map[string]any
		want   string
		failed bool
	}{
		{"sources", nil, "examples/scenarios\n", false},
		{"diagnose", map[string]any{"sources": capture}, "wiredtiger/journal-stall", false},
		{"incidents", map[string]any{"sources": capture}, `"incidents":[{`, false},
		{"metrics", map[string]any{"sources": capture, "match": "disk"}, "node_disk_writes_completed_total", false},
		{"query", map[string]any{"sources": capture, "promql": "max(node_disk_writes_completed_total)"}, "| mean |", false},
		{"query", map[string]any{"sources": capture, "promql": "max("}, "hint:", true},
		{"simulate", map[string]any{"source": "examples/scenarios/etcd.yaml", "set": []string{"run.duration=20s"}}, "p99", false},
		{"simulate", map[string]any{"scenario": "version: 7"}, "scenario.yaml", true},
		{"catalog", map[string]any{"name": "gp3"}, "3,000", false},
		{"rule", map[string]any{"name": "disk/iops-capped"}, "IOPS", false},
	} {
		asking.Go(func() {
			r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: c.args})
			if err != nil {
				t.Errorf("%s: %v", c.tool, err)
				return
			}
			if got := r.Content[0].(*sdk.TextContent).Text; r.IsError != c.failed || !strings.Contains(got, c.want) {
				t.Errorf("%s %v: error %v, no %q in %s", c.tool, c.args, r.IsError, c.want, got)
			}
		})
	}
	asking.Wait()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
