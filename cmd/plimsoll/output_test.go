package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A blocked write ends with the command, and so do later ones. Output that is read is not affected.
func TestInterruptible(t *testing.T) {
	read, blocked := io.Pipe()
	defer read.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	s := stream{Writer: blocked}
	s.endWith(ctx)
	interrupt()

	for range 2 {
		if _, err := s.Write([]byte("a")); !errors.Is(err, errUnread) {
			t.Errorf("a write that is not read ends with %v", err)
		}
	}

	var kept strings.Builder
	s = stream{Writer: &kept}
	s.endWith(ctx)

	if n, err := s.Write([]byte("the end")); n != 7 || err != nil || kept.String() != "the end" {
		t.Errorf("after the signal: %d, %v, %q", n, err, kept.String())
	}
}

// A queue never blocks its writer, keeps the order and reports what it dropped.
func TestLineQueue(t *testing.T) {
	read, w := io.Pipe()
	q := newLineQueue(w, func(n int) { fmt.Fprintf(w, "dropped %d\n", n) })
	for i := range queuedLinesMax + 100 { // the reader reads nothing yet
		fmt.Fprintf(q, "%d\n", i)
	}

	go func() {
		q.close()
		<-q.gone
		_ = w.Close()
	}()

	text, err := io.ReadAll(read)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	n := len(lines)
	if err != nil || n < queuedLinesMax || lines[0] != "0" || lines[n-2] != fmt.Sprint(n-2) || lines[n-1] != fmt.Sprintf("dropped %d", queuedLinesMax+100-(n-1)) {
		t.Errorf("%d lines, %v: %q ... %q", n, err, lines[0], lines[max(n-2, 0):])
	}

	q = newLineQueue(io.Discard, func(int) {})
	q.close()
	if _, err := q.Write([]byte("late\n")); err != nil {
		t.Error(err)
	}
}

// Help and other texts that cannot be written are an error.
func TestOutputIsFull(t *testing.T) {
	for _, args := range []string{"", "--help", "diagnose --help", "help plan", "version", "--version", "rules list", "rules show disk/iops-capped",
		"catalog list", "catalog show gp3", "simulate --schema", "completion bash", "casebook", "lab --help"} {
		a := newApp()
		a.args, a.stdout = strings.Fields(args), stream{Writer: fullOutput{}}
		var errs strings.Builder
		a.stderr = stream{Writer: &errs}
		if code := a.run(t.Context()); code != exitFailure || strings.Count(errs.String(), "no space") != 1 {
			t.Errorf("%q: code %d, %q", args, code, errs.String())
		}
	}
}

type fullOutput struct{}

func (fullOutput) Write([]byte) (int, error) { return 0, errors.New("no space left") }
