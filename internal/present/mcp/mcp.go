// Package mcp offers the program's reading verbs to clients of the Model Context Protocol, as tools
// that change nothing.
//
// A tool runs a verb as the command line would, so it has the verb's checks, its words and its way
// to hide passwords. What a client may read is decided where the server is started, not by the
// client: the sources that were listed, and files below the folders that were listed. An answer has
// at most a given size, since clients keep what they are sent and have little room for it.
package mcp

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Command runs one verb of the program, with its arguments and flags, and returns what it wrote
// to stdout. The error's text is what a person would have read on stderr, with its hint.
type Command func(ctx context.Context, args []string) (stdout string, err error)

// Options are what a server allows.
type Options struct {
	// Version is the program's.
	Version string
	// Sources are what tools may read, by the name that clients use for them: addresses, which
	// clients never see, and files or folders. Of a folder they may read everything below it.
	Sources []Source
	// AnswerMax is the longest answer, in bytes.
	AnswerMax int
	// AtOnce is how many tools may run at the same time; further ones wait.
	AtOnce int
	// TimeMax ends a tool that takes longer.
	TimeMax time.Duration
}

// requestMax bounds a client's request: a scenario is some kilobytes.
const requestMax = 4 << 20

// instructions tell a client in what order the tools make sense.
const instructions = `Plimsoll finds why a database's writes stall, from recordings and live servers, and what fixes it.
Begin with "sources", then "diagnose" one of them. "incidents" lists what happened, with numbers that
"diagnose" takes. Look closer with "metrics" and "query" (PromQL). "rule" explains a finding. "simulate" and "plan"
answer what a change would do and what is the cheapest that meets an objective. Nothing is changed by any tool.`

// Serve answers one client until it closes its stream or the context ends.
func Serve(ctx context.Context, run Command, opt Options, in io.ReadCloser, out io.Writer) error {
	err := newServer(run, opt).Run(ctx, &sdk.IOTransport{Reader: in, Writer: unclosed{out}, MaxLineLength: requestMax})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// unclosed is an output that outlives the session.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

func newServer(run Command, opt Options) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "plimsoll", Version: opt.Version}, &sdk.ServerOptions{Instructions: instructions})
	t := &tools{run: run, opt: opt, slots: make(chan struct{}, max(opt.AtOnce, 1))}
	t.add(s)
	return s
}

// tools are the tools of one server.
type tools struct {
	run   Command
	opt   Options
	slots chan struct{}
}

// call runs a verb when it is its turn and bounds its answer.
func (t *tools) call(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.opt.TimeMax)
	defer cancel()
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("%d other calls were still running after %s: try again later", cap(t.slots), t.opt.TimeMax)
	}
	text, err := t.run(ctx, args)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("not done within %s: ask for a shorter span or less at once", t.opt.TimeMax)
	case err != nil:
		return "", err
	}
	return t.bound(text), nil
}

// bound cuts a text to the longest answer, at the end of a line.
func (t *tools) bound(text string) string {
	if len(text) <= t.opt.AnswerMax {
		return text
	}
	note := fmt.Sprintf("\n(cut: %d of %d bytes; ask for less: a shorter span, one incident, fewer series)\n", t.opt.AnswerMax, len(text))
	cut := text[:max(t.opt.AnswerMax-len(note), 0)]
	if i := strings.LastIndexByte(cut, '\n'); i >= 0 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + note
}
