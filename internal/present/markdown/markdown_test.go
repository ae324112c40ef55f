package markdown

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/document"
)

func write(t testing.TB, d *document.Document) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// example has every part, all with the given name.
func example(name string) *document.Document {
	return &document.Document{
		Kind: "Diagnosis", Verdict: "Writes of " + name + " stall.", Lead: []string{name, "Second."}, Program: "plimsoll 1.0.0",
		Facts:    []document.Fact{{Label: "Stalled", Value: "70.0 s", Note: "of 5m, " + name}},
		Timeline: nil,
		Sections: []document.Section{
			{ID: "timeline", Title: "Timeline", Parts: []document.Part{{Timeline: &document.Timeline{ToS: 4, From: "0", To: "4 s",
				Charts: []document.Chart{{Title: name, Unit: "seconds", StepS: 1, Series: []document.Series{{Values: []float64{1, 2, 3, 4}}}}}}}}},
			{ID: "why", Title: "Why", Aside: "not " + name, Parts: []document.Part{{Findings: []document.Finding{{Number: 1, Level: document.Critical, Word: "critical", Title: name, Subject: name,
				Weight: "in 94 % of the stall", Rule: "disk/iops-capped", Summary: name, Cause: name, When: []document.Cell{{Text: "15:00:00"}},
				Observations: []document.Observation{{Value: "3,003 IOPS", Text: name, When: document.Cell{Text: "15:00:00"}, Signal: name}, {Text: name, Whole: true}},
				Fixes:        []document.Fix{{Summary: name, Expect: name, Cost: name}}}}}}},
			{ID: "account", Title: "Where it went", Parts: []document.Part{{Shares: &document.Shares{Under: "1.0 %",
				Rows: []document.SharePart{{Name: name, Part: 0.6, Amount: "6 s", Note: name, Overlaps: true}, {Name: name, Minor: true}}}}}},
			{ID: "table", Title: name, Note: name, Parts: []document.Part{{Table: &document.Table{Caption: name, Columns: []document.Column{{Text: name}, {Text: "n", Number: true, Ref: "#e1"}, {Text: "empty"}},
				Rows: [][]document.Cell{{{Text: name, Note: name, Ref: "#e1"}, {Text: "1", Number: true}}, {{Text: name, Roles: "code long"}, {Text: name, Roles: "figure"}}}, Notes: []string{name}}}}},
			{ID: "gaps", Title: "Not measurable", Parts: []document.Part{{Gaps: []document.Gap{{Advice: name, Rules: []document.Unjudged{{Rule: "x/y"}, {Rule: name}}}}}}},
			{ID: "more", Title: "More", Parts: []document.Part{{Text: name}, {Quote: name}, {Commands: []string{"plimsoll " + name}}, {Files: []document.File{{Path: name, Lines: []string{name}}}}}},
			{ID: "queries", Title: "Queries", Parts: []document.Part{{Queries: []document.Query{{Name: name, Help: name, PromQL: []string{name}}}}}},
			{ID: "evidence", Title: "Evidence", Parts: []document.Part{{Evidence: []*document.Evidence{{Number: 1, Name: name, Text: name, Commands: []string{name}, Fields: []string{name}, PromQL: []string{name},
				Lines: []document.Cell{{Text: name}}}}}}},
			{ID: "page", Title: "Only of a page", Only: document.Page, Parts: []document.Part{{Text: "not here"}}},
			{ID: "nothing", Title: "Nothing", Parts: []document.Part{{Scenario: &document.Scenario{}}}},
		},
	}
}

func TestGolden(t *testing.T) { golden.Compare(t, "example.golden", write(t, example("nvme1n1"))) }

var parser = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()

// shape returns the blocks of a Markdown text, with the number of cells of each row and the HTML in it:
// everything except text.
func shape(source string) string {
	var b strings.Builder
	in := []byte(source)
	_ = ast.Walk(parser.Parse(text.NewReader(in)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}

		switch n := n.(type) {
		case *ast.Text, *ast.String, *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.RawHTML:
			if tag := string(n.Segments.Value(in)); tag != "<code>" && tag != "</code>" { // either form of code
				b.WriteString(tag + " ")
			}
			return ast.WalkContinue, nil
		case *ast.HTMLBlock:
			b.WriteString("html:" + tags(string(n.Lines().Value(in))) + " ")
		case *extast.TableRow, *extast.TableHeader:
			b.WriteString("row of ")
			for range n.ChildCount() {
				b.WriteString("| ")
			}
		}

		b.WriteString(n.Kind().String() + "\n")
		return ast.WalkContinue, nil
	})

	return b.String()
}

// tags returns the tags of a piece of HTML.
func tags(s string) string {
	var out []string
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(out, " ")
		case html.TextToken:
		default:
			out = append(out, z.Token().Data)
		}
	}
}

// Whatever names a recording uses, the Markdown has the same blocks, cells and tags: a name is text.
func TestNamesAreText(t *testing.T) {
	want := shape(write(t, example("nvme1n1")))
	for _, name := range []string{"a|b", `a\|b`, "`", "``` x", "a`|`b", "|", "\\", "<b>", "</details>", "<!--", "# x", "- x", "1. x", "2) y", "> x", "---", "===", "| - |", "[x](y)", "![x](y)", "*x*", "__x__", "~~x~~", "$x$", "a\n\n# b",
		"@everyone", "&lt;", "&#124;", "    x", "\t- x", "+ x", ": x", "<https://x.y>", "a\\", "**", "``", "`` ` ``", "</summary>", "[ ] x", "[^1]", "\u2028# x"} {
		if got := shape(write(t, example(name))); got != want {
			t.Errorf("something called %q changes the Markdown:\n%s", name, write(t, example(name)))
		}
	}

	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"|", "\\", "`", "``", "*", "_", "<", ">", "/", "b", "[", "]", "(", ")", "#", "-", "+", "1.", " ", "\n", "&", ";", "~", "$", "!", "@", "=", ":", "\"", "'", "é", "\xff"}), 1, 10)
	rapid.Check(t, func(r *rapid.T) {
		name := strings.Join(parts.Draw(r, "name"), "")
		if strings.TrimSpace(name) == "" {
			return
		}
		if got := shape(write(t, example(name))); got != want {
			r.Fatalf("something called %q changes the Markdown:\n%s", name, got)
		}
	})
}

// Cells keep their content.
func TestCellsSayWhatTheyAre(t *testing.T) {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"|", "\\", "`", "*", "_", "<", ">", "b", "[", "]", "#", " ", "&amp;", "~", "$", "x"}), 1, 10)
	rapid.Check(t, func(r *rapid.T) {
		name := "n" + strings.Join(parts.Draw(r, "name"), "") + "n"
		roles := rapid.SampledFrom([]string{"", "code"}).Draw(r, "roles")
		out := write(t, &document.Document{Sections: []document.Section{{Title: "T", Parts: []document.Part{{Table: &document.Table{
			Columns: []document.Column{{Text: "a"}, {Text: "b"}}, Rows: [][]document.Cell{{{Text: name, Roles: roles}, {Text: "end"}}}}}}}}})
		var b strings.Builder

		if err := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Convert([]byte(out), &b); err != nil {
			r.Fatal(err)
		}

		doc, err := html.Parse(strings.NewReader(b.String()))
		if err != nil {
			r.Fatal(err)
		}

		var cells []string
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && n.Data == "td" {
				text := ""
				for c := range n.Descendants() {
					if c.Type == html.TextNode {
						text += c.Data
					}
				}
				cells = append(cells, text)
			}
		}

		if roles == "code" && strings.Contains(out, "<code>") {
			return // raw HTML, which this parser leaves out
		}

		if len(cells) != 2 || strings.Join(strings.Fields(cells[0]), " ") != strings.Join(strings.Fields(name), " ") || cells[1] != "end" {
			r.Fatalf("%q became %q", name, cells)
		}
	})
}
