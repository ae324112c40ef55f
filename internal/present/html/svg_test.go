package html

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// A drawing is well-formed XML, whatever bytes a name in a damaged log contains.
func TestDrawingIsXML(t *testing.T) {
	const name = "sd\x00a\x1b[31m<&\"\ufffe\x7f\xff"
	d := newDrawing(10, 10, name)
	d.text("label", "start", 1, 1, name)
	in := xml.NewDecoder(strings.NewReader(string(d.done())))
	for {
		_, err := in.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %q", err, d.done())
		}
	}
}
