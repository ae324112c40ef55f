package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/base/yamltree"
)

// A preference is a flag's value that applies to every command that has the flag, unless it is given.
type preference struct {
	flag, variable string
	of             func(f *settingsFile) string
}

// settingsFile is the content of the settings' file.
type settingsFile struct {
	Output string `yaml:"output"`
	Color  string `yaml:"color"`
	Region string `yaml:"region"`
}

var settings = []preference{
	{"output", "PLIMSOLL_OUTPUT", func(f *settingsFile) string { return f.Output }},
	{"color", "PLIMSOLL_COLOR", func(f *settingsFile) string { return f.Color }},
	{"region", "PLIMSOLL_REGION", func(f *settingsFile) string { return f.Region }},
}

// settingsVariable names the settings' file.
const settingsVariable = "PLIMSOLL_CONFIG"

// settingsPath is where settings are read from: $PLIMSOLL_CONFIG, or a file in the user's
// configuration folder
// (XDG Base Directory Specification). It is "" if there is neither.
func (a *app) settingsPath() string {
	if path := a.getenv(settingsVariable); path != "" {
		return path
	}
	if dir := a.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) { // relative ones are to be ignored
		return filepath.Join(dir, "plimsoll", "config.yaml")
	}
	if home := a.getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "plimsoll", "config.yaml")
	}
	return ""
}

// readSettings reads the settings' file. A file that does not exist is empty, unless the environment
// names it. A service's HOME is often another user's: a file there that cannot be read does not stop it.
func (a *app) readSettings(path string) (f settingsFile, found bool, err error) {
	if path == "" {
		return f, false, nil
	}

	text, err := readShort(path)
	switch unnamed := a.getenv(settingsVariable) == ""; {
	case errors.Is(err, fs.ErrNotExist) && unnamed:
		return f, false, nil
	case err != nil && unnamed:
		fmt.Fprintf(a.stderr, "plimsoll: warning: no settings are used: %s\n", printable(err.Error()))
		return f, false, nil
	case err != nil:
		return f, false, usagef("correct "+settingsVariable+", or remove it", "settings: %w", err)
	}

	root, err := yamltree.Parse(text, "settings file", "")
	if err != nil {
		return f, false, usagef("it has lines such as output: json", "settings: %s: %w", path, err)
	}

	var d yamltree.Decoder
	d.Decode(root, reflect.ValueOf(&f).Elem(), "")
	if len(d.Problems) > 0 {
		p := d.Problems[0]
		return f, false, usagef("it may have output, color and region", "settings: %s:%d: %s: %s", path, p.At.Line,
			p.Field, p.Text)
	}

	return f, true, nil
}

// readShort reads a regular file, no more of it than [yamltree.Parse] accepts.
func readShort(path string) ([]byte, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yamltree.BytesMax+1))
}

// applySettings applies the settings that no flag overrides: first those of the environment, then those
// of the file. Words that this command does not have are for other commands.
func (a *app) applySettings(cmd *cobra.Command) error {
	path := a.settingsPath()
	file, found, err := a.readSettings(path)
	if err != nil {
		return err
	}

	if v, err := cmd.Flags().GetBool("verbose"); found && err == nil && v {
		fmt.Fprintf(a.stderr, "plimsoll: settings are from %s\n", printable(path))
	}

	for _, s := range settings {
		value, from := s.of(&file), path
		if v := a.getenv(s.variable); v != "" {
			value, from = v, s.variable
		}
		if value == "" {
			continue
		}
		if !acceptedAnywhere(cmd.Root(), s.flag, value) {
			return usagef("a command's --help lists the words of --"+s.flag, "settings: %s: %s %q is not one of any command",
				from, s.flag, value)
		}

		f := cmd.Flags().Lookup(s.flag)
		if f == nil || f.Changed {
			continue
		}
		// Set only: a setting does not count as given, so it conflicts with no other flag.
		_ = f.Value.Set(value)
	}

	return nil
}

// acceptedAnywhere reports whether a flag of some command accepts a value. Only the words of choices
// are known.
func acceptedAnywhere(root *cobra.Command, flag, value string) bool {
	for _, c := range documented(root) {
		f := c.Flags().Lookup(flag)
		if f == nil {
			continue
		}
		words, ok := f.Value.(*choice)
		if !ok || words.accepts(value) {
			return true
		}
	}
	return false
}
