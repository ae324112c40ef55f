// Prose extracts the sentences of this repository's Go code, so that the tools and people that check the
// documents can check them too.
//
//	go run ./internal/check/prose mirror build/prose   # for Vale: one text file per Go file
//	go run ./internal/check/prose sample 200 7         # 200 random sentences by seed 7, to read aloud
//	go run ./internal/check/prose vocabulary           # Vale's rule from the table in CONTRIBUTING.md
//	go run ./internal/check/prose count                # comments and blank lines in function bodies
//	go run ./internal/check/prose same main            # whether only comments differ from a revision
//
// A sentence is a string literal of at least four words, or a comment. In test files only comments count: the
// strings are inputs and expectations.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

const usage = "want mirror FOLDER, sample COUNT SEED, vocabulary, count, or same REVISION"

func run(args []string, w io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}

	files, err := goFiles(".")
	if err != nil {
		return err
	}

	switch {
	case args[0] == "mirror" && len(args) == 2:
		return mirror(files, args[1])
	case args[0] == "sample" && len(args) == 3:
		count, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("sample: %w", err)
		}
		seed, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return fmt.Errorf("sample: %w", err)
		}
		return sample(files, count, seed, w)
	case args[0] == "vocabulary" && len(args) == 1:
		return vocabulary("CONTRIBUTING.md", "tools/vale/styles/Plimsoll/Dialect.yml")
	case args[0] == "count" && len(args) == 1:
		return count(files, w)
	case args[0] == "same" && len(args) == 2:
		return same(args[1], w)
	}

	return errors.New(usage)
}

// goFiles lists the Go files below a folder, without generated code, testdata and builds.
func goFiles(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "build" || name == "bin" || name == "dist" ||
				name != "." && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}

		if strings.HasSuffix(path, ".go") {
			out = append(out, path)
		}

		return nil
	})

	return out, err
}

// A sentence is a text of the code with the line on which it begins.
type sentence struct {
	path string
	line int
	text string
}

// read extracts the sentences of a Go file; generated files have none.
func read(path string) ([]sentence, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}

	if ast.IsGenerated(file) {
		return nil, nil
	}

	out := literals(path, src, strings.HasSuffix(path, "_test.go"))
	for _, group := range file.Comments {
		if text := strings.TrimSpace(group.Text()); text != "" {
			out = append(out, sentence{path, fset.Position(group.Pos()).Line, text})
		}
	}

	slices.SortStableFunc(out, func(a, b sentence) int { return a.line - b.line })
	return out, nil
}

// wordsMin is the minimum number of words for a string literal to count as a sentence.
const wordsMin = 4

// verb matches the parts that fmt replaces, and field those that a template replaces: neither is a
// word.
var (
	verb  = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[\d.*]*[a-zA-Z]`)
	field = regexp.MustCompile(`\{\{[^}]*\}\}`)
	word  = regexp.MustCompile(`[A-Za-z][a-z'’-]+`)
	code  = regexp.MustCompile(`\b(SELECT|FROM|WHERE)\b|\$[A-Za-z({]|&&|\|\||\w\(|\w_\w|=~|\w=`)
)

// literals extracts the string literals that are sentences. Adjacent literals joined with + are one.
func literals(path string, src []byte, test bool) []sentence {
	if test {
		return nil
	}

	fset := token.NewFileSet()
	file := fset.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)

	var out []sentence
	joined := false
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}

		if tok != token.STRING {
			joined = joined && tok == token.ADD
			continue
		}

		// Import paths have no space, and struct tags are not prose.
		text, err := strconv.Unquote(lit)
		if err != nil || !strings.Contains(text, " ") && !joined || strings.Contains(text, `:"`) {
			continue
		}

		if joined {
			out[len(out)-1].text += text
		} else {
			out = append(out, sentence{path, file.Line(pos), text})
		}

		joined = true
	}

	for i := range out {
		out[i].text = field.ReplaceAllString(out[i].text, "…")
	}

	return slices.DeleteFunc(out, func(s sentence) bool {
		text := verb.ReplaceAllString(s.text, "")
		return len(word.FindAllString(text, -1)) < wordsMin || code.MatchString(text)
	})
}

// mirror writes a text file for each Go file, with each sentence on the line that it has in the
// code, so that a place in the mirror is the place in the code.
func mirror(files []string, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}

	for _, path := range files {
		// A file without sentences needs no mirror.
		found, err := read(path)
		if err != nil {
			return err
		}

		if len(found) == 0 {
			continue
		}

		out := filepath.Join(dir, path+".txt")
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}

		if err := os.WriteFile(out, []byte(placed(found)), 0o644); err != nil {
			return err
		}
	}

	return nil
}

// placed joins sentences to a text that has each one on its own line.
func placed(found []sentence) string {
	var b strings.Builder
	line := 1
	for _, s := range found {
		for ; line < s.line; line++ {
			b.WriteByte('\n')
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte(' ')
		}
		text := strings.TrimRight(s.text, "\n")
		b.WriteString(text)
		line += strings.Count(text, "\n")
	}

	b.WriteByte('\n')
	return b.String()
}

// sample prints count sentences drawn by seed, each with its place.
func sample(files []string, count int, seed uint64, w io.Writer) error {
	var all []sentence
	for _, path := range files {
		found, err := read(path)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}

	// PCG with a fixed stream: the seed alone determines the sample.
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(count, len(all))]
	slices.SortFunc(all, func(a, b sentence) int {
		return cmp.Or(strings.Compare(a.path, b.path), a.line-b.line)
	})

	for _, s := range all {
		if _, err := fmt.Fprintf(w, "%s:%d: %s\n", s.path, s.line,
			strings.Join(strings.Fields(s.text), " ")); err != nil {
			return err
		}
	}

	return nil
}

// avoided is a row of CONTRIBUTING.md's table of words: what to avoid, and what to write instead.
var avoided = regexp.MustCompile(`(?m)^\| ` + "`([^`]+)`" + ` \| ([^|]+) \|$`)

// vocabulary writes Vale's rule from the rows of a document's table of words.
func vocabulary(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}

	_, section, _ := strings.Cut(string(text), "\n## Words to avoid\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := avoided.FindAllStringSubmatch(section, -1)
	if len(rows) == 0 {
		return fmt.Errorf("%s: no rows of words to avoid", from)
	}

	var b strings.Builder
	// A substitution rule: Vale reports the left side and suggests the right one.
	b.WriteString("# Generated from " + from +
		" by make generate.\nextends: substitution\nmessage: \"'%s' instead of '%s'\"\n" +
		"level: error\nignorecase: true\nswap:\n")

	for _, row := range rows {
		fmt.Fprintf(&b, "  %s: %s\n", strconv.Quote(strings.ReplaceAll(row[1], `\|`, "|")),
			strconv.Quote(strings.TrimSpace(row[2])))
	}

	return os.WriteFile(to, []byte(b.String()), 0o644)
}
