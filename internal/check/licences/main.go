// Command licences lists the modules that the program is linked with, and their licences:
//
//	go run ./internal/check/licences        # docs/internals/licences.txt
//	go run ./internal/check/licences texts  # what the licences require to be distributed with the program
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	modules, err := linked(".")
	if err == nil {
		if slices.Contains(os.Args[1:], "texts") {
			err = texts(os.Stdout, modules)
		} else {
			err = table(os.Stdout, modules)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// linked returns the modules of the program for all systems that a release is built for, by path.
func linked(root string) ([]module, error) {
	all := map[string]module{}
	for _, system := range []string{"linux", "darwin"} {
		list := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/plimsoll") //nolint:noctx // it ends
		list.Dir, list.Env, list.Stderr = root, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}

		packages := json.NewDecoder(bytes.NewReader(out))
		for {
			var p struct{ Module *module }
			err := packages.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("go list: %w", err)
			}

			// A replaced module is a folder of this repository.
			if m := p.Module; m != nil && !m.Main && m.Replace == nil {
				all[m.Path] = *m
			}
		}
	}

	byPath := func(a, b module) int { return strings.Compare(a.Path, b.Path) }
	return slices.SortedFunc(maps.Values(all), byPath), nil
}

// files returns the names of a module's licences and notices.
func (m module) files() ([]string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}

	var names []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		for _, begin := range []string{"LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE"} {
			if e.Type().IsRegular() && strings.HasPrefix(name, begin) {
				names = append(names, e.Name())
				break
			}
		}
	}

	return names, nil
}

// phrases are texts that occur in only one licence, in lower case and with single spaces.
var phrases = []struct{ name, phrase string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"Apache-2.0", "apache license, version 2.0"},
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"Unlicense", "this is free and unencumbered software"},
	{"GNU", "gnu general public license"},
	{"GNU", "gnu lesser general public license"},
	{"GNU", "gnu affero general public license"},
}

// names returns the licences that a text contains.
func names(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	found := map[string]bool{}
	for _, p := range phrases {
		// The MPL names the GNU licences as those that it is compatible with.
		if strings.Contains(text, p.phrase) && !(p.name == "GNU" && found["MPL-2.0"]) {
			found[p.name] = true
		}
	}

	if strings.Contains(text, "redistribution and use in source and binary forms") {
		found["BSD-2-Clause"] = !strings.Contains(text, "neither the name")
		found["BSD-3-Clause"] = !found["BSD-2-Clause"]
	}

	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(found))
}

func (m module) licences() ([]string, error) {
	files, err := m.files()
	if err != nil {
		return nil, err
	}

	found := map[string]bool{}
	for _, f := range files {
		if strings.HasPrefix(strings.ToUpper(f), "NOTICE") {
			continue // it names others' licences as well
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, f))
		if err != nil {
			return nil, err
		}
		for _, n := range names(string(text)) {
			found[n] = true
		}
	}

	return slices.Sorted(maps.Keys(found)), nil
}

func table(w io.Writer, modules []module) error {
	fmt.Fprint(w, "The modules that the program is linked with, on Linux and macOS, and their licences. A test\n"+
		"(go test ./internal/check/licences) compares the list with the code; -update writes it.\n\n")
	for _, m := range modules {
		found, err := m.licences()
		if err != nil {
			return err
		}
		text := strings.Join(found, " AND ")
		if text == "" {
			text = "unknown"
		}
		fmt.Fprintf(w, "%s %s %s\n", m.Path, m.Version, text)
	}
	return nil
}

func texts(w io.Writer, modules []module) error {
	for _, m := range modules {
		files, err := m.files()
		if err != nil {
			return err
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(m.Dir, f))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "=== %s %s: %s\n\n%s\n\n", m.Path, m.Version, f, bytes.TrimSpace(text)); err != nil {
				return err
			}
		}
	}

	return nil
}
