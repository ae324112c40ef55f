package html

import (
	"bytes"
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/text"
)

// The same documents in a terminal: the text has everything that the page has.
func TestTexts(t *testing.T) {
	all := documents(t)
	for _, name := range []string{"plan", "proof", "case", "lab"} {
		var b bytes.Buffer
		if err := text.Write(&b, all[name], text.Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, name+"_text.golden", b.String())
	}
}
