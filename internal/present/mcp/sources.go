package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Source is something that tools may read.
type Source struct {
	// Name is the name that clients see and use.
	Name string
	// Argument is the argument for the program's verbs: an address, a file or a folder.
	Argument string
}

// argument returns the verb's argument for a source name from a client: the name of a listed
// source, its base name if unique, or a file below a listed folder, "folder/file".
func (t *tools) argument(name string) (string, error) {
	for _, s := range t.opt.Sources {
		if s.Name == name {
			return s.Argument, nil
		}
	}

	based := t.based(name)
	switch {
	case len(based) == 1:
		return based[0].Argument, nil
	case len(based) > 1:
		return "", fmt.Errorf("source %q: %d sources have this name: use the full name, one of %s", name,
			len(based), t.names())
	}

	for _, s := range t.opt.Sources {
		below, ok := strings.CutPrefix(name, strings.TrimSuffix(s.Name, "/")+"/")
		if first, rest, cut := strings.Cut(name, "/"); !ok && cut && len(t.based(first)) == 1 &&
			t.based(first)[0] == s {
			below, ok = rest, true
		}

		if info, err := os.Stat(s.Argument); !ok || err != nil || !info.IsDir() {
			continue
		}

		// The name comes from a client: a Root keeps "..", and links, inside of the folder.
		root, err := os.OpenRoot(s.Argument)
		if err != nil {
			return "", fmt.Errorf("source %q: cannot read its folder", name)
		}

		_, err = root.Stat(filepath.FromSlash(below)) // does not follow links out of the folder
		_ = root.Close()
		if err != nil {
			return "", fmt.Errorf("source %q: no such file in the folder %q", name, s.Name)
		}

		return filepath.Join(s.Argument, filepath.FromSlash(below)), nil
	}

	return "", fmt.Errorf("no source %q: the sources are %s; to add more, restart plimsoll mcp with them",
		name, t.names())
}

// based returns the files and folders with the given base name.
func (t *tools) based(name string) []Source {
	var out []Source
	for _, s := range t.opt.Sources {
		if !strings.Contains(s.Name, "://") && filepath.Base(s.Name) == name {
			out = append(out, s)
		}
	}
	return out
}

func (t *tools) names() string {
	names := make([]string, len(t.opt.Sources))
	for i, s := range t.opt.Sources {
		names[i] = fmt.Sprintf("%q", s.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// arguments returns the arguments of several sources.
func (t *tools) arguments(names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, name := range names {
		arg, err := t.argument(name)
		if err != nil {
			return nil, err
		}
		out[i] = arg
	}
	return out, nil
}

// listed is how many files of a folder are listed.
const listed = 100

// list describes the sources, with the files of folders.
func (t *tools) list() string {
	var b strings.Builder
	for _, s := range t.opt.Sources {
		fmt.Fprintf(&b, "%s\n", s.Name)
		entries, err := os.ReadDir(s.Argument)
		if err != nil {
			continue // a file or an address
		}

		for i, e := range entries {
			if i == listed {
				fmt.Fprintf(&b, "  and %d more\n", len(entries)-listed)
				break
			}
			fmt.Fprintf(&b, "  %s/%s\n", strings.TrimSuffix(s.Name, "/"), e.Name())
		}
	}

	if b.Len() == 0 {
		return "There are no sources: pass them to plimsoll mcp when starting it. Simulating scenarios needs none.\n"
	}

	return b.String()
}
