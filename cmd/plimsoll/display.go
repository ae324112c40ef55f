package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/present/text"
)

// A layout is the shape of text, --width and --ascii.
type layout struct {
	width    int
	ascii    bool
	asciiSet bool
	// tables are wide, and have one width unless the terminal is narrower.
	tables bool
}

// The bounds of a text's width.
const (
	widthMin     = 40
	widthMax     = 1000
	widthDefault = 80
	// widthComfortable is the widest default: longer lines are hard to read.
	widthComfortable = 110
	// For text that is mostly tables.
	tablesMin, tablesDefault = 80, 100
)

// bounds are the narrowest text, the width without a terminal and the widest default.
func (l *layout) bounds() (narrowest, usual, widest int) {
	if l.tables {
		return tablesMin, tablesDefault, tablesDefault
	}
	return widthMin, widthDefault, widthComfortable
}

func (l *layout) AddFlags(cmd *cobra.Command) {
	_, _, widest := l.bounds()
	least := ""
	if l.tables {
		least = ", 80 or more"
	}
	cmd.Flags().IntVar(&l.width, "width", 0, "width of text in columns"+least+
		"; 0: the terminal's width, at most "+strconv.Itoa(widest))
	cmd.Flags().BoolVar(&l.ascii, "ascii",
		false, "use only 7-bit characters (default: if the locale is not UTF-8)")
}

func (l *layout) Validate(cmd *cobra.Command) error {
	l.asciiSet = cmd.Flags().Changed("ascii")
	if narrowest, _, _ := l.bounds(); l.width != 0 && (l.width < narrowest || l.width > widthMax) {
		return usagef("a terminal has 80 or more", "--width %d: want %d to %d columns", l.width,
			narrowest, widthMax)
	}
	return nil
}

// textOptions fills in what the flags leave open from the environment.
func (l *layout) textOptions(a *app) text.Options {
	narrowest, usual, widest := l.bounds()
	opt := text.Options{Width: l.width, ASCII: l.ascii || !l.asciiSet && !a.unicode()}
	if opt.Width == 0 {
		opt.Width = usual
		if n := a.columns(); n > 0 {
			opt.Width = min(max(n, narrowest), widest)
		}
	}
	return opt
}

// display is how text is shown.
type display struct {
	layout
	color   choice
	verbose bool
}

func (d *display) AddFlags(cmd *cobra.Command) {
	d.color.value = "auto"
	addChoice(cmd,
		&d.color, "color", "", "colours: auto means on a terminal, unless NO_COLOR is set", "auto",
		"always", "never")
	cmd.Flags().BoolVarP(&d.verbose, "verbose", "v", false, "show every finding in full, with metric names")
	d.layout.AddFlags(cmd)
}

// addFull adds the flag of verbs that show one screen by default.
func addFull(cmd *cobra.Command, full *bool) {
	cmd.Flags().BoolVar(full, "full", false,
		"show everything instead of one screen; on a terminal through the pager ($PAGER, or less)")
}

// options fills in what the flags leave open from the environment.
func (d *display) options(a *app) text.Options {
	opt := d.textOptions(a)
	opt.Verbose, opt.Color = d.verbose, d.color.value == "always"
	if d.color.value == "auto" {
		// https://no-color.org: set and not empty, whatever the value.
		opt.Color = a.stdout.terminal && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	}
	return opt
}

// unicode reports whether the locale's character set is UTF-8. It reads the variables in the order that
// POSIX specifies.
func (a *app) unicode() bool {
	// The first variable that is set decides, even if it names another character set.
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := a.getenv(name); v != "" {
			v = strings.ReplaceAll(strings.ToLower(v), "-", "")
			return strings.Contains(v, "utf8")
		}
	}
	return false
}

// wrapped breaks text at spaces into lines of at most width columns.
func wrapped(s string, width int) []string { return text.Wrap(s, width) }
