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
	"sync/atomic"
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

// Serve answers one client until it closes its stream, and its requests are answered, or the context
// ends. It may leave a goroutine behind that reads from in.
func Serve(ctx context.Context, run Command, opt Options, in io.Reader, out io.Writer) error {
	stream := newLines(in, out)
	err := newServer(run, opt).Run(ctx, stream)
	if failed := stream.err(); failed != nil {
		return failed
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func newServer(run Command, opt Options) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "plimsoll", Version: opt.Version},
		&sdk.ServerOptions{Instructions: instructions})
	t := &tools{run: run, opt: opt, slots: make(chan struct{}, max(opt.AtOnce, 1)), late: &atomic.Int32{}}
	t.add(s)
	return s
}

// tools are the tools of one server.
type tools struct {
	run   Command
	opt   Options
	slots chan struct{}
	late  *atomic.Int32 // calls that were left to themselves and still run
}

const (
	// lateMax is how many calls may still be running after their time. Some cannot be ended: a function
	// over a long subquery, a file that blocks.
	lateMax = 4
	// endWithin is how long a call may take to end after its time.
	endWithin = 500 * time.Millisecond
)

// call runs a verb when it is its turn and bounds its answer.
func (t *tools) call(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.opt.TimeMax)
	defer cancel()

	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("%d other calls were still running after %s: try again later", cap(t.slots),
			t.opt.TimeMax)
	}

	if n := t.late.Load(); n >= lateMax {
		return "", fmt.Errorf("%d calls are still running after their time: try again later", n)
	}

	text, err := t.inTime(ctx, args)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("not done within %s: ask for a shorter span or less at once", t.opt.TimeMax)
	case err != nil:
		return "", err
	}

	return t.bound(text), nil
}

// inTime runs a verb. If it does not end with its context, it is left to itself, so that its client has an
// answer and the next one its turn.
func (t *tools) inTime(ctx context.Context, args []string) (string, error) {
	type result struct {
		text string
		err  error
	}

	done := make(chan result, 1)
	var over atomic.Bool // it ended, or was left to itself, whichever came first
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("internal error, please report it: %v", p)
			}
			done <- r
			if over.Swap(true) {
				t.late.Add(-1)
			}
		}()
		r.text, r.err = t.run(ctx, args)
	}()

	var given <-chan time.Time
	ending := ctx.Done()
	for {
		select {
		case r := <-done:
			return r.text, r.err
		case <-ending:
			ending, given = nil, time.After(endWithin)
		case <-given:
			t.late.Add(1)
			if over.Swap(true) {
				t.late.Add(-1) // it has just ended
			}
			return "", ctx.Err()
		}
	}
}

// bound cuts a text to the longest answer, at the end of a line.
func (t *tools) bound(text string) string {
	if len(text) <= t.opt.AnswerMax {
		return text
	}
	note := fmt.Sprintf("\n(cut: %d of %d bytes; ask for less: a shorter span, one incident, fewer series)\n",
		t.opt.AnswerMax, len(text))
	cut := text[:max(t.opt.AnswerMax-len(note), 0)]
	if i := strings.LastIndexByte(cut, '\n'); i >= 0 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + note
}
