package html

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/testkit"
)

// What readers and screen readers find on each kind of page. Drawings' paths are omitted: the browser's
// test checks them.
func TestPages(t *testing.T) {
	paths := regexp.MustCompile(` d="[^"]*"`)
	for name, page := range pages(t) {
		if name == "hour" {
			continue // as "diagnosis", and longer
		}
		golden.Compare(t, name+".golden", paths.ReplaceAllString(body(page), ` d="..."`))
	}
}

// The same input gives the same bytes.
func TestSameBytes(t *testing.T) {
	first, second := pages(t), pages(t)
	for name := range first {
		if first[name] != second[name] {
			t.Errorf("%s: two pages of the same differ", name)
		}
	}
}

// Every link within a page has a target, no id is used twice, and no heading level is skipped.
func TestLinksLead(t *testing.T) {
	id, href := regexp.MustCompile(` id="([^"]*)"`), regexp.MustCompile(` href="#([^"]*)"`)
	for name, page := range pages(t) {
		there := map[string]bool{}
		for _, m := range id.FindAllStringSubmatch(page, -1) {
			if there[m[1]] {
				t.Errorf("%s: id %q is given twice", name, m[1])
			}
			there[m[1]] = true
		}

		for _, m := range href.FindAllStringSubmatch(page, -1) {
			if !there[m[1]] {
				t.Errorf("%s: #%s leads nowhere", name, m[1])
			}
		}

		last := 0
		for _, m := range regexp.MustCompile(`<h([1-6])`).FindAllStringSubmatch(page, -1) {
			level, err := strconv.Atoi(m[1])
			if err != nil || level > last+1 {
				t.Errorf("%s: a heading of level %s follows one of level %d", name, m[1], last)
			}
			last = level
		}
	}
}

// shape returns a page's elements with the names of their attributes, in order: its markup without
// text.
func shape(t testing.TB, page string) string {
	t.Helper()
	var b strings.Builder

	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			token := z.Token()
			b.WriteString(token.Data)
			for _, a := range token.Attr {
				b.WriteString(" " + a.Key)
			}
			b.WriteByte('\n')
		case html.CommentToken:
			b.WriteString("comment\n")
		}
	}
}

// Whatever names a recording uses, the page's markup is the same: a name is text.
func TestNamesAreText(t *testing.T) {
	of := func(name string) string {
		return shape(t, pageOf(t, diagnosis.Document(stalledReport(120, name), diagnosis.Options{Pack: testkit.Pack()})))
	}
	plain := of("nvme1n1")
	for _, name := range []string{"</script><script>hacked=1</script>", `"><img src=x onerror=hacked=1>`, "<!--", "-->", "]]>", "{{.}}", "</style>", "\u2028", "\x00\x1b[2J", "javascript:hacked=1", "</title>", "'+hacked+'"} {
		if got := of(name); got != plain {
			t.Errorf("a device called %q changes the page's markup", name)
		}
	}

	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"<", ">", "/", "\"", "'", "`", "&", "&lt;", "script", "svg", "a", " ", "=", "onload", "\\u003c", "</", "-->", "\xff", "x"}), 1, 12)
	rapid.Check(t, func(r *rapid.T) {
		name := "n" + strings.Join(parts.Draw(r, "name"), "")
		if of(name) != plain {
			r.Fatalf("a device called %q changes the page's markup", name)
		}
	})
}

// Axes have few round values that cover the data.
func TestNiceSteps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		high := rapid.Float64Range(1e-9, 1e15).Draw(r, "high")
		steps, top := niceSteps(high, 4)
		if top < high*(1-1e-6) || top > 3*high || len(steps) < 2 || len(steps) > 6 {
			r.Fatalf("up to %g: %v", high, steps)
		}
	})
	for _, high := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if steps, top := niceSteps(high, 4); top != 1 || len(steps) != 2 {
			t.Errorf("up to %g: %v", high, steps)
		}
	}
}

// A logarithmic axis covers the data, with room below it, and at most a decade beyond it.
func TestDecadesAround(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e3).Draw(r, "low")
		high := low * rapid.Float64Range(1, 1e6).Draw(r, "times")
		from, to := decadesAround(low, high)
		if !(from < low) || low > 10.3*from || to < high*(1-1e-6) || !(to > from) || to > 10.3*max(high, from) {
			r.Fatalf("%g to %g is drawn from %g to %g", low, high, from, to)
		}
	})
}
