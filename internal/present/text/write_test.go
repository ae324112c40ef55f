package text

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/document"
)

// whole is a document with every part of a terminal's text, in which name stands for what comes from a
// source.
func whole(name string) *document.Document {
	return &document.Document{
		Verdict: "Writes stall because of " + name + ".", Lead: []string{"Read from " + name + "."},
		Now: &document.Section{Title: "Now", Parts: []document.Part{{Tasks: []document.Task{{Number: 1,
			Title: "Raise the limit", About: "no restart; free", Steps: []document.Step{
				{
					Label: "run",
					Commands: []string{
						"aws ec2 modify-volume --volume-id " + name + " --iops 6000 --throughput 250",
					},
				},
				{Label: "undo", Text: "The volume can be changed again after six hours."}}}}}}},
		Summary: []document.Term{
			{Label: "stalled", Lines: []document.Line{{Text: "70.0 s", Note: "23 % of 5m"}}},
			{Label: "source", Lines: []document.Line{{Text: name, Detail: "12 files"}}}},
		Sections: []document.Section{
			{
				Title: "Causes",
				Aside: "most important first",
				Parts: []document.Part{{Findings: []document.Finding{capped()}}},
			},
			{
				Title: "Quoted",
				Parts: []document.Part{
					{Text: "The vendor says:"},
					{Quote: name},
					{Commands: []string{"lsblk " + name}},
					{
						Files: []document.File{
							{Path: name, Lines: []string{"plimsoll: 1", "engine: {" + name + ": {}}"}},
						},
					},
				},
			},
			{Title: "Page", Only: document.Page, Parts: []document.Part{{Text: "never on a terminal"}}},
			{
				Title: "Links",
				Parts: []document.Part{
					{Queries: []document.Query{{Name: name}}},
					{Evidence: []*document.Evidence{{Name: name}}},
				},
			},
		},
		Next: "plimsoll diagnose SOURCE explains more",
	}
}

// The result comes first, then what to do now, then what was examined, then sections.
func TestWrite(t *testing.T) {
	golden.Inline(t, written(t, whole("nvme1n1"), Options{Width: 78}), `
Writes stall because of nvme1n1.
Read from nvme1n1.

NOW
──────────────────────────────────────────────────────────────────────────────
1  Raise the limit (no restart; free)
   run    aws ec2 modify-volume --volume-id nvme1n1 --iops 6000 --throughput \
            250
   undo   The volume can be changed again after six hours.

  stalled  70.0 s
           23 % of 5m
  source   nvme1n1

CAUSES  most important first
──────────────────────────────────────────────────────────────────────────────
1  CRITICAL  The volume's IOPS cap binds
   nvme1n1, disk/iops-capped, in 94 % of the stalled time
   nvme1n1 serves 3,000 requests a second and no more.
   cause     A gp3 volume has 3,000 IOPS unless more are ordered.
   when      15:00:10 to 15:00:40; every 60.0 s
   evidence  3,003 IOPS  highest rate (15:00:12)
                   98 %  of the time busy
             No other volume was busy.
   fix       Order 6,000 IOPS
     expect    the stalls end
     costs     15 USD a month

QUOTED
──────────────────────────────────────────────────────────────────────────────
   The vendor says:

   > nvme1n1

   lsblk nvme1n1

   nvme1n1
     plimsoll: 1
     engine: {nvme1n1: {}}

plimsoll diagnose SOURCE explains more
`)
}

// A first screen has no rules below its headings, and says how to see the rest.
func TestWriteShort(t *testing.T) {
	d := whole("nvme1n1")
	d.Short, d.Now, d.Sections = true, nil, d.Sections[:1]
	d.Summary[0].Lines = nil
	for i := range termLinesMax + 2 {
		d.Summary[0].Lines = append(d.Summary[0].Lines, document.Line{Text: fmt.Sprintf("%d.0 s", i+1)})
	}
	golden.Inline(t, written(t, d, Options{Width: 78}), `
Writes stall because of nvme1n1.
Read from nvme1n1.

  stalled  1.0 s
           2.0 s
           3.0 s
           4.0 s
           and 2 more
  source   nvme1n1

CAUSES  most important first
1  CRITICAL  The volume's IOPS cap binds
   nvme1n1, disk/iops-capped, in 94 % of the stalled time
   nvme1n1 serves 3,000 requests a second and no more.
   cause     A gp3 volume has 3,000 IOPS unless more are ordered.
   when      15:00:10 to 15:00:40; every 60.0 s
   evidence  3,003 IOPS  highest rate (15:00:12)
                   98 %  of the time busy
             No other volume was busy.
   fix       Order 6,000 IOPS
     expect    the stalls end
     costs     15 USD a month

plimsoll diagnose SOURCE explains more
`)

	d.Short = false
	if got := written(t, d, Options{}); !strings.HasSuffix(got, "explains more. Add -v to see everything.\n") {
		t.Errorf("the end of a text that omits lines:\n%s", got)
	}
	if got := written(t, d, Options{Verbose: true}); !strings.HasSuffix(got, "explains more\n") {
		t.Errorf("the end of a text that omits nothing:\n%s", got)
	}
}

// Key figures are aligned; one long label or value leaves room for the notes.
func TestFacts(t *testing.T) {
	d := &document.Document{Verdict: "V.", Facts: []document.Fact{
		{
			Label: "write p99",
			Value: "7.60 s",
			Note:  "median 1.20 ms; objective 100 ms, which 3 % of the operations miss",
			Level: document.Critical,
		},
		{Label: "the slowest write of all that were measured", Value: "12.0 s"},
		{Label: "a month", Value: "from 1,234.5 USD to 2,345 USD", Note: "us-east-1"}}}
	golden.Inline(t, written(t, d, Options{Width: 64}), `
V.

  write p99                        7.60 s  median 1.20 ms;
                                           objective 100 ms,
                                           which 3 % of the
                                           operations miss
  the slowest write of…            12.0 s
  a month                from 1,234.5 US…  us-east-1
`)
}

var blanks = regexp.MustCompile(" +\n")

var sgrSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colours change nothing but colours, and no page has a character that could control the terminal, or on an
// ASCII page one of more than seven bits, whatever the names of a source are.
func TestWriteIsSafe(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.OneOf(
			rapid.String(),
			rapid.SampledFrom(
				[]string{
					"\x1b[2J\x1b[H",
					"\x1b]0;title\a",
					"a\u202eb",
					"\u2028",
					"\xff\xfe",
					"デ\u0301",
					"👩\u200d🚀",
					"\r\n\t",
					"\u009b31m",
				},
			),
		).Draw(r, "name")
		opt := Options{
			Width:   rapid.IntRange(0, 200).Draw(r, "width"),
			ASCII:   rapid.Bool().Draw(r, "ascii"),
			Verbose: rapid.Bool().Draw(r, "verbose"),
		}

		var plainText, coloured strings.Builder
		if err := Write(&plainText, whole(name), opt); err != nil {
			r.Fatal(err)
		}
		opt.Color = true
		if err := Write(&coloured, whole(name), opt); err != nil {
			r.Fatal(err)
		}

		// Blanks at the end of a line are trimmed, except where a colour code follows them.
		got := blanks.ReplaceAllString(sgrSequence.ReplaceAllString(coloured.String(), ""), "\n")
		if got != plainText.String() {
			r.Fatalf("with colours:\n%s\nwithout:\n%s", got, plainText.String())
		}
		for _, c := range plainText.String() {
			if c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 || c == '\u202e' || c == '\u2028' ||
				opt.ASCII && c > 0x7f {
				r.Fatalf("%q is in the text", c)
			}
		}
	})
}

// A line that a terminal would wrap counts as several.
func TestLines(t *testing.T) {
	for columns, want := range map[int]int{0: 1, 1: 1, 40: 1, 41: 2, 80: 2, 81: 3} {
		d := &document.Document{
			Sections: []document.Section{
				{Parts: []document.Part{{Commands: []string{strings.Repeat("x", columns)}}}},
			},
		}
		if got := Lines(d, Options{Width: 40}); got != want {
			t.Errorf("a command of %d columns takes %d lines of a terminal of 40, want %d", columns, got, want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteFails(t *testing.T) {
	if err := Write(broken{}, whole("a"), Options{}); err == nil ||
		err.Error() != "writing the text: no space left on device" {
		t.Error(err)
	}
}

// However a text is wrapped, no word is lost and no line is too long, except one with a single character
// that is wider than the line.
func TestWrapKeepsText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab 1データ é🚀.%"))).Draw(r, "text")
		width := rapid.IntRange(8, 60).Draw(r, "width")
		lines := Wrap(text, width)
		if got, want := strings.Join(strings.Fields(strings.Join(lines, "")), ""), strings.Join(strings.Fields(text), ""); got != want {
			r.Fatalf("%q became %q", text, lines)
		}
		for _, l := range lines {
			if columns(l) > width || l != strings.TrimSpace(l) {
				r.Fatalf("%q on lines of %d columns: %q", text, width, lines)
			}
		}
	})
}

// A number stays with its unit, and a date with its time.
func TestWrapKeepsUnits(t *testing.T) {
	for _, pair := range []string{"12.0 ms", "3,000 IOPS", "94 %", "1 MiB/s,", "07-31 15:58:06", "(2026-07-31 15:58:06)"} {
		for width := 8 + len(pair); width < 40; width++ {
			lines := Wrap(fmt.Sprintf("it took until %s in all of the cases", pair), width)
			if !strings.Contains(strings.Join(lines, "\n"), pair) {
				t.Errorf("%d columns: %q", width, lines)
			}
		}
	}
	if got := Wrap("12345678 seconds", 10); len(got) != 2 {
		t.Errorf("a word that is no unit: %q", got)
	}
}

// Cut text ends in a mark, and never in half a character.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		ascii bool
		want  string
	}{
		{"latency", 7, false, "latency"}, {"latency", 6, false, "laten…"}, {"latency", 6, true, "laten~"}, {"データ", 5, false, "デー…"}, {"データ", 4, false, "デ…"},
		{"12 – 13 ×", 20, true, "12 - 13 x"}, {"✓ met", 20, true, "met"}, {"naïve", 20, true, `na\u00efve`},
	} {
		if got := (&page{ascii: c.ascii}).fit(c.text, c.width); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
