package recognise

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// Terminal or editor decorations are removed, wherever a read ends, and nothing else.
func TestUndecorated(t *testing.T) {
	for text, want := range map[string]string{
		"\xef\xbb\xbfDevice r/s\n":                         "Device r/s\n",
		"\x1b[32;22msda    \x1b[0m\x1b[34;1m  1.00\x1b[0m": "sda      1.00",
		"\x1b[38;2;255;255;255mx\x1b[K":                    "x",
		"no sequence: \x1b and \x1b[\n and \x1b[1":         "no sequence: \x1b and \x1b[\n and \x1b[1",
		"a mark \xef\xbb\xbf inside":                       "a mark \xef\xbb\xbf inside",
		"":                                                 "",
	} {
		for name, r := range map[string]io.Reader{
			"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			"the end with data": iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := io.ReadAll(newUndecorated(r))
			if err != nil || string(got) != want {
				t.Errorf("%s: %q is read as %q, %v; want %q", name, text, got, err, want)
			}
		}
	}
}

// A log with colours or a byte order mark is still recognised as a log.
func TestDecoratedLogIsRead(t *testing.T) {
	const log = "Linux 6.1.0 (db) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n2026-11-21T02:15:01+0000\n" +
		"\x1b[32;22mDevice\x1b[0m            r/s     rkB/s     w/s     wkB/s  %util\n" +
		"\x1b[32;22msda   \x1b[0m  \x1b[34;22m 0.00\x1b[0m  0.00   10.00      0.04   1.00\n\n"
	for name, text := range map[string]string{"coloured": log, "marked": "\xef\xbb\xbf" + log} {
		path := filepath.Join(t.TempDir(), "iostat.log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := new(Opener).Open(t.Context(), path, OpenOptions{})
		if err != nil || in.Describe().Kind != "iostat" {
			t.Errorf("%s: %v, %v", name, in.Describe(), err)
		}
	}
}
