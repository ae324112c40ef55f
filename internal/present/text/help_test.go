package text

import (
	"strings"
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/document"
)

// written is a document as text.
func written(t testing.TB, d *document.Document, opt Options) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, d, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// draws compares what a function writes on a page with the expected lines.
func draws(t *testing.T, p page, draw func(*page), want string) *page {
	t.Helper()
	draw(&p)
	golden.Inline(t, p.out.String(), want)
	return &p
}

func number(text string) document.Cell { return document.Cell{Text: text, Number: true} }
