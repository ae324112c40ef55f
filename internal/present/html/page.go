package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"regexp"
	"strings"

	"plimsoll/internal/present/report"
)

//go:embed assets uplot
var files embed.FS

// A page is what a verb found, ready to be set.
type page struct {
	Kind     string   // what it is: "Diagnosis"
	Title    string   // what stands in the window's title
	Verdict  string   // the first sentence
	Lead     []string // what follows it
	Facts    []fact
	Sections []section
	Charts   *timeline // series that are zoomed together; nil if there are none
	Footer   string

	queries  *queries
	evidence *ledger
}

// A fact is a figure that carries the verdict.
type fact struct {
	Label, Value, Note string
	Href               string
	Ref                string // its evidence
	Level              string // "critical", "warning", "good" or ""
}

// A section is a part of a page with a heading.
type section struct {
	ID, Title, Note string
	Parts           []part
}

// A part is one of what its fields name.
type part struct {
	Text     string
	Ref      string // the evidence of the text
	Source   *cell  // what the rest was read from
	Quote    string // what somebody else said
	Table    *table
	Figure   *figure
	Findings []finding
	Timeline *timeline
	Queries  []query
	Files    []listing
	Evidence []*evidence
	Scenario *scenarioText
}

// A table has a caption for those who do not see what stands before it.
type table struct {
	Caption string
	Fold    string // if not empty, the table is folded behind these words
	Columns []column
	Rows    [][]cell
	Notes   []string
}

// A column is a heading; numbers are set right.
type column struct {
	Text   string
	Ref    string // the evidence of what is below
	Number bool
}

// A cell of a table.
type cell struct {
	Text   string
	Note   string // smaller, below
	Href   string
	Ref    string // the evidence that its row rests on
	Class  string
	Number bool
	Zoom   *window // the charts show this when it is clicked
	Bar    template.HTML
}

// A window is a stretch of a chart's time, in its seconds.
type window struct{ From, To float64 }

// A figure is a drawing with its words and its numbers.
type figure struct {
	ID, Title, Caption string
	Keys               []string // of its series, in their order
	SVG                template.HTML
	Table              *table
}

// rendered is what the template is given beyond the page.
type rendered struct {
	*page
	Policy  string
	Style   template.CSS
	Scripts []template.JS // run at the end
	Early   template.JS   // run before anything is shown: a remembered theme must not flash
	Data    template.JS
}

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"visible": visible,
	"exact":   report.Visible, // a space before a unit stays one: it is to be copied
	"inc":     func(i int) int { return i + 1 },
	"refnum":  func(href string) string { return strings.TrimPrefix(href, evidencePrefix) },
	"lower":   strings.ToLower,
	"legend":  legend,
}).ParseFS(files, "assets/*.html"))

// beforeUnit is the space between a number and its unit, at which no line is to break.
var beforeUnit = regexp.MustCompile(`([0-9]) (%|(?:s|ms|us|min|h|B|kB|MB|GB|TB|KiB|MiB|GiB|TiB|USD|IOPS)\b)`)

// visible is text from elsewhere made safe to show, each number kept together with its unit.
func visible(s string) string {
	return beforeUnit.ReplaceAllString(report.Visible(s), "$1\u00a0$2")
}

func asset(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded: a mistake of this program, met by every page
	}
	return string(b)
}

func (p *page) render() ([]byte, error) {
	style := asset("uplot/uPlot.min.css") + "\n" + themes() + asset("assets/page.css")
	early := asset("assets/theme.js")
	var scripts []string
	var data []byte
	if p.Charts != nil {
		var err error
		if data, err = json.Marshal(p.Charts); err != nil { // escapes <, > and &
			return nil, err
		}
		scripts = []string{asset("uplot/uPlot.iife.min.js"), asset("assets/charts.js")}
	}
	r := rendered{page: p, Policy: policy(style, append([]string{early}, scripts...))}
	// The conversions tell html/template to leave these as they are. They are files of this package and JSON
	// whose angle brackets are escaped, and the policy's hashes hold of exactly these bytes.
	r.Style, r.Early, r.Data = template.CSS(style), template.JS(early), template.JS(data) //nolint:gosec // see above
	for _, s := range scripts {
		r.Scripts = append(r.Scripts, template.JS(s)) //nolint:gosec // a file of this package
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// policy is the page's Content-Security-Policy: its own style and scripts, by hash, and nothing else.
func policy(style string, scripts []string) string {
	var b strings.Builder
	b.WriteString("default-src 'none'; style-src " + source(style) + "; script-src")
	for _, s := range scripts {
		b.WriteString(" " + source(s))
	}
	b.WriteString("; base-uri 'none'; form-action 'none'")
	return b.String()
}

// source is a hash-source of Content Security Policy Level 3.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
