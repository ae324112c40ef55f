package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"plimsoll/internal/record/address"
)

// The exit codes. They are a contract: scripts branch on them.
const (
	exitFine        = 0
	exitFailure     = 1
	exitUsage       = 2
	exitFindings    = 3
	exitNotYet      = 4
	exitInterrupted = 130
)

// exitCodes is the part of every command's help that lists them.
const exitCodes = `Exit codes:
    0  fine
    1  failure: something could not be read or written
    2  usage: an argument or a flag is wrong
    3  --fail-on: findings at or over that severity, or an objective not met
    4  prove: not proved yet, because a recording is too short
  130  interrupted
`

// A failure is an error with an exit code and a hint about what to do.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Hint returns the suggested next step.
func (f *failure) Hint() string { return f.hint }

// failf returns an error with an exit code and a hint, which may be empty.
func failf(code int, hint, format string, args ...any) error {
	return &failure{code: code, hint: hint, err: fmt.Errorf(format, args...)}
}

// usagef returns an error in the command line, with a hint ("" for the command's help).
func usagef(hint, format string, args ...any) error { return failf(exitUsage, hint, format, args...) }

// hinted is implemented by errors of any package that can suggest a next step.
type hinted interface{ Hint() string }

// badInput is implemented by errors of any package about a user's input: a file or an argument.
type badInput interface{ BadInput() }

// asFailure gives any error its exit code and hint.
func asFailure(ctx context.Context, err error) *failure {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{code: exitFailure}
		var b badInput
		if errors.As(err, &b) {
			f.code = exitUsage
		}
		var h hinted
		if errors.As(err, &h) {
			f.hint = h.Hint()
		}
	}

	out := &failure{code: f.code, hint: f.hint, err: err}
	if out.code == exitFailure && ctx.Err() != nil && (errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)) {
		// Everything that was running reports a cancellation; the user caused it. The same holds if the
		// deadline for the work after it expires: see afterReading.
		return &failure{code: exitInterrupted, err: errors.New("interrupted")}
	}

	return out
}

// print writes the error as text, or as one line of JSON, without secrets.
func (f *failure) print(w io.Writer, asJSON bool, secrets *address.Secrets) {
	text, hint := secrets.Hide(shortened(strings.TrimSpace(f.Error()))), secrets.Hide(shortened(f.hint))
	if !asJSON {
		fmt.Fprintf(w, "plimsoll: %s\n", printable(text))
		if hint != "" {
			fmt.Fprintf(w, "hint: %s\n", printable(hint))
		}
		return
	}

	type body struct {
		Message  string `json:"message"`
		Hint     string `json:"hint,omitempty"`
		ExitCode int    `json:"exit_code"`
	}

	line, err := json.Marshal(struct {
		Error body `json:"error"`
	}{body{text, hint, f.code}})
	if err != nil {
		fmt.Fprintf(w, "plimsoll: %s\n", text)
		return
	}

	fmt.Fprintf(w, "%s\n", line)
}

// errorBytesMax bounds the text of an error: it may quote what a file or a server contains.
const errorBytesMax = 8 << 10

// shortened leaves out the middle of a text that is too long.
func shortened(text string) string {
	if len(text) <= errorBytesMax {
		return text
	}
	// The beginning says what failed and the end usually says why.
	begin, end := text[:errorBytesMax*3/4], text[len(text)-errorBytesMax/8:]
	return strings.ToValidUTF8(begin, "") +
		fmt.Sprintf(" ... (%d bytes left out) ... ", len(text)-len(begin)-len(end)) + strings.ToValidUTF8(end, "")
}

// printable shows control characters as escapes, except newlines and tabs: a file name may contain
// terminal control sequences.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		// Cf includes the bidirectional overrides, which can disguise a text.
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// wantsJSON reports from the raw arguments whether errors are written as JSON: an error may occur
// before flags are parsed.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		// Everything after it is an argument, even if it looks like a flag.
		case arg == "--":
			return false
		case slices.Contains([]string{"-ojson", "-o=json", "--output=json"}, arg),
			(arg == "-o" || arg == "--output") && i+1 < len(args) && args[i+1] == "json":
			return true
		}
	}
	return false
}
