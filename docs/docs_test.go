package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documents")

// root is the repository's root, relative to this package's folder.
const root = ".."

// pages returns the Markdown files that describe the program, with slashes, relative to root. Frozen
// research and the rules' pages are left out: they have separate tests.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		name = filepath.ToSlash(name)

		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "build", "dist", "testdata", "docs/rules", "docs/research"}, name) ||
				d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}

		if filepath.Ext(name) != ".md" {
			return nil
		}

		text, err := os.ReadFile(path)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(out) < 20 {
		t.Fatalf("found %d pages: is %q the repository's root?", len(out), root)
	}

	return out
}

// program builds plimsoll once for all tests and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// scratch holds the program; TestMain removes it.
var scratch string

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "plimsoll")
	c := exec.Command("go", "build", "-o", path, "./cmd/plimsoll")
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "plimsoll-docs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// run returns the program's output in the repository's root. Exit code 3 is a valid result too: a
// finding, or an objective that is not met.
func run(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(program(t), args...)
	c.Dir = root
	c.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8", "NO_COLOR=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		t.Fatalf("plimsoll %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// A sample is output of the program within a page: a comment with the arguments and, after a bar, which
// parts of the output are shown, and a fenced block with these parts.
//
//	<!-- sample: diagnose FOLDER --width 80 | /^from/../^to/ /^from/../^to/ -->
//
// Each part starts at the first line from the end of the last part on that matches the first expression, and
// ends before the next line that matches the second.
var sample = regexp.MustCompile("(?m)^<!-- sample: (.*) -->\n\n```\n((?s:.*?))```$")

var part = regexp.MustCompile(`/([^/]*)/\.\./([^/]*)/`)

// TestSamples compares the samples of all pages with what the program prints.
func TestSamples(t *testing.T) {
	for name, text := range pages(t) {
		got := sample.ReplaceAllStringFunc(text, func(block string) string {
			m := sample.FindStringSubmatch(block)
			command, parts, _ := strings.Cut(m[1], " | ")
			args := words(t, command)
			return "<!-- sample: " + m[1] + " -->\n\n```\n" + excerpt(t, run(t, args...), parts) + "```"
		})
		compare(t, name, text, got)
	}
}

// words splits a command line as a shell does, without any expansion.
func words(t *testing.T, line string) []string {
	t.Helper()
	var out []string
	var word strings.Builder
	inWord := false

	quote := rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ':
			if inWord {
				out = append(out, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}

	if quote != 0 {
		t.Fatalf("no end of the quote in %s", line)
	}

	if inWord {
		out = append(out, word.String())
	}

	return out
}

// excerpt returns the parts of the output that a sample shows, or all of it if none are given.
func excerpt(t *testing.T, out, parts string) string {
	t.Helper()
	if parts == "" {
		return out
	}

	lines := strings.SplitAfter(out, "\n")
	var b strings.Builder

	at := 0
	for i, m := range part.FindAllStringSubmatch(parts, -1) {
		from, to := regexp.MustCompile(m[1]), regexp.MustCompile(m[2])
		n := slices.IndexFunc(lines[at:], func(l string) bool { return from.MatchString(strings.TrimSuffix(l, "\n")) })
		if n < 0 {
			t.Fatalf("no line of the output matches %q any more:\n%s", m[1], out)
		}

		if i > 0 && n > 0 {
			b.WriteString("...\n")
		}

		b.WriteString(lines[at+n])
		for at += n + 1; at < len(lines) && !to.MatchString(strings.TrimSuffix(lines[at], "\n")); at++ {
			b.WriteString(lines[at])
		}
	}

	return strings.TrimRight(b.String(), "\n") + "\n"
}

// compare reports a page whose generated parts are stale, or writes them with -update.
func compare(t *testing.T, name, is, want string) {
	t.Helper()
	if is == want {
		return
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is stale (make generate writes it):\n%s", name, difference(is, want))
}

// difference returns the first lines in which two texts differ.
func difference(is, want string) string {
	a, b := strings.Split(is, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is  %q\nit must be %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, it must be %d", len(a), len(b))
}

// The README is a first page: one screen per question, and no more.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(pages(t)["README.md"], "\n"); n > 120 {
		t.Errorf("README.md has %d lines, at most 120", n)
	}
}

// A rule's page is read during a stall: it has one template, and its commands are on separate pages.
func TestRulePagesAreShort(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs", "rules", "*.md"))
	if err != nil || len(files) < 60 {
		t.Fatal(len(files), err)
	}

	for _, f := range files {
		if name := filepath.Base(f); name == "README.md" || name == "coverage.md" {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > 60 {
			t.Errorf("%s has %d lines, at most 60", filepath.Base(f), n)
		}
	}
}

// TestGenerated compares the lists in the pages with the program: its rules, its verbs and their JSON.
func TestGenerated(t *testing.T) {
	rules := rulesOf(t)
	verbs := verbsOf(t)

	index, err := os.ReadFile(filepath.Join(root, "docs", "rules", "README.md"))
	if err != nil {
		t.Fatal(err)
	}

	all := pages(t)
	all["docs/rules/README.md"] = string(index)

	for page, block := range map[string]string{
		"docs/rules/README.md": ruleIndex(rules),
		"docs/commands.md":     commandTable(verbs),
		"docs/json.md":         jsonTable(verbs),
	} {
		compare(t, page, all[page], between(t, page, all[page], block))
	}

	readme := regexp.MustCompile(`\[\d+ rules\]`).ReplaceAllString(all["README.md"], fmt.Sprintf("[%d rules]", len(rules)))
	compare(t, "README.md", all["README.md"], readme)
}

const generatedBegin, generatedEnd = "<!-- generated: make generate -->\n", "<!-- end of generated -->"

// between returns a page with the text between its marks replaced.
func between(t *testing.T, name, page, text string) string {
	t.Helper()
	before, rest, begun := strings.Cut(page, generatedBegin)
	_, after, ended := strings.Cut(rest, generatedEnd)
	if !begun || !ended {
		t.Fatalf("%s lacks the marks %q and %q", name, generatedBegin, generatedEnd)
	}
	return before + generatedBegin + "\n" + text + "\n" + generatedEnd + after
}

type rule struct {
	ID, Title, Kind, Docs string
}

func rulesOf(t *testing.T) []rule {
	t.Helper()
	var out []rule
	if err := json.Unmarshal([]byte(run(t, "rules", "list", "-o", "json")), &out); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out, func(a, b rule) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// ruleIndex has a table for each group of rules, which is the part of the id before the slash.
func ruleIndex(rules []rule) string {
	var b strings.Builder
	group := ""
	for _, r := range rules {
		if g, _, _ := strings.Cut(r.ID, "/"); g != group {
			if group != "" {
				b.WriteString("\n")
			}
			group = g
			fmt.Fprintf(&b, "## %s\n\n| rule | kind | reports |\n|---|---|---|\n", g)
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", r.ID, path.Base(r.Docs), r.Kind, r.Title)
	}
	return b.String()
}

// A verb is a command that does something, with what its help says about JSON.
type verb struct {
	Name, Short  string
	JSON, Schema bool
}

// verbsOf returns the verbs that have a manual page.
func verbsOf(t *testing.T) []verb {
	t.Helper()
	dir := t.TempDir()
	run(t, "man", "--out", dir)

	files, err := filepath.Glob(filepath.Join(dir, "plimsoll-*.1"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d manual pages: %v", len(files), err)
	}

	var out []verb
	for _, f := range files {
		page, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}

		stem := strings.TrimSuffix(filepath.Base(f), ".1")
		_, name, _ := strings.Cut(string(page), ".SH NAME\n")
		name, _, _ = strings.Cut(name, "\n")

		_, short, ok := strings.Cut(name, ` \- `)
		if !ok {
			t.Fatalf("%s has no name: %q", f, name)
		}

		v := verb{Name: strings.ReplaceAll(strings.TrimPrefix(stem, "plimsoll-"), "-", " "), Short: strings.ReplaceAll(strings.ReplaceAll(short, `\(aq`, "'"), `\`, "")}
		v.Name = strings.Replace(v.Name, "check perf", "check-perf", 1)
		help := run(t, append(strings.Fields(v.Name), "--help")...)
		if strings.Contains(help, "Available Commands:") || strings.HasPrefix(v.Name, "completion") {
			continue
		}

		v.JSON = regexp.MustCompile(`(?m)^ +-o, --output \S*json`).MatchString(help)
		v.Schema = strings.Contains(help, "JSON Schema of -o json")
		out = append(out, v)
	}

	return out
}

func commandTable(verbs []verb) string {
	var b strings.Builder
	b.WriteString("| `plimsoll` | does |\n|---|---|\n")
	for _, v := range verbs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, v.Short)
	}
	return b.String()
}

// jsonTable has a row for each way to get a schema, with the commands that it applies to.
func jsonTable(verbs []verb) string {
	const bySchema, withOutput, none = "`plimsoll COMMAND --schema`", "`plimsoll COMMAND --schema -o json`", "none: one log entry per line"
	rows := map[string][]string{}
	for _, v := range verbs {
		switch {
		case v.Name == "simulate": // --schema alone is that of its input
			rows[withOutput] = append(rows[withOutput], v.Name)
		case v.Schema:
			rows[bySchema] = append(rows[bySchema], v.Name)
		case v.JSON:
			rows[none] = append(rows[none], v.Name)
		}
	}

	var b strings.Builder
	b.WriteString("| schema of its output | command |\n|---|---|\n")
	for _, how := range []string{bySchema, withOutput, none} {
		fmt.Fprintf(&b, "| %s | `%s` |\n", how, strings.Join(rows[how], "`, `"))
	}
	return b.String()
}
