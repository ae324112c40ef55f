package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"strings"
)

// same reports whether the Go files that differ from a revision differ only in comments and blank
// lines. Deleted and new files differ.
func same(revision string, w io.Writer) error {
	names, err := git("diff", "--name-only", "-z", "--no-renames", revision, "--", "*.go")
	if err != nil {
		return err
	}

	var differ []string
	paths := strings.FieldsFunc(string(names), func(r rune) bool { return r == 0 })
	for _, path := range paths {
		before, err := git("show", revision+":"+path)
		if err != nil {
			differ = append(differ, path)
			continue
		}

		after, err := os.ReadFile(path)
		if err != nil {
			differ = append(differ, path)
			continue
		}

		if tokens(path, before) != tokens(path, after) {
			differ = append(differ, path)
		}
	}

	if len(differ) > 0 {
		return fmt.Errorf("the syntax tree changed in %s", strings.Join(differ, ", "))
	}

	_, err = fmt.Fprintf(w, "%d files changed, their syntax trees did not\n", len(paths))
	return err
}

func git(args ...string) ([]byte, error) {
	out, err := exec.Command("git", args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("git %s: %s", args[0], bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// tokens joins a file's tokens and directives, one a line. The parser sees nothing else, so files
// with the same tokens have the same syntax tree. Directives such as //go:build and //go:embed are
// comments to the scanner, but change the program.
func tokens(path string, src []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(src) {
		if text := bytes.TrimSpace(line); bytes.HasPrefix(text, []byte("//go:")) {
			out.Write(text)
			out.WriteByte('\n')
		}
	}

	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile(path, -1, len(src)), src, nil, 0)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return out.String()
		}

		// The text of an automatic semicolon depends on what ended the line.
		if tok == token.SEMICOLON {
			lit = ""
		}
		fmt.Fprintf(&out, "%s %q\n", tok, lit)
	}
}
