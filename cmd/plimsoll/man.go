package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/base/safefile"
)

// newManCommand writes the manual pages for a release's packages. It is hidden: users have --help.
func newManCommand(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "man",
		Hidden: true,
		Args:   needArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usagef("plimsoll man --out man", "man: --out is missing")
			}
			return a.writeManual(cmd.Root(), dir)
		},
	}

	cmd.Flags().StringVar(&dir, "out", "", "write them into this folder, which is created if needed")

	return cmd
}

// writeManual writes the pages of a command and its subcommands.
func (a *app) writeManual(root *cobra.Command, dir string) error {
	at, err := a.manualDate()
	if err != nil {
		return err
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("man: %w", err)
	}

	for _, c := range documented(root) {
		page := manPage(c, at)
		if err := safefile.Write(filepath.Join(dir, manName(c)+".1"), []byte(page),
			safefile.Options{}); err != nil {
			return fmt.Errorf("man: %w", err)
		}
	}

	return nil
}

// manualDate is the date on the pages: the same for every build of a revision.
func (a *app) manualDate() (time.Time, error) {
	// The convention of reproducible builds (reproducible-builds.org).
	if epoch := a.getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, usagef("want seconds since 1970, as git log -1 --format=%ct prints",
				"SOURCE_DATE_EPOCH=%q is not a time", epoch)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}

	if info, ok := debug.ReadBuildInfo(); ok {
		if at, err := time.Parse(time.RFC3339, setting(info, "vcs.time")); err == nil {
			return at, nil
		}
	}

	return a.now().UTC(), nil
}

// documented are a command and its visible subcommands.
func documented(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			out = append(out, documented(sub)...)
		}
	}
	return out
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a command's page in the macros of man(7).
func manPage(cmd *cobra.Command, at time.Time) string {
	var page strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&page, ".TH %s 1 %s \"plimsoll %s\" \"User Commands\"\n", roffWord(strings.ToUpper(name)),
		at.Format(time.DateOnly), roffText(thisBuild().Version))
	page.WriteString(".ad l\n.nh\n") // left-aligned without hyphenation: many words are commands
	fmt.Fprintf(&page, ".SH NAME\n%s \\- %s\n", roffText(name), roffText(strings.ToLower(cmd.Short[:1])+cmd.Short[1:]))
	fmt.Fprintf(&page, ".SH SYNOPSIS\n.nf\n%s\n", roffBold(cmd.UseLine()))

	if cmd.HasAvailableSubCommands() {
		page.WriteString(roffBold(cmd.CommandPath()+" COMMAND ...") + "\n")
	}

	page.WriteString(".fi\n.SH DESCRIPTION\n")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}

	roffParagraphs(&page, long)
	// Hidden commands are for scripts and completion, and have no page.
	if subs := availableBelow(cmd); len(subs) > 0 {
		page.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&page, ".TP\n%s\n%s.\n", roffBold(sub.Name()), roffText(sub.Short))
		}
	}

	// cobra adds --help only when a command runs.
	cmd.InitDefaultHelpFlag()
	if cmd.HasAvailableLocalFlags() {
		page.WriteString(".SH OPTIONS\n")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { roffOption(&page, f) })
	}

	if cmd.Example != "" {
		page.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(cmd.Example) {
			page.WriteString(roffText(strings.TrimRight(line, "\n")) + "\n")
		}
		page.WriteString(".fi\n")
	}

	page.WriteString(".SH EXIT STATUS\n")
	for line := range strings.Lines(exitCodes) {
		if code, text, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			fmt.Fprintf(&page, ".TP\n%s\n%s\n", roffBold(code), roffText(text))
		}
	}

	// Variables apply to all commands, so only the program's page lists them.
	if !cmd.HasParent() {
		page.WriteString(".SH ENVIRONMENT\n")
		for _, v := range environment {
			fmt.Fprintf(&page, ".TP\n%s\n%s\n", roffBold(v.name), roffText(v.text))
		}
	}

	roffSeeAlso(&page, cmd)
	return page.String()
}

// environment lists the variables that every command reads.
var environment = []struct{ name, text string }{
	{"NO_COLOR", "If set and not empty, output has no colours, except with --color always."},
	{"PLIMSOLL_OUTPUT, PLIMSOLL_COLOR, PLIMSOLL_REGION", "Defaults of -o, --color and --region, in commands that have them."},
	{"PLIMSOLL_CONFIG", "The file with these defaults, instead of plimsoll/config.yaml in $XDG_CONFIG_HOME or ~/.config."},
	{"COLUMNS", "The width of text, instead of the terminal's width."},
	{"LC_ALL, LC_CTYPE, LANG", "Non-ASCII characters are used if the first of these that is set names UTF-8."},
	{"GOMAXPROCS", "The maximum number of cores to use."},
}

func availableBelow(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()),
		func(sub *cobra.Command) bool { return !sub.IsAvailableCommand() })
}

func roffOption(b *strings.Builder, f *pflag.Flag) {
	if f.Hidden || f.Deprecated != "" {
		return
	}

	value, usage := pflag.UnquoteUsage(f)

	// pflag names values by their Go type unless the usage text quotes a name.
	switch value {
	case "stringArray", "strings", "string":
		value = "TEXT"
	case "int", "uint", "float":
		value = "NUMBER"
	}

	b.WriteString(".TP\n")
	if f.Shorthand != "" {
		b.WriteString(roffBold("-"+f.Shorthand) + ", ")
	}

	b.WriteString(roffBold("--" + f.Name))
	if value != "" {
		b.WriteString(` \fI` + roffText(value) + `\fR`)
	}

	text := usage
	switch f.DefValue {
	case "", "false", "0", "[]", "0s":
	default:
		text += fmt.Sprintf(" (default %s)", f.DefValue)
	}

	// A list without spaces may break after its commas.
	b.WriteString("\n" + strings.ReplaceAll(roffText(text), ",", `,\:`) + "\n")
}

func roffSeeAlso(b *strings.Builder, c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, manName(c.Parent()))
	}

	for _, sub := range availableBelow(c) {
		if sub.Name() != "help" {
			names = append(names, manName(sub))
		}
	}

	if len(names) == 0 {
		return
	}

	b.WriteString(".SH SEE ALSO\n")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roffText(name), end)
	}
}

// roffParagraphs fills paragraphs; indented lines stay as they are.
func roffParagraphs(b *strings.Builder, text string) {
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}

		kept := false
		for line := range strings.Lines(block) {
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ") // cobra's own texts have tabs
			if indented := strings.HasPrefix(line, " "); indented != kept {
				b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
				kept = indented
			}
			b.WriteString(roffText(line) + "\n")
		}

		if kept {
			b.WriteString(".fi\n")
		}
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`,
	"~", `\(ti`)

// roffText escapes text so that roff shows it unchanged, ready to be copied into a shell.
func roffText(text string) string {
	text = roffEscapes.Replace(text)
	// A line that starts with a dot would be a macro.
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

func roffBold(text string) string { return `\fB` + roffText(text) + `\fR` }

func roffWord(text string) string { return `"` + roffText(text) + `"` }
