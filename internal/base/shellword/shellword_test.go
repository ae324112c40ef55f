package shellword

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A shell reads a quoted word as the original text.
func TestShellReadsIt(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here")
	}

	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "") // no argument can contain this
		out, err := exec.CommandContext(t.Context(), sh, "-c", "printf %s "+Quote(text)+" end").Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(out) != text+"end" {
			t.Fatalf("%q is read as %q", Quote(text), out)
		}
		if out, err = exec.CommandContext(t.Context(), sh, "-c", "printf %s "+Readable(text)+" end").Output(); err != nil || string(out) != text+"end" {
			t.Fatalf("%q is read as %q: %v", Readable(text), out, err)
		}
	})
}

func TestQuotesAreLeftOutWhereNoneAreNeeded(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "a-b_c.d/e=f:g,h%+@": "a-b_c.d/e=f:g,h%+@", "it's": `'it'\''s'`, "{type: gp3}": "'{type: gp3}'", "~": "'~'",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
