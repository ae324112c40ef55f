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
	"sync"

	"plimsoll/internal/present/document"
)

//go:embed assets uplot
var files embed.FS

// rendered is what the template is given beyond the page.
type rendered struct {
	*document.Document
	Policy  string
	Style   template.CSS
	Scripts []template.JS // run at the end
	Early   template.JS   // run before anything is shown: a remembered theme must not flash
	Data    template.JS
}

// pageTemplate is parsed when the first page is written: most commands write none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").Funcs(pageFunctions).ParseFS(files, "assets/*.html"))
})

var pageFunctions = template.FuncMap{
	"visible":  visible,
	"exact":    document.Visible, // a space before a unit stays one: it is to be copied
	"inc":      func(i int) int { return i + 1 },
	"refnum":   document.EvidenceNumber,
	"lower":    strings.ToLower,
	"legend":   legend,
	"draw":     draw,
	"bar":      shareBar,
	"still":    still,
	"shares":   sharesTable,
	"gaps":     gapsTable,
	"observed": observationsTable,
	"stacks":   stacks,
	"heading":  heading,
	"first":    document.FirstSentence,
	"rest":     afterFirst,
	"sentence": document.Sentence,
}

// afterFirst is a text without its first sentence.
func afterFirst(s string) string {
	return strings.TrimSpace(strings.TrimPrefix(s, document.FirstSentence(s)))
}

// beforeUnit is the space between a number and its unit, at which no line is to break.
var beforeUnit = regexp.MustCompile(`([0-9]) (%|(?:s|ms|us|min|h|B|kB|MB|GB|TB|KiB|MiB|GiB|TiB|USD|IOPS)\b)`)

// visible is text from elsewhere made safe to show, each number kept together with its unit.
func visible(s string) string {
	return beforeUnit.ReplaceAllString(document.Visible(s), "$1\u00a0$2")
}

func asset(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded: a mistake of this program, met by every page
	}
	return string(b)
}

// code is a page's style and its scripts: one that runs before anything is shown, the others at the
// end.
func code(p *document.Document) (style, early string, scripts []string) {
	if p.Timeline != nil {
		scripts = []string{asset("uplot/uPlot.iife.min.js"), asset("assets/charts.js")}
	}
	return asset("uplot/uPlot.min.css") + "\n" + themes() + asset("assets/page.css"),
		asset("assets/theme.js"), scripts
}

// Policy is the Content-Security-Policy of a document's page, for a server that sends it as a header
// too.
func Policy(p *document.Document) string {
	style, early, scripts := code(p)
	return policy(style, append([]string{early}, scripts...), p.Action != nil)
}

// render makes a page of a document.
func render(p *document.Document) ([]byte, error) {
	style, early, scripts := code(p)
	var data []byte
	if p.Timeline != nil {
		var err error
		if data, err = json.Marshal(dataOf(p.Timeline)); err != nil { // escapes <, > and &
			return nil, err
		}
	}

	r := rendered{Document: p, Policy: Policy(p)}

	// The conversions make html/template leave these unchanged. They are files of this package, and
	// JSON whose angle brackets are escaped, and the policy's hashes are of exactly these bytes.
	r.Style, r.Early, r.Data = template.CSS(style), template.JS(early), template.JS(data) //nolint:gosec // see above
	for _, s := range scripts {
		r.Scripts = append(r.Scripts, template.JS(s)) //nolint:gosec // a file of this package
	}

	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, r); err != nil {
		return nil, err
	}

	return b.Bytes(), nil
}

// policy is the page's Content-Security-Policy: its own style and scripts, by hash, forms to its own
// server if it has one, and nothing else.
func policy(style string, scripts []string, form bool) string {
	var b strings.Builder
	b.WriteString("default-src 'none'; style-src " + source(style) + "; script-src")
	for _, s := range scripts {
		b.WriteString(" " + source(s))
	}
	target := "'none'"
	if form {
		target = "'self'"
	}
	b.WriteString("; base-uri 'none'; form-action " + target)
	return b.String()
}

// source is a hash-source of Content Security Policy Level 3.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
