package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plimsoll/internal/present/mcp"
)

// TestAssistant calls every tool as an assistant would, several at a time.
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

// The program itself, as a client starts it: each tool answers within its limit, including one that
// fails, and nothing is written anywhere.
func TestAssistantStartsTheProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	program := filepath.Join(t.TempDir(), "plimsoll")
	if err := os.Symlink(self, program); err != nil {
		t.Skip("no symbolic links here:", err)
	}

	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}

	const most = 4096
	before, scratch := filesBelow(t, examples), t.TempDir()
	cmd := exec.Command(program, "mcp", "--answer-max", "4KiB", "examples="+examples)
	cmd.Dir, cmd.Env = scratch, append(os.Environ(), "TMPDIR="+scratch, "HOME="+scratch)

	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}

	capture := []string{"examples/wiredtiger-journal/node.prom.gz", "examples/wiredtiger-journal/iostat.log", "examples/wiredtiger-journal/wiredtiger.prom.gz"}
	for _, c := range []struct {
		tool   string
		args   map[string]any
		want   string
		failed bool
	}{
		{"diagnose", map[string]any{"sources": capture}, "journal", false},
		{"incidents", map[string]any{"sources": capture}, `"not_shown":`, false},
		{"query", map[string]any{"sources": capture, "promql": "node_disk_writes_completed_total"}, "| mean |", false},
		{"simulate", map[string]any{"source": "examples/scenarios/etcd.yaml", "set": []string{"run.duration=20s"}}, "p99", false},
		{"plan", map[string]any{"source": "examples/scenarios/etcd.yaml", "objective": []string{"write_p99 < 100ms"}}, "write_p99", false},
		{"catalog", nil, "gp3", false},
		{"simulate", map[string]any{"scenario": "version: 7"}, "scenario.yaml", true},
		{"query", map[string]any{"sources": []string{strings.Repeat("x", 100_000)}, "promql": "up"}, "(cut: ", true},
	} {
		r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: c.args})
		if err != nil {
			t.Fatalf("%s: %v", c.tool, err)
		}
		if got := r.Content[0].(*sdk.TextContent).Text; len(got) > most || r.IsError != c.failed || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d bytes, error %v, no %q in %s", c.tool, len(got), r.IsError, c.want, got)
		}
	}

	if err := session.Close(); err != nil {
		t.Error(err)
	}

	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}

	if after := filesBelow(t, examples); after != before {
		t.Errorf("the sources were\n%s\nand are\n%s", before, after)
	}
}

// filesBelow returns the files below a folder, with their sizes and modification times.
func filesBelow(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return b.String()
}
