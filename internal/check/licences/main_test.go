package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root = "../../.."
	page = root + "/docs/internals/licences.txt"
)

var update = flag.Bool("update", false, "write the list anew")

// allowed are the licences that Apache-2.0 can be combined with in one program.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense"}

// TestLicences compares the list with the modules, each of which has an allowed licence.
func TestLicences(t *testing.T) {
	modules, err := linked(root)
	if err != nil {
		t.Fatalf("cannot list the modules: %v", err)
	}
	if len(modules) < 50 {
		t.Fatalf("only %d modules", len(modules))
	}

	for _, m := range modules {
		found, err := m.licences()
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Errorf("%s: no known licence in %s", m.Path, m.Dir)
		}
		for _, l := range found {
			if !slices.Contains(allowed, l) {
				t.Errorf("%s: its licence, %s, is not among %s", m.Path, l, allowed)
			}
		}
	}

	var want bytes.Buffer
	if err := table(&want, modules); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(have)); diff != "" {
		t.Errorf("-update writes the list anew:\n%s", diff)
	}
}

// forTests lists modules that only tests need, each with the third-party packages that import it in ordinary
// files, so that it is linked into the program. None of these modules registers flags or does anything at
// initialization.
var forTests = map[string][]string{
	// tsdb has helpers for others' tests in its ordinary files, testutil.go.
	"github.com/stretchr/testify/": {
		"github.com/prometheus/prometheus/tsdb", "github.com/prometheus/prometheus/tsdb/tsdbutil", "github.com/prometheus/prometheus/util/testutil",
	},
	// hclwrite prints syntax trees with it.
	"github.com/google/go-cmp/": {"github.com/hashicorp/hcl/v2/hclwrite", "github.com/prometheus/prometheus/util/testutil"},

	"github.com/cockroachdb/datadriven": nil, "github.com/rogpeppe/go-internal/testscript": nil, "pgregory.net/rapid": nil,
}

// importsOf lists the program's packages and what they import, as "package import".
func importsOf(t *testing.T) []string {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}\n{{end}}", "./cmd/plimsoll")
	list.Dir, list.Env = root, append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("cannot list the packages: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestTestModules finds packages that import a test-only module into the program and are not listed in
// forTests.
func TestTestModules(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range importsOf(t) {
		from, to, _ := strings.Cut(line, " ")
		for prefix, known := range forTests {
			if !strings.HasPrefix(to, prefix) || strings.HasPrefix(from, prefix) {
				continue
			}
			seen[prefix+from] = true
			if !slices.Contains(known, from) {
				t.Errorf("%s imports %s, which is for tests", from, to)
			}
		}
	}

	for prefix, known := range forTests {
		for _, from := range known {
			if !seen[prefix+from] {
				t.Errorf("%s no longer imports %s*: remove it from the list", from, prefix)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string][]string{
		"Permission is hereby  granted,\nfree of charge, to any person":                                  {"MIT"},
		"Redistribution and use in source and binary forms":                                              {"BSD-2-Clause"},
		"Redistribution and use in source and binary forms ... Neither the name of the copyright holder": {"BSD-3-Clause"},
		"Mozilla Public License, version 2.0 ... GNU General Public License":                             {"MPL-2.0"},
		"GNU General Public License":                                                                     {"GNU"},
		"Apache License\n Version 2.0, January 2004 ... Permission is hereby granted, free of charge":    {"Apache-2.0", "MIT"},
		"All rights reserved": nil,
	} {
		if got := names(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
