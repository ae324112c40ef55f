package yamltree_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
)

const like = "disks.data.iops=16000"

// A machine has a field of every supported kind.
type machine struct {
	Place `yaml:",inline"`
	Name  string                 `yaml:"name"`
	Cores int                    `yaml:"cores,omitempty"`
	Seed  uint64                 `yaml:"seed,omitempty"`
	Load  float64                `yaml:"load,omitempty"`
	Local bool                   `yaml:"local,omitempty"`
	Tags  []string               `yaml:"tags,omitempty"`
	Disks yamltree.Keyed[*order] `yaml:"disks,omitempty"`
	Spare string                 `yaml:"-"`
}

// A Place has its keys in the mapping of a machine.
type Place struct {
	Zone string `yaml:"zone,omitempty"`
}

type order struct {
	Type string     `yaml:"type"`
	Size units.Size `yaml:"size,omitempty"`
	IOPS int        `yaml:"iops,omitempty"`
}

// TestFiles runs the commands in testdata: read shows the tree of a text with positions, put the
// tree after assignments, and decode the values and the YAML written from them. If the text is
// wrong, each shows the problems instead.
func TestFiles(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			// A file of these tests cannot contain trailing blanks, tabs or bytes that are not
			// text.
			text := strings.NewReplacer("<tab>", "\t", "<ff>", "\xff", "<nul>", "\x00").Replace(d.Input)
			var sets []string
			if d.Cmd == "put" {
				var tail string
				text, tail, _ = strings.Cut(text, "\nput\n")
				sets = strings.Split(tail, "\n")
			}

			src := yamltree.NewSource("f.yaml", []byte(text))
			root, err := yamltree.Parse([]byte(text), "machine", "")
			for _, set := range sets {
				if err == nil {
					err = put(root, set)
				}
			}

			if err != nil {
				return refused(t, src, err)
			}
			if d.Cmd != "decode" {
				return shown(root, 0)
			}

			return decoded(t, src, root)
		})
	})
}

// put applies an assignment to a tree.
func put(root *yamltree.Node, set string) error {
	path, value, _ := strings.Cut(set, "=")
	n, err := yamltree.Assigned(path, value, "machine", set, like)
	if err != nil {
		return err
	}
	return root.Put(path, n, set, like)
}

// refused returns the message for an unreadable text.
func refused(t *testing.T, src *yamltree.Source, err error) string {
	t.Helper()
	var u *yamltree.Unreadable
	if !errors.As(err, &u) {
		t.Fatalf("an error without a place: %v", err)
	}
	return lines(src.Place(inputerror.Problem{Text: u.Text}, u.At).String())
}

// shown returns a tree with its positions, one node per line.
func shown(n *yamltree.Node, depth int) string {
	var b strings.Builder
	indent := strings.Repeat("  ", depth)
	place := func(at yamltree.Position) string {
		if at.Set != "" {
			return fmt.Sprintf("--set %s, %d", at.Set, at.Column)
		}
		return fmt.Sprintf("%d:%d", at.Line, at.Column)
	}

	switch n.Kind {
	case yamltree.Mapping:
		for _, e := range n.Entries {
			fmt.Fprintf(&b, "%s%q (%s)\n%s", indent, e.Key, place(e.At), shown(e.Value, depth+1))
		}
	case yamltree.Sequence:
		for i, item := range n.Items {
			fmt.Fprintf(&b, "%s[%d]\n%s", indent, i, shown(item, depth+1))
		}
	case yamltree.Scalar:
		fmt.Fprintf(&b, "%s= %q (%s)\n", indent, n.Text, place(n.At))
	default:
		fmt.Fprintf(&b, "%s%s (%s)\n", indent, n.Kind, place(n.At))
	}

	return b.String()
}

// decoded returns the machine of a tree, or all problems with it.
func decoded(t *testing.T, src *yamltree.Source, root *yamltree.Node) string {
	t.Helper()
	var m machine
	var d yamltree.Decoder
	d.Decode(root, reflect.ValueOf(&m).Elem(), "")

	if len(d.Problems) > 0 {
		var found yamltree.Problems
		for _, p := range d.Problems {
			found = append(found, src.Place(p.Problem, p.At))
		}
		return lines(found.Error())
	}

	text, err := yamltree.Encode(m).YAML(false)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// lines ends a text with a line feed, and removes trailing blanks.
func lines(text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.NewReplacer("\t", "<tab>", "\xff", "<ff>").Replace(out.String())
}

// Texts are bounded, so that a small one cannot become a huge tree.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"bytes":       {strings.Repeat("#", yamltree.BytesMax+1), "exceeds the limit of 64 KiB for a machine"},
		"flow":        {"a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), "nested deeper than 32"},
		"items":       {strings.Repeat("- ", 40) + "a", "nested deeper than 32"},
		"blocks":      {nested(40), "nested deeper than 32"},
		"not so deep": {nested(20), ""},
	} {
		_, err := yamltree.Parse([]byte(c.text), "machine", "")
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			continue
		}
		if other := yamltree.Check("f.yaml", []byte(c.text)); (other == nil) != slices.Contains([]string{"bytes", "blocks"}, name) {
			t.Errorf("%s: checked alone: %v", name, other)
		}
	}

	root, err := yamltree.Parse([]byte("["+strings.Repeat("a, ", 10_001)+"]"), "list", "")
	if err != nil {
		t.Fatal(err)
	}

	var list []string
	var d yamltree.Decoder
	d.Decode(root, reflect.ValueOf(&list).Elem(), "tags")

	if len(d.Problems) != 1 || d.Problems[0].Text != "10001 items: want at most 10000" {
		t.Errorf("%+v", d.Problems)
	}

	many := make(yamltree.Problems, 30)
	if n := strings.Count(many.Error(), "\n"); n != 20 || !strings.HasSuffix(many.Error(), "and 10 more") {
		t.Errorf("%d lines of 30 problems: %q", n, many)
	}
}

// nested returns block mappings inside each other.
func nested(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

// A problem in a long line shows the part around its position.
func TestLongLine(t *testing.T) {
	text := "name: " + strings.Repeat("é", 300) + "\u0007"
	src := yamltree.NewSource("f.yaml", []byte("a: b\n"+strings.TrimSuffix(text, "\u0007")+"\r\n"+text))
	got := src.Place(inputerror.Problem{Text: "is long"}, yamltree.Position{Line: 2, Column: 200}).String()
	rows := strings.Split(got, "\n")
	if len(rows) != 3 || rows[0] != "f.yaml:2:200: is long" || len([]rune(rows[1])) != 118 || strings.Index(rows[2], "^") != 63 {
		t.Errorf("%q", rows)
	}
	if got := src.Place(inputerror.Problem{Text: "rings"}, yamltree.Position{Line: 3, Column: 7}).String(); got != "f.yaml:3:7: rings" {
		t.Errorf("a line that no terminal shows: %q", got)
	}
}

// Locate finds the position of a field, or of the innermost part that exists.
func TestLocate(t *testing.T) {
	root, err := yamltree.Parse([]byte("disks:\n  data: {iops: 5}\ntags: [a, {b: c}]\n"), "machine", "")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "1:1", "disks": "1:1", "disks.data": "2:3", "disks.data.iops": "2:16", "disks.data.size": "2:3", "disks.log.size": "1:1",
		"tags[0]": "3:8", "tags[1].b": "3:15", "tags[7]": "3:1", "tags[x]": "3:1", "cores": "1:1",
	} {
		if at := root.Locate(path); fmt.Sprintf("%d:%d", at.Line, at.Column) != want {
			t.Errorf("%s is at %d:%d, want %s", path, at.Line, at.Column, want)
		}
	}
}

// FuzzParse: any text is a tree or is refused at a position within it, and a tree that is written
// as YAML reads back as the same tree.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "a: b", "a: [1, {b: 'c d'}]\n", "- x\n- y: |\n    z\n", "a: &b c", "a:\n\t- b", "{", "a: 1\na: 2", "? a\n: b", "\xff", "a: 007\nb: 1e3\nc: ~\nd: 'true'\n",
		"a: !!binary x", "---\na: b\n---\nc", "'a\n\nb': \"\\u0041\\n\"", "a: >-\n  b\n  c\n", "<<: a", "a: 'null'", "a: ' b '\n", "[[[[]]]]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := yamltree.Parse([]byte(text), "machine", "")
		var u *yamltree.Unreadable
		if errors.As(err, &u) {
			if lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 2; u.At.Line < 1 || u.At.Line > lines || u.At.Column < 1 || u.Text == "" {
				t.Errorf("%+v of a text of %d lines", u, lines)
			}
			return
		}

		if err != nil {
			t.Fatalf("an error without a place: %v", err)
		}

		again := root.Clone()
		if shown(again, 0) != shown(root, 0) {
			t.Error("a clone is another tree")
		}

		var m machine
		var d yamltree.Decoder
		d.Decode(again, reflect.ValueOf(&m).Elem(), "")

		for _, p := range d.Problems {
			_ = yamltree.NewSource("f.yaml", []byte(text)).Place(p.Problem, p.At).String()
		}

		if len(d.Problems) > 0 {
			return
		}

		var back machine
		var e yamltree.Decoder
		e.Decode(yamltree.Encode(m), reflect.ValueOf(&back).Elem(), "")

		if len(e.Problems) > 0 || !reflect.DeepEqual(normal(m), normal(back)) {
			t.Errorf("%+v is written and read as %+v: %v", m, back, e.Problems)
		}
	})
}

// normal returns a machine whose empty lists are nil.
func normal(m machine) machine {
	if len(m.Tags) == 0 {
		m.Tags = nil
	}
	if len(m.Disks) == 0 {
		m.Disks = nil
	}
	return m
}
