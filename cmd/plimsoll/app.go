package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/record/address"
)

// An app is the environment of one run: arguments, streams, variables and the terminal.
type app struct {
	args           []string // without the program's name
	plugin         bool     // the program runs as a plugin of kubectl
	getenv         func(name string) string
	stdout, stderr stream
	now            func() time.Time
	// closing is set while a recording is being closed; a signal must not abandon that.
	closing *atomic.Bool
	secrets *address.Secrets // of the arguments; no text may contain them
	// kept is set once this run has kept the samples of a live source.
	kept bool
	// helpless is the error of a request for help on something that has none; nil otherwise.
	helpless error
	catalog  *catalog.Catalog // with the user's imports once loadCatalog has read them
}

// A stream is an output with the properties of its terminal, if it has one.
type stream struct {
	io.Writer
	terminal bool
	// columns is the terminal's current width, 0 if not known.
	columns func() int
}

func newApp() *app {
	return &app{args: os.Args[1:], plugin: isPlugin(os.Args[0]), getenv: os.Getenv,
		stdout: fileStream(os.Stdout), stderr: fileStream(os.Stderr), now: time.Now, closing: &atomic.Bool{}}
}

// isPlugin reports whether a program is called as a plugin of kubectl.
func isPlugin(path string) bool {
	return strings.TrimSuffix(filepath.Base(path), ".exe") == "kubectl-plimsoll"
}

// columns is how wide text on stdout may be, 0 if not known: COLUMNS, as for ls and man, or else
// the terminal's width.
func (a *app) columns() int {
	if n, err := strconv.Atoi(a.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if a.stdout.terminal {
		return a.stdout.columns()
	}
	return 0
}

func fileStream(f *os.File) stream {
	fd := int(f.Fd())
	return stream{Writer: f, terminal: term.IsTerminal(fd), columns: func() int {
		if width, _, err := term.GetSize(fd); err == nil {
			return width
		}
		return 0
	}}
}

// run runs the command that the arguments name, prints its error if any, and returns the exit code.
func (a *app) run(ctx context.Context) int {
	a.secrets = address.OfArguments(a.args)
	// Libraries write warnings to stderr, too, and may quote an address with its password.
	a.stderr.Writer = a.secrets.Writer(a.stderr.Writer)
	root := newRootCommand(a)
	root.SetArgs(a.args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := cmp.Or(root.ExecuteContext(context.WithValue(ctx, appKey{}, a)), a.helpless)
	if err == nil {
		return exitFine
	}
	f := asFailure(ctx, err)
	f.print(a.stderr, wantsJSON(a.args), a.secrets)
	return f.code
}

// appKey is the key of the app in a command's context.
type appKey struct{}

// appOf returns the app that runs a command, for code that only has the command.
func appOf(cmd *cobra.Command) *app {
	a, ok := cmd.Context().Value(appKey{}).(*app)
	if !ok {
		panic("command " + cmd.Name() + " runs without an app")
	}
	return a
}

// say writes a line on stderr.
func (a *app) say(line string) { fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(line)) }
