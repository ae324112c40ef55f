package document

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Names of a source are shown as they are, except for what a terminal or a browser would act on.
func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, visible, ascii string }{
		{"nvme1n1", "nvme1n1", "nvme1n1"},
		{"Größe 12 µs", "Größe 12 µs", `Gr\u00f6\u00dfe 12 \u00b5s`},
		{"a\tb\r\nc", "a b  c", "a b  c"},
		{"\x1b[2J", `\x1b[2J`, `\x1b[2J`},
		{"\u009b2J", `\x9b2J`, `\x9b2J`}, // the same in one character
		{"\x7f\x00", `\x7f\x00`, `\x7f\x00`},
		{"a\xffb", `a\xffb`, `a\xffb`}, // not UTF-8
		{"\xe2\x82", `\xe2\x82`, `\xe2\x82`},
		{"\ufffd", "\ufffd", `\ufffd`},                               // valid, and what other programs substitute for invalid bytes
		{"cod\u202etxt.exe", `cod\u202etxt.exe`, `cod\u202etxt.exe`}, // right to left
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`, `zero\u200bwidth\ufeff`},
		{"one\u2028two\u2029", `one\u2028two\u2029`, `one\u2028two\u2029`},
		{"👩\u200d🚀", "👩\u200d🚀", `\u1f469\u200d\u1f680`}, // a joined emoji stays one
		{"e\u0301", "e\u0301", `e\u0301`},
		{`C:\x1b`, `C:\x1b`, `C:\x1b`},
	} {
		if got := Visible(c.text); got != c.visible {
			t.Errorf("Visible(%q) = %q, want %q", c.text, got, c.visible)
		}
		if got := ASCII(c.text); got != c.ascii {
			t.Errorf("ASCII(%q) = %q, want %q", c.text, got, c.ascii)
		}
	}
}

// Visible leaves nothing invisible in any text, and applying it again changes nothing.
func TestVisibleOfAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).
			Draw(r, "text")
		out := Visible(in)
		if !utf8.ValidString(out) || Visible(out) != out {
			r.Fatalf("%q becomes %q, and then %q", in, out, Visible(out))
		}
		for _, c := range out {
			if unicode.Is(unicode.Cc, c) || unicode.Is(unicode.Cf, c) && c != '\u200d' {
				r.Fatalf("%q has %U", out, c)
			}
		}
		for _, c := range ASCII(in) {
			if c < ' ' || c > '~' {
				r.Fatalf("%q has %U", ASCII(in), c)
			}
		}
	})
}

// A sentence starts with a capital and ends with a period. A name keeps its spelling.
func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"the disk is full":           "The disk is full.",
		"The disk is full.":          "The disk is full.",
		"a":                          "A.",
		"mongod 5.0 lacks it":        "mongod 5.0 lacks it.",
		"etcd v3.5 lacks it":         "etcd v3.5 lacks it.",
		"it 5.0 lacks":               "It 5.0 lacks.",
		"wal_buffers is 16 MB":       "wal_buffers is 16 MB.",
		"volumes.wal has a new type": "volumes.wal has a new type.",
		"disk/iops-capped holds":     "disk/iops-capped holds.",
		"3 of 4 disks":               "3 of 4 disks.",
		"überall":                    "überall.", // only ASCII: not a word of this program
	} {
		if got := Sentence(in); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", in, got, want)
		}
	}
}

// A period ends a sentence if a new one follows; not in a number, a version or an abbreviation.
func TestFirstSentence(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"One.":                           "One.",
		"One. Two. Three.":               "One.",
		"p99 rose to 7.6 s. It fell.":    "p99 rose to 7.6 s.",
		"Rates, e.g. of writes. Others.": "Rates, e.g. of writes.",
		"No end":                         "No end",
		"Took 12 s. 3 of 4 are slow.":    "Took 12 s.",
	} {
		if got := FirstSentence(in); got != want {
			t.Errorf("FirstSentence(%q) = %q, want %q", in, got, want)
		}
	}
}

// In a sentence a title begins with a small letter, unless it begins with an acronym.
func TestLowerFirst(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "A": "A", "Writes stall": "writes stall", "WAL buffers are full": "WAL buffers are full", "EBS's own check": "EBS's own check",
		"nvme1n1 is slow": "nvme1n1 is slow", "I/O waits above the device": "I/O waits above the device", "A page is slow": "a page is slow",
	} {
		if got := LowerFirst(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
