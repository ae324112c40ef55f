package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/present/text"
)

// display is how text is shown.
type display struct {
	color    choice
	width    int
	ascii    bool
	asciiSet bool
	verbose  bool
}

// The bounds of a text's width.
const (
	widthMin     = 40
	widthMax     = 1000
	widthDefault = 80
	// widthComfortable is the widest default: longer lines are hard to read.
	widthComfortable = 110
)

func (d *display) AddFlags(cmd *cobra.Command) {
	d.color.value = "auto"
	addChoice(cmd, &d.color, "color", "", "colours: auto means on a terminal, unless NO_COLOR is set", "auto", "always", "never")
	cmd.Flags().IntVar(&d.width, "width", 0, "width of text in columns; 0: the terminal's width, at most "+strconv.Itoa(widthComfortable))
	cmd.Flags().BoolVar(&d.ascii, "ascii", false, "use only 7-bit characters (default: if the locale is not UTF-8)")
	cmd.Flags().BoolVarP(&d.verbose, "verbose", "v", false, "show every finding in full, with metric names")
	complete(cmd, "width")
}

func (d *display) Validate(cmd *cobra.Command) error {
	d.asciiSet = cmd.Flags().Changed("ascii")
	if d.width != 0 && (d.width < widthMin || d.width > widthMax) {
		return usagef("a terminal has 80 or more", "--width %d: want %d to %d columns", d.width, widthMin, widthMax)
	}
	return nil
}

// options fills in what the flags leave open from the environment.
func (d *display) options(a *app) text.Options {
	opt := text.Options{Width: d.width, Verbose: d.verbose, ASCII: d.ascii, Color: d.color.value == "always"}
	if d.color.value == "auto" {
		// https://no-color.org: set and not empty, whatever the value.
		opt.Color = a.stdout.terminal && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	}
	if !d.asciiSet {
		opt.ASCII = !a.unicode()
	}
	if opt.Width == 0 {
		opt.Width = widthDefault
		if n := a.columns(); n > 0 {
			opt.Width = min(max(n, widthMin), widthComfortable)
		}
	}
	return opt
}

// unicode reports whether the locale's character set is UTF-8, in the order that POSIX gives its
// variables.
func (a *app) unicode() bool {
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
