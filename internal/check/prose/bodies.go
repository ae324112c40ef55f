package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A body is the lines of function bodies, without the lines of their braces, and which of them are
// blank or only a comment.
type body struct {
	lines, blank, comments int
}

func (b *body) add(c body) {
	b.lines += c.lines
	b.blank += c.blank
	b.comments += c.comments
}

// bodies counts the function bodies of a file's text. A generated file has none to count.
func bodies(path string, src []byte) (body, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return body{}, err
	}

	lines := bytes.Split(src, []byte("\n"))
	var out body
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}

		// Lines count from 1, so the line after the opening brace has the brace's number as its
		// index.
		first, last := fset.Position(f.Body.Lbrace).Line, fset.Position(f.Body.Rbrace).Line-1
		for n := first; n < last; n++ {
			out.lines++
			switch line := bytes.TrimSpace(lines[n]); {
			case len(line) == 0:
				out.blank++
			case bytes.HasPrefix(line, []byte("//")):
				out.comments++
			}
		}
	}

	return out, nil
}

// wing is the folder whose files are counted together: an engine's folder, or a folder below internal/.
func wing(path string) string {
	parts := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
	switch {
	case parts[0] != "internal":
		return parts[0]
	case len(parts) > 2 && parts[1] == "engine":
		return strings.Join(parts[:3], "/")
	default:
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
}

// count prints, for each wing, how many whole-line comments 1,000 lines of function bodies have,
// and what share of the lines is blank. Tests are not counted: a test's steps are named by its
// messages.
func count(files []string, w io.Writer) error {
	wings := map[string]*body{"all": {}}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}

		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		found, err := bodies(path, src)
		if err != nil {
			return err
		}

		name := wing(path)
		if wings[name] == nil {
			wings[name] = &body{}
		}
		wings[name].add(found)
		wings["all"].add(found)
	}

	names := make([]string, 0, len(wings))
	for name := range wings {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)

	for _, name := range names {
		b := wings[name]
		lines := float64(max(b.lines, 1))
		if _, err := fmt.Fprintf(w, "%-28s %6d lines  %5.1f comments per 1,000  %4.1f %% blank\n",
			name, b.lines, 1000*float64(b.comments)/lines, 100*float64(b.blank)/lines); err != nil {
			return err
		}
	}

	return nil
}
