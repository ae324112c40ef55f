package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// testApp is a process without a terminal; its streams are buffers.
func testApp(args ...string) (a *app, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	none := func() int { return 0 }
	return &app{args: args, getenv: func(string) string { return "" }, now: time.Now,
		stdout: stream{Writer: stdout, columns: none}, stderr: stream{Writer: stderr, columns: none}}, stdout, stderr
}

// Every command's help lists the exit codes, and every runnable command has an example.
func TestEveryHelpTellsExitCodes(t *testing.T) {
	a, _, _ := testApp()
	var visit func(c *cobra.Command)
	seen := 0
	visit = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		seen++

		for _, args := range [][]string{append(slices.Clone(path), "--help"), append([]string{"help"}, path...)} {
			b, stdout, stderr := testApp(args...)
			if code := b.run(context.Background()); code != exitFine || stderr.Len() > 0 {
				t.Errorf("%q: exit code %d, stderr %q", args, code, stderr)
			}
			if !strings.Contains(stdout.String(), exitCodes) {
				t.Errorf("%q does not list the exit codes:\n%s", args, stdout)
			}
		}

		ours := len(path) > 0 && path[0] != "completion" && path[0] != "help"
		if ours && c.Example == "" {
			t.Errorf("%s has no example in its help", c.CommandPath())
		}

		for _, sub := range c.Commands() {
			visit(sub)
		}
	}

	visit(newRootCommand(a))
	if seen < 10 {
		t.Errorf("only %d commands were looked at", seen)
	}

	for _, code := range []string{"0", "1", "2", "3", "4", "130"} {
		if !strings.Contains(exitCodes, "  "+code+"  ") {
			t.Errorf("exit code %s is not explained", code)
		}
	}
}

// Examples in help are commands that exist, with flags that exist.
func TestExamplesParse(t *testing.T) {
	a, _, _ := testApp()
	root := newRootCommand(a)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			words := strings.Fields(line)
			if c.Name() != "completion" && len(words) > 1 && words[0] == "plimsoll" {
				of, rest, err := root.Find(words[1:])
				if err != nil {
					t.Errorf("%s: %v", line, err)
					continue
				}
				for i := range rest {
					rest[i] = strings.Trim(rest[i], "'")
				}
				if err := of.ParseFlags(rest); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}

	visit(root)
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, log := filepath.Join(t.TempDir(), "incident"), filepath.Join(t.TempDir(), "iostat.log")

	if err := os.WriteFile(log, []byte(cappedVolume(1, 20)), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"diagnose", log}, {"record", log, "--out", out}} {
		a, stdout, stderr := testApp(args...)
		if code := a.run(ctx); code != exitInterrupted {
			t.Errorf("%q: exit code %d, want %d; stderr %s", args, code, exitInterrupted, stderr)
		}
		if got := stderr.String(); got != "plimsoll: interrupted\n" || stdout.Len() > 0 {
			t.Errorf("%q: stderr %q, stdout %q", args, got, stdout)
		}
	}

	if _, err := os.Stat(out); err == nil {
		t.Errorf("a recording without samples is left behind in %s", out)
	}
}

func TestFailures(t *testing.T) {
	ctx := context.Background()
	done, cancel := context.WithCancel(ctx)
	cancel()

	for _, c := range []struct {
		ctx  context.Context
		err  error
		code int
		text string
		json string
	}{
		{ctx, errors.New("x: broken"), exitFailure, "plimsoll: x: broken\n", `{"error":{"message":"x: broken","exit_code":1}}` + "\n"},
		{ctx, usagef("do that", "y"), exitUsage, "plimsoll: y\nhint: do that\n", `{"error":{"message":"y","hint":"do that","exit_code":2}}` + "\n"},
		{ctx, withHint{}, exitFailure, "plimsoll: z\nhint: look there\n", `{"error":{"message":"z","hint":"look there","exit_code":1}}` + "\n"},
		{ctx, errors.New("a\x1b[2Jb\nc\u202e"), exitFailure, "plimsoll: a\\u001b[2Jb\nc\\u202e\n", `{"error":{"message":"a\u001b[2Jb\nc` + "\u202e" + `","exit_code":1}}` + "\n"},
		{done, context.Canceled, exitInterrupted, "plimsoll: interrupted\n", `{"error":{"message":"interrupted","exit_code":130}}` + "\n"},
		{done, errors.New("disk full"), exitFailure, "plimsoll: disk full\n", `{"error":{"message":"disk full","exit_code":1}}` + "\n"},
	} {
		f := asFailure(c.ctx, c.err)
		var text, line bytes.Buffer
		f.print(&text, false, nil)
		f.print(&line, true, nil)
		if f.code != c.code || text.String() != c.text || line.String() != c.json {
			t.Errorf("%v: code %d, text %q, JSON %q", c.err, f.code, &text, &line)
		}
	}
}

type withHint struct{}

func (withHint) Error() string { return "z" }
func (withHint) Hint() string  { return "look there" }

// The same mistake gives the same message, whichever source fails first.
func TestEachGivesTheFirstError(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	for range 100 {
		err := each(context.Background(), 4, func(ctx context.Context, i int) error {
			switch i {
			case 0, 3:
				<-ctx.Done()
				return ctx.Err()
			case 1:
				return one
			}
			return two
		})
		if !errors.Is(err, one) {
			t.Fatalf("got %v, want that of the lowest number that is not a cancellation", err)
		}
	}
}

// A source that is read while another fails does not report the other's error as its own.
func TestEachKeepsErrorsApart(t *testing.T) {
	two := errors.New("two")
	err := each(context.Background(), 2, func(ctx context.Context, i int) error {
		if i == 1 {
			return two
		}
		<-ctx.Done()
		return fmt.Errorf("source one: %w", context.Cause(ctx)) // as in net/http
	})
	if err == nil || err.Error() != "two" {
		t.Errorf("got %v, want two alone", err)
	}
}
