// Package mcp offers the program's read-only verbs to clients of the Model Context Protocol as
// tools.
//
// A tool runs a verb like the command line does, so it has the verb's checks, its output and its
// way of hiding passwords. The command that starts the server decides what a client may read: the
// listed sources, and files below the listed folders. Answers have a maximum size, because clients
// keep them in a limited context.
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

// A Command runs one verb of the program with its arguments and flags, and returns what it wrote to
// stdout. The error's text is what it would print to stderr, including its hint.
type Command func(ctx context.Context, args []string) (stdout string, err error)

// Options says what a server allows.
type Options struct {
	// Version is the version of the program.
	Version string
	// Sources are what tools may read, by the names that clients use: addresses, which clients
	// never see, files, and folders with everything below them.
	Sources []Source
	// AnswerMax is the longest answer, in bytes.
	AnswerMax int
	// AtOnce is how many tools may run concurrently; further ones wait.
	AtOnce int
	// TimeMax is the timeout of a tool.
	TimeMax time.Duration
}

// requestMax bounds a client's request. A scenario is a few kilobytes.
const requestMax = 4 << 20

// instructions explains to a client in which order to use the tools.
const instructions = `Plimsoll finds why a database's writes stall, from recordings and live servers, and what fixes it.
Start with "sources", then "diagnose" one of them. "incidents" lists what happened, with numbers that
"diagnose" accepts. Look closer with "metrics" and "query" (PromQL). "rule" explains a finding. "simulate" predicts
the effect of a change, and "plan" finds the cheapest layout that meets an objective. No tool changes anything.`

// Serve answers one client until the client closes its stream and all requests are answered, or the
// context ends. It may leave a goroutine behind that reads from in.
func Serve(ctx context.Context, run Command, opt Options, in io.Reader, out io.Writer) error {
	stream := newLines(in, out)
	err := newServer(run, opt).Run(ctx, stream)
	// A failed write is the reason; the SDK's own error is a consequence of it.
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
	late  *atomic.Int32 // abandoned calls that are still running
}

const (
	// lateMax is how many calls may still be running after their timeout. Some cannot be cancelled:
	// a function over a long subquery, a file that blocks.
	lateMax = 4
	// endWithin is how long a call may take to stop after its timeout.
	endWithin = 500 * time.Millisecond
)

// call runs a verb once a slot is free, and bounds its answer.
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

	// Abandoned calls hold no slot, so they are bounded separately.
	if n := t.late.Load(); n >= lateMax {
		return "", fmt.Errorf("%d calls are still running after their timeout: try again later", n)
	}

	text, err := t.inTime(ctx, args)
	switch {
	// The verb's own error would only say that its context ended.
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("timeout after %s: request a shorter span or fewer series", t.opt.TimeMax)
	case err != nil:
		return "", err
	}

	return t.bound(text), nil
}

// inTime runs a verb. If the verb does not stop when its context ends, inTime abandons it, so that
// the client gets an answer and the slot becomes free.
func (t *tools) inTime(ctx context.Context, args []string) (string, error) {
	type result struct {
		text string
		err  error
	}

	done := make(chan result, 1)
	var over atomic.Bool // set by whichever comes first: the verb ends, or it is abandoned
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
				t.late.Add(-1) // it ended at the last moment
			}
			return "", ctx.Err()
		}
	}
}

// bound cuts a text to the maximum size, at the end of a line.
func (t *tools) bound(text string) string {
	if len(text) <= t.opt.AnswerMax {
		return text
	}
	note := fmt.Sprintf("\n(cut: %d of %d bytes; request less: a shorter span, one incident, fewer series)\n",
		t.opt.AnswerMax, len(text))
	cut := text[:max(t.opt.AnswerMax-len(note), 0)]
	if i := strings.LastIndexByte(cut, '\n'); i >= 0 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + note
}
