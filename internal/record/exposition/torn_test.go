package exposition

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestTornAtAnyByte: a truncated compressed file is reported wherever it was cut, whether or not its
// newest page has a sample yet.
func TestTornAtAnyByte(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for i := range 40 {
		// Comments between pages, which contain no samples.
		text := page1(7+i) + strings.Repeat("# HELP node_load1 1m load average.\n", i)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil { // as through a script's pipe
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}

	for n := packed.Len() - 1; n > 0; n-- {
		src := New(source.File{Path: "torn.gz", Modified: modified, Open: func() (io.ReadCloser, error) {
			r, err := gzip.NewReader(bytes.NewReader(packed.Bytes()[:n]))
			if err != nil {
				return nil, err
			}
			return r, nil
		}}, nil)

		m := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(t.Context(), m, source.Options{Location: time.UTC}); err != nil {
			continue // refused, with the reason
		}

		damaged := false
		for _, note := range m.Notes() {
			damaged = damaged || note.Kind == recording.NoteDamage
		}

		if !damaged {
			t.Fatalf("the first %d of %d bytes were read without a note: %+v", n, packed.Len(), m.Notes())
		}
	}
}
