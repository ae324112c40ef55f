package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/mcp"
	"plimsoll/internal/record/address"
)

// mcpOptions are the flags of `plimsoll mcp`.
type mcpOptions struct {
	answerMax string
	timeMax   time.Duration
	atOnce    int
}

func newMCPCommand(a *app) *cobra.Command {
	o := &mcpOptions{}
	cmd := &cobra.Command{Use: "mcp [[NAME=]SOURCE...]", Args: cobra.ArbitraryArgs}
	f := cmd.Flags()
	f.StringVar(
		&o.answerMax, "answer-max", "48KiB", "the longest answer; a longer one is cut at the end of a line")
	f.DurationVar(&o.timeMax, "timeout", 5*time.Minute, "how long one call may take")
	f.IntVar(&o.atOnce, "parallel", 2, "how many calls may run at the same time")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := o.Validate(args)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "serving %d sources on stdin and stdout until the client closes them\n",
			len(opt.Sources))
		return mcp.Serve(cmd.Context(), a.inside, opt, os.Stdin, a.stdout)
	}

	return cmd
}

// namedSource is an argument with an explicit name.
var namedSource = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]{0,63})=(.+)$`)

// Validate reads the flags and the sources.
func (o *mcpOptions) Validate(args []string) (mcp.Options, error) {
	const least = 4 * units.KiB
	most, err := units.ParseSize(o.answerMax)

	opt := mcp.Options{Version: thisBuild().Version, AnswerMax: int(most), AtOnce: o.atOnce, TimeMax: o.timeMax}
	switch {
	case err != nil || most < least || most > units.GiB:
		return opt, usagef("for example --answer-max 48KiB", "--answer-max %q: want a size from %s to %s",
			o.answerMax, least, units.GiB)
	case o.timeMax <= 0:
		return opt, usagef("for example --timeout 2m", "--timeout %s: want a duration over 0", o.timeMax)
	case o.atOnce < 1:
		return opt, usagef("", "--parallel %d: want 1 or more", o.atOnce)
	}

	taken := map[string]bool{}
	for _, arg := range args {
		s := mcp.Source{Name: address.Public(arg), Argument: arg}
		if m := namedSource.FindStringSubmatch(arg); m != nil {
			if _, err := os.Stat(arg); err != nil { // a file may have such a name
				s = mcp.Source{Name: m[1], Argument: m[2]}
			}
		}
		if taken[s.Name] {
			return opt, usagef("write NAME="+s.Name, "%s: two sources of this name", s.Name)
		}
		taken[s.Name] = true
		opt.Sources = append(opt.Sources, s)
	}

	return opt, nil
}

// inside runs another command of the program and returns what it wrote.
func (a *app) inside(ctx context.Context, args []string) (string, error) {
	var out, errs bytes.Buffer
	getenv := func(name string) string {
		// A client has no terminal, so the server's own width must not apply.
		if name == "COLUMNS" {
			return "100"
		}
		return a.getenv(name)
	}

	// A separate app: the output of a call must not mix with the protocol on stdout.
	b := &app{args: args, getenv: getenv, stdout: stream{Writer: &out},
		stderr: stream{Writer: &errs}, now: a.now}
	if b.run(ctx) != exitFine {
		return "", errors.New(strings.TrimPrefix(strings.TrimSpace(errs.String()), "plimsoll: "))
	}

	return out.String(), nil
}
