package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/check/hostile"
	"plimsoll/internal/present/mcp"
)

// A wire is a client that writes lines and reads answers.
type wire struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	served chan error
}

func newWire(t *testing.T, run mcp.Command, opt mcp.Options) *wire {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	w := &wire{t: t, in: in, out: bufio.NewReader(out), served: make(chan error, 1)}
	go func() {
		w.served <- mcp.Serve(t.Context(), run, opt, fromClient, toClient)
		_ = toClient.Close()
	}()
	w.send(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if a := w.answer(); a.ID != "first" || a.Error.Code != 0 {
		t.Fatalf("initialized with %+v", a)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

type answer struct {
	ID    any
	Error struct {
		Code    int
		Message string
	}
	Result struct {
		Content []struct{ Text string }
	}
}

func (w *wire) answer() (a answer) {
	w.t.Helper()
	line, err := w.out.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &a)
	}
	if err != nil {
		w.t.Fatalf("%q: %v", line, err)
	}
	return a
}

// Whatever a client writes, it gets the matching JSON-RPC error, and the next request works.
func TestNoRequest(t *testing.T) {
	w := newWire(t, echo, options())
	for line, want := range map[string]struct {
		code int
		id   any
	}{
		`garbage`:                     {-32700, nil},
		`{"jsonrpc":"2.0","id":1`:     {-32700, nil},
		`{"jsonrpc":"2.0"} trailing`:  {-32700, nil},
		strings.Repeat("[", 20_000):   {-32700, nil},
		"\x00\xff":                    {-32700, nil},
		`[]`:                          {-32600, nil},
		`5`:                           {-32600, nil},
		`null`:                        {-32600, nil},
		`[{"jsonrpc":"2.0"}]`:         {-32600, nil},
		`{}`:                          {-32600, nil},
		`{"id":7,"method":"ping"}`:    {-32600, 7.0},
		`{"jsonrpc":"2.0","id":8}`:    {-32600, 8.0},
		strings.Repeat(" x", 3<<20):   {-32600, nil},
		`{"jsonrpc":"1.0","id":"a"}`:  {-32600, "a"},
		`{"jsonrpc":"2.0","id":null}`: {-32600, nil},
		`{"jsonrpc":"2.0","id":[1],"method":"ping"}`:                                                        {-32600, nil},
		`{"jsonrpc":"2.0","id":2,"method":5}`:                                                               {-32600, 2.0},
		`{"jsonrpc":"2.0","id":9,"method":"none"}`:                                                          {-32601, 9.0},
		`{"jsonrpc":"2.0","id":3,"method":"tools/call"}`:                                                    {-32600, 3.0},
		`{"jsonrpc":"2.0","id":4,"method":"","params":{}}`:                                                  {-32601, 4.0},
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                                        {-32600, nil},
		`{"jsonrpc":"2.0","id":1e99,"method":"ping"}`:                                                       {-32600, nil},
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:                                           {-32600, nil},
		`{"jsonrpc":"2.0","id":5,"method":"ping","params":7}`:                                               {-32602, 5.0},
		`{"jsonrpc":"2.0","id":6,"method":"initialize","params":"x"}`:                                       {-32602, 6.0},
		`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":[1]}`:                                      {-32602, 10.0},
		`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":5}}`:                               {-32602, 11.0},
		`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":5}}`:            {-32602, 12.0},
		`{"jsonrpc":"2.0","id":13,"method":"logging/setLevel","params":{"level":5}}`:                        {-32602, 13.0},
		`{"jsonrpc":"2.0","id":14,"method":"initialize","params":{"capabilities":5,"protocolVersion":"1"}}`: {-32602, 14.0},
	} {
		w.send(line)
		if a := w.answer(); a.Error.Code != want.code || a.ID != want.id || a.Error.Message == "" {
			t.Errorf("%.60q: answered %+v, want %+v", line, a, want)
		} else if word := hostile.Internal(a.Error.Message); word != "" {
			t.Errorf("%.60q: the answer says %q: %s", line, word, a.Error.Message)
		}
		w.send(`{"jsonrpc":"2.0","id":"still","method":"ping"}`)
		if a := w.answer(); a.ID != "still" || a.Error.Code != 0 {
			t.Fatalf("after %.60q: %+v", line, a)
		}
	}

	if err := errors.Join(w.in.Close(), <-w.served); err != nil {
		t.Error(err)
	}
}

// Requests in flight are answered when the input ends.
func TestAnswersAfterTheInputEnds(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	run := func(context.Context, []string) (string, error) {
		close(began)
		<-finish
		return "done", nil
	}

	w := newWire(t, run, options())
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rule","arguments":{}}}`)
	<-began

	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}

	close(finish)
	if a := w.answer(); a.ID != 1.0 || len(a.Result.Content) != 1 || a.Result.Content[0].Text != "done" {
		t.Errorf("answered %+v", a)
	}

	if err := <-w.served; err != nil {
		t.Error(err)
	}
}

// A call that cannot be cancelled does not keep its client, or others, from getting an answer. The
// number of such calls is limited.
func TestCallThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		run := func(_ context.Context, args []string) (string, error) {
			switch args[1] {
			case "list":
				<-finish
			case "show":
				panic("a bug")
			}
			return "", nil
		}

		opt := options()
		opt.TimeMax = time.Minute
		w := newWire(t, run, opt)
		call := func(tool, name string) string {
			w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"name":"` + name + `"}}}`)
			a := w.answer()
			if len(a.Result.Content) != 1 {
				t.Fatalf("%+v", a)
			}
			return a.Result.Content[0].Text
		}

		if got := call("rule", "x"); !strings.Contains(got, "a bug") {
			t.Errorf("a panic: %s", got)
		}

		for range 4 {
			if got := call("rule", ""); !strings.Contains(got, "timeout after 1m0s") {
				t.Errorf("a call that does not end: %s", got)
			}
		}

		if got := call("rule", ""); !strings.Contains(got, "4 calls are still running after their timeout") {
			t.Errorf("one more: %s", got)
		}

		close(finish)
		if err := errors.Join(w.in.Close(), <-w.served); err != nil {
			t.Error(err)
		}
	})
}

// full is an output without free space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// An answer that cannot be written ends the session with an error.
func TestAnswerCannotBeWritten(t *testing.T) {
	in, client := io.Pipe()
	defer client.Close()
	served := make(chan error, 1)
	go func() { served <- mcp.Serve(t.Context(), echo, options(), in, full{}) }()
	if _, err := io.WriteString(client, "garbage\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("it ended with %v", err)
	}
}

// A source may be named by the last part of its path, unless two sources share it.
func TestBaseNames(t *testing.T) {
	dir := t.TempDir()
	var sources []mcp.Source
	for _, path := range []string{"a/night.json", "b/night.json", "b/day.json"} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		sources = append(sources, mcp.Source{Name: path, Argument: path})
	}

	write(t, filepath.Join(dir, "captures", "one.json"))
	folder := filepath.Join(dir, "captures")
	sources = append(sources, mcp.Source{Name: folder, Argument: folder}, mcp.Source{Name: "http://db-1/metrics", Argument: "http://db-1/metrics"})

	s := connect(t, echo, options(sources...))
	for name, want := range map[string]string{
		"day.json":          filepath.Join(dir, "b", "day.json"),
		"night.json":        "2 sources have this name: use the full name",
		"captures":          folder,
		"captures/one.json": filepath.Join(folder, "one.json"),
		"metrics":           "no source",
	} {
		if got, _ := call(t, s, "metrics", map[string]any{"sources": []string{name}}); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// write makes an empty file and its folder.
func write(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}
