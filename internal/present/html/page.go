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

// rendered is the input of the template.
type rendered struct {
	*document.Document
	Policy  string
	Style   template.CSS
	Scripts []template.JS // run at the end
	Early   template.JS   // runs before the first paint, so that a saved theme does not flash
	Data    template.JS
}

// pageTemplate is parsed when the first page is written, because most commands write none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").Funcs(pageFunctions).ParseFS(files, "assets/*.html"))
})

var pageFunctions = template.FuncMap{
	"visible":  visible,
	"fragment": fragment,
	"exact":    document.Visible, // for text that is copied: keeps spaces before units
	"inc":      func(i int) int { return i + 1 },
	"refnum":   document.EvidenceNumber,
	"lower":    strings.ToLower,
	"legend":   legend,
	"draw":     draw,
	"bar":      shareBar,
	"still":    still,
	"shares":   sharesTable,
	"gaps":     gapsTable,
	"observed": observed,
	"stacks":   stacks,
	"heading":  heading,
	"first":    document.FirstSentence,
	"rest":     afterFirst,
	"sentence": document.Sentence,
}

// lasting matches an address that stays the same from one report to the next: a rule's ID, or a time.
var lasting = regexp.MustCompile(`^[A-Za-z0-9/:._-]+$`)

// fragment returns the link to an address within the page, with its slashes unescaped.
func fragment(id string) template.URL {
	if !lasting.MatchString(id) {
		return "#"
	}
	return template.URL("#" + id) //nolint:gosec // the characters are checked
}

// afterFirst returns a text without its first sentence.
func afterFirst(s string) string {
	return strings.TrimSpace(strings.TrimPrefix(s, document.FirstSentence(s)))
}

// beforeUnit matches the space between a number and its unit, where a line must not break.
var beforeUnit = regexp.MustCompile(`([0-9]) (%|(?:s|ms|us|min|h|B|kB|MB|GB|TB|KiB|MiB|GiB|TiB|USD|IOPS)\b)`)

// visible makes untrusted text safe to display, and keeps each number together with its unit.
func visible(s string) string {
	return beforeUnit.ReplaceAllString(document.Visible(s), "$1\u00a0$2")
}

func asset(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the files are embedded, so this is a bug that every page would hit
	}
	return string(b)
}

// code returns a page's style and its scripts: one that runs before the first paint, and those at
// the end.
func code(p *document.Document) (style, early string, scripts []string) {
	if p.Timeline != nil {
		scripts = []string{asset("uplot/uPlot.iife.min.js"), asset("assets/charts.js")}
	}
	return asset("uplot/uPlot.min.css") + "\n" + themes() + asset("assets/page.css"),
		asset("assets/theme.js"), scripts
}

// Policy returns the Content-Security-Policy of a document's page, for a server that also sends it
// as a header.
func Policy(p *document.Document) string {
	style, early, scripts := code(p)
	return policy(style, append([]string{early}, scripts...), p.Action != nil)
}

// render converts a document to a page.
func render(p *document.Document) ([]byte, error) {
	style, early, scripts := code(p)
	var data []byte
	if p.Timeline != nil {
		var err error
		if data, err = json.Marshal(p.Timeline); err != nil { // escapes <, > and &
			return nil, err
		}
	}

	r := rendered{Document: p, Policy: Policy(p)}

	// The conversions make html/template leave these unchanged. That is safe because they are files
	// of this package, and JSON with escaped angle brackets. It is necessary because the policy's
	// hashes are of exactly these bytes.
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

// policy is the page's Content-Security-Policy. It allows the page's own style and scripts by hash,
// forms to the page's own server if it has one, and nothing else.
func policy(style string, scripts []string, form bool) string {
	var b strings.Builder
	b.WriteString("default-src 'none'; style-src " + source(style) + "; script-src")
	for _, s := range scripts {
		b.WriteString(" " + source(s))
	}
	// Only `plimsoll watch` has a server to send a form to.
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
