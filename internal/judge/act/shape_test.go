package act_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/testkit"
)

// An argv is a call of a provider's command line: its words without quotes.
type argv struct {
	where string
	words []string
}

// callsOf returns the calls of a program in all printed lines, in each place.
func callsOf(program string) (out []argv) {
	for _, e := range testkit.Pack().Engines() {
		for _, m := range remediesOf(e.Database) {
			for _, w := range act.Describe(testkit.Pack(), e.Database, m, nil).Ways {
				for _, line := range slices.Concat(w.Look, w.Do, w.Keep, w.Check, w.Undo) {
					for _, words := range callsIn(line, program) {
						out = append(out, argv{m.Name + " in " + w.Place, words})
					}
				}
			}
		}
	}
	return out
}

// asked matches a variable with the prompt for its value.
var asked = regexp.MustCompile(`\$\{([A-Z_]+):\?[^}]*\}`)

// callsIn returns the calls of a program in a line. A word ends at a space outside quotes, and a call
// ends where its command does.
func callsIn(line, program string) (out [][]string) {
	line = asked.ReplaceAllString(line, "$$$1")
	for _, at := range regexp.MustCompile(`(^|[ (]) *`+program+` `).FindAllStringIndex(line, -1) {
		begin := at[1]
		var words []string
		word, quote, depth := "", byte(0), 0
		end := func() {
			if word != "" {
				words = append(words, word)
			}
			word = ""
		}

	call:
		for i := begin; i < len(line); i++ {
			c := line[i]
			switch {
			case quote == 0 && depth == 0 && strings.IndexByte(";|&)<>", c) >= 0:
				break call
			case quote == 0 && depth == 0 && c == ' ':
				end()
			case quote == 0 && (c == '\'' || c == '"'):
				quote = c
			case c == quote && depth == 0:
				quote = 0
			default:
				if c == '{' && i > 0 && line[i-1] == '$' || c == '(' && i > 0 && line[i-1] == '$' {
					depth++
				}
				if depth > 0 && (c == '}' || c == ')') {
					depth--
				}
				word += string(c)
			}
		}
		end()
		out = append(out, words)
	}
	return out
}

// A service is the part of a botocore model that the checks use.
type service struct {
	Operations map[string]struct{ Input, Output struct{ Shape string } }
	Shapes     map[string]shape
}

type shape struct {
	Type     string
	Members  map[string]struct{ Shape string }
	Required []string
	Member   struct{ Shape string }
	Enum     []string
}

// serviceModel reads the API description that AWS' own clients use.
func serviceModel(t *testing.T, name string) *service {
	t.Helper()
	files, err := filepath.Glob("../../../bin/moto/lib/python*/site-packages/botocore/data/" + name + "/service-2.json.gz")
	if err != nil || len(files) == 0 {
		t.Skip("no API description of AWS: make moto")
	}

	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}

	var s service
	if err := json.NewDecoder(z).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// flat strips the notation from the name of an option or a member: db-instance-identifier and
// DBInstanceIdentifier give the same.
func flat(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }

// check returns what the API would reject in a call: an unknown operation or parameter, a missing
// required one, a list entry with unknown keys, or a query for a member that the response does not
// have.
func (s *service) check(words []string) error {
	op := ""
	for name := range s.Operations {
		if flat(name) == flat(words[0]) {
			op = name
		}
	}

	if op == "" {
		return fmt.Errorf("there is no operation %s", words[0])
	}

	input, given := s.Shapes[s.Operations[op].Input.Shape], map[string]bool{}
	for i := 1; i < len(words); i++ {
		option, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			return fmt.Errorf("%q is not an option", words[i])
		}

		value := ""
		for i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value += words[i] + "\n"
		}

		switch option {
		case "output":
			continue
		case "query":
			if err := s.query(s.Operations[op].Output.Shape, strings.TrimSpace(value)); err != nil {
				return err
			}
			continue
		}

		member := ""
		for name := range input.Members {
			if flat(name) == flat(option) {
				member = name
			}
		}

		if member == "" {
			return fmt.Errorf("%s has no parameter --%s", op, option)
		}

		given[member] = true
		if err := s.value(input.Members[member].Shape, strings.Fields(value)); err != nil {
			return fmt.Errorf("--%s: %w", option, err)
		}
	}

	for _, name := range input.Required {
		if !given[name] {
			return fmt.Errorf("%s needs %s", op, name)
		}
	}
	return nil
}

var figure = regexp.MustCompile(`^([0-9]+|\$.*)$`)

// value checks the values of one option.
func (s *service) value(name string, values []string) error {
	is := s.Shapes[name]
	switch is.Type {
	case "boolean":
		if len(values) > 0 {
			return fmt.Errorf("takes no value, got %q", values)
		}
		return nil
	case "integer", "long":
		if len(values) == 0 || !figure.MatchString(values[0]) {
			return fmt.Errorf("want a figure, got %q", values)
		}
		return nil
	}

	if len(values) == 0 {
		return fmt.Errorf("has no value")
	}

	entry := s.Shapes[is.Member.Shape]
	if is.Type != "list" || entry.Type != "structure" {
		if len(is.Enum) > 0 && !strings.HasPrefix(values[0], "$") && !slices.Contains(is.Enum, values[0]) {
			return fmt.Errorf("%q is none of %q", values[0], is.Enum)
		}
		return nil
	}

	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			key, text, _ := strings.Cut(part, "=")
			field, ok := entry.Members[key]
			if !ok {
				return fmt.Errorf("%s has no key %q", is.Member.Shape, key)
			}
			if enum := s.Shapes[field.Shape].Enum; len(enum) > 0 && !slices.Contains(enum, text) {
				return fmt.Errorf("%s=%s: want one of %q", key, text, enum)
			}
		}
	}
	return nil
}

var (
	index    = regexp.MustCompile(`^([A-Za-z]+)\[([^\]]*)\]\.?(.*)$`)
	names    = regexp.MustCompile(`[A-Za-z]+`)
	paths    = regexp.MustCompile(`[A-Za-z]+(\[0\]\.[A-Za-z]+)*`)
	literals = regexp.MustCompile(`'[^']*'`)
)

// query checks that a response has the members of a query such as Volumes[0].[Size,Iops].
func (s *service) query(output, query string) error {
	found := index.FindStringSubmatch(query)
	if found == nil {
		return fmt.Errorf("cannot read the query %s", query)
	}

	entry, err := s.entry(output, found[1])
	if err != nil {
		return err
	}

	conditions := names.FindAllString(literals.ReplaceAllString(found[2], ""), -1)
	for _, path := range append(conditions, paths.FindAllString(found[3], -1)...) {
		at := entry
		for {
			first, rest, nested := strings.Cut(path, "[0].")
			if !nested {
				break
			}
			if at, err = s.entry(at, first); err != nil {
				return err
			}
			path = rest
		}
		if _, ok := s.Shapes[at].Members[path]; !ok {
			return fmt.Errorf("%s has no member %s", at, path)
		}
	}
	return nil
}

// entry returns the shape of the entries of a list.
func (s *service) entry(of, list string) (string, error) {
	member, ok := s.Shapes[of].Members[list]
	if !ok {
		return "", fmt.Errorf("%s has no member %s", of, list)
	}
	return s.Shapes[member.Shape].Member.Shape, nil
}
