package docs_test

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A command is a line of a page that runs plimsoll.
type command struct {
	page string
	line int
	args []string
	// first is set if no other program starts the command, such as sudo.
	first bool
	// to is the file that its output is redirected to, if any.
	to string
}

var plimsoll = regexp.MustCompile(`(?:^|[ |&(])(?:plimsoll|go run \./cmd/plimsoll|bin/plimsoll) +(.*)$`)

// commandsOf returns the commands in the code blocks of a page.
func commandsOf(t *testing.T, page, text string) []command {
	t.Helper()
	var out []command
	lines := strings.Split(text, "\n")

	fenced := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}

		code := fenced || strings.HasPrefix(line, "    ")
		if !code || !plimsoll.MatchString(line) || strings.Contains(line, "plimsoll: ") {
			continue
		}

		first := i
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
		}

		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "kubectl ") {
			continue // in which plimsoll is a namespace
		}

		found := plimsoll.FindStringSubmatch(line)[1]
		bare := untilOther(found)
		if strings.Count(bare, "'")%2 != 0 || strings.Count(bare, `"`)%2 != 0 {
			continue // the command continues in a way that only a shell reads
		}

		to := ""
		if m := redirected.FindStringSubmatch(found[len(bare):]); m != nil {
			to = m[1]
		}

		out = append(out, command{page: page, line: first + 1, args: words(t, bare), to: to,
			first: strings.HasPrefix(text, "plimsoll ") || strings.HasPrefix(text, "bin/plimsoll ") ||
				strings.HasPrefix(text, "go run ")})
	}

	return out
}

// untilOther returns a command without what follows it in its line: a comment, a pipe, a redirection or
// another command.
func untilOther(line string) string {
	quote := rune(0)
	previous := ' '
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case previous == ' ' && strings.ContainsRune("#|>&;", r):
			return strings.TrimRight(line[:i], " ")
		}
		previous = r
	}

	return line
}

var redirected = regexp.MustCompile(`^ > ([\w./-]+)`)

// TestCommands runs the commands of all pages that need nothing but the repository, in a folder with the
// files that the pages mention. For the other commands, the page must say what they need. They are run with
// --help, which still rejects a wrong flag.
func TestCommands(t *testing.T) {
	verbs := map[string]bool{}
	for _, v := range verbsOf(t) {
		verbs[strings.Fields(v.Name)[0]] = true
	}

	box := newSandbox(t)
	all := pages(t)
	addRulePages(t, all)
	checked, ran := 0, 0

	// Pages repeat commands, and starting the program takes a tenth of a second.
	seen := map[string]bool{}
	for _, page := range slices.Sorted(maps.Keys(all)) {
		if page == "docs/commands.md" {
			continue
		}

		for _, c := range commandsOf(t, page, all[page]) {
			if len(c.args) == 0 || !verbs[c.args[0]] {
				continue // no command, such as a line of output
			}

			where := fmt.Sprintf("%s:%d: plimsoll %s", c.page, c.line, strings.Join(c.args, " "))
			needs := needsOf(c)
			stated := neededBy(sectionOf(all[page], c.line))
			for _, need := range needs {
				if !strings.Contains(stated, strings.ToLower(need)) {
					t.Errorf("%s: its section, or the page's beginning, must say that this needs %s", where, need)
				}
			}

			key := strings.Join(c.args, "\x00")
			if seen[key] {
				continue
			}
			seen[key] = true

			checked++
			filled := filledIn(c)
			if len(needs) == 0 && hasPlaceholder(filled) {
				t.Errorf("%s: name a value of its placeholders in fills", where)
			}

			if len(needs) == 0 && !ranElsewhere(c) && !testing.Short() {
				ran++
				if err := box.run(filled); err != nil {
					t.Errorf("%s: %v", where, err)
				}
				continue
			}

			args := slices.Clone(c.args)
			if i := slices.Index(args, "--"); i >= 0 {
				args = args[:i]
			}

			if out, err := output(t, append(args, "--help")...); err != nil {
				t.Errorf("%s: %v\n%s", where, err, firstLines(out))
			}
		}
	}

	if checked < 100 || !testing.Short() && ran < 40 {
		t.Errorf("checked %d commands and ran %d: are they found?", checked, ran)
	}

	t.Logf("checked %d commands, and ran %d of them", checked, ran)
}

// output runs the program in the repository's root and returns all that it prints.
func output(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(program(t), args...)
	c.Dir = root
	out, err := c.CombinedOutput()
	return string(out), err
}

func firstLines(s string) string {
	lines := strings.SplitN(s, "\n", 4)
	return strings.Join(lines[:min(3, len(lines))], "\n")
}

const proseColumns = 110

// TestProse limits the width of prose in pages. Tables, code, links and headings may be wider.
func TestProse(t *testing.T) {
	for page, text := range pages(t) {
		fenced := false
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			long := len([]rune(line)) > proseColumns
			if !long || fenced || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") ||
				strings.HasPrefix(line, "<!--") || strings.Contains(line, "](") {
				continue
			}
			t.Errorf("%s:%d has %d columns, at most %d: wrap it", page, i+1, len([]rune(line)), proseColumns)
		}
	}
}

const (
	guideLinesMax = 150
	totalBytesMax = 200 << 10
)

// reference are pages whose tables are as long as the lists in them.
var reference = []string{"models.md", "volumes.md"}

// TestSizes keeps the documents short enough to read.
func TestSizes(t *testing.T) {
	total := 0
	for page, text := range pages(t) {
		total += len(text)
		lines := strings.Count(text, "\n")
		guide := strings.HasPrefix(page, "docs/") && filepath.ToSlash(filepath.Dir(page)) != "docs/internals"
		if guide && lines > guideLinesMax && !slices.Contains(reference, filepath.Base(page)) {
			t.Errorf("%s has %d lines, at most %d", page, lines, guideLinesMax)
		}
	}
	if total > totalBytesMax {
		t.Errorf("the documents have %d bytes, at most %d", total, totalBytesMax)
	}
	t.Logf("the documents have %d bytes", total)
}

// place is the path of a package or a file of this repository in a page.
var place = regexp.MustCompile("`((?:internal|cmd|examples|deploy|docs|tools)/[A-Za-z0-9_./-]*[A-Za-z0-9])`|(?:go (?:test|doc)[^\n`]* )\\./((?:internal|cmd|examples|deploy|docs)[A-Za-z0-9_/-]*)")

// TestPlaces: folders and files that the pages name exist.
func TestPlaces(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			path := m[1] + m[2]
			if strings.HasPrefix(path, "cmd/plimsoll.") {
				continue // a constant
			}
			if strings.Contains(path, "NAME") || strings.Contains(path, "...") {
				continue
			}
			if matches, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path))); err != nil || len(matches) == 0 {
				t.Errorf("%s names %s, which is not there", page, path)
			}
		}
	}
}
