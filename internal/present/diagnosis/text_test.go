package diagnosis

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/text"
	"plimsoll/internal/testkit"
)

func render(t *testing.T, r *diagnose.Report, opt text.Options) string {
	t.Helper()
	var b strings.Builder
	if err := text.Write(&b, Document(r, Options{Pack: testkit.Pack()}), opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// styles are the SGR parameters of the text.
var styles = []string{"1", "2", "1;31", "1;33", "36", "32", "0"}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// columns is the width of text that may hold SGR sequences.
func columns(s string) int {
	return (&runewidth.Condition{StrictEmojiNeutral: true}).StringWidth(sgr.ReplaceAllString(s, ""))
}

var textCases = []struct {
	name   string
	report func() *diagnose.Report
	opt    text.Options
}{
	{"checkpoint", checkpointReport, text.Options{}},
	{"checkpoint_verbose", checkpointReport, text.Options{Verbose: true}},
	{"checkpoint_ascii", checkpointReport, text.Options{ASCII: true}},
	{"checkpoint_color", checkpointReport, text.Options{Color: true}},
	{"checkpoint_width60", checkpointReport, text.Options{Width: 60}},
	{"checkpoint_width120", checkpointReport, text.Options{Width: 120}},
	{"healthy", healthyReport, text.Options{}},
	{"headroom", limited, text.Options{}},
	{"nothing", nothingReport, text.Options{}},
	{"refuted", refutedReport, text.Options{}},
	{"damaged", damagedReport, text.Options{}},
	{"degraded", degradedReport, text.Options{}},
	{"hostile", hostileReport, text.Options{}},
	{"hostile_ascii_width50", hostileReport, text.Options{ASCII: true, Width: 50}},
	{"empty", func() *diagnose.Report { return &diagnose.Report{} }, text.Options{}},
}

func TestTextGolden(t *testing.T) {
	for _, c := range textCases {
		t.Run(c.name, func(t *testing.T) { golden.Compare(t, c.name+".golden", render(t, c.report(), c.opt)) })
	}
}

// In any report, lines fit, only our own SGR sequences reach the terminal, and ASCII output is
// ASCII.
func TestTextFits(t *testing.T) {
	for _, c := range textCases {
		for _, width := range []int{1, 40, 41, 63, 80, 200} {
			for _, opt := range []text.Options{{}, {Color: true}, {ASCII: true}, {ASCII: true, Verbose: true, Color: true}} {
				opt.Width = width
				out := render(t, c.report(), opt)
				for i, line := range strings.Split(out, "\n") {
					if n := columns(line); n > max(width, 40) {
						t.Errorf("%s width %d line %d has %d columns: %q", c.name, width, i+1, n, line)
					}
				}
				checkCharacters(t, c.name, out, opt)
			}
		}
	}
}

func checkCharacters(t *testing.T, name, out string, opt text.Options) {
	t.Helper()
	if opt.Color {
		for _, st := range styles {
			out = strings.ReplaceAll(out, "\x1b["+st+"m", "")
		}
	}
	for i, r := range out {
		if r != '\n' && r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u202e' || opt.ASCII && r > 0x7f {
			t.Fatalf("%s: character %U at %d of the text, after %q", name, r, i, out[max(0, i-20):i])
		}
	}
}

func TestTextZone(t *testing.T) {
	var b strings.Builder
	if err := text.Write(&b, Document(checkpointReport(), Options{Location: time.FixedZone("CEST", 7200)}), text.Options{}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if n := strings.Count(out, "CEST"); n != 1 {
		t.Errorf("the zone is printed %d times, want once:\n%s", n, out)
	}
	if !strings.Contains(out, "17:55:42-17:55:56") {
		t.Errorf("windows are not in the zone asked for:\n%s", out)
	}
}

// Colour adds to the text and removes nothing from it.
func TestTextColorSaysTheSame(t *testing.T) {
	out := render(t, checkpointReport(), text.Options{Color: true})
	for _, st := range styles {
		out = strings.ReplaceAll(out, "\x1b["+st+"m", "")
	}
	if diff := cmp.Diff(render(t, checkpointReport(), text.Options{}), out); diff != "" {
		t.Errorf("without its colours the text differs (-plain +coloured):\n%s", diff)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorsAreReported(t *testing.T) {
	if err := text.Write(failing{}, Document(checkpointReport(), Options{}), text.Options{}); err == nil {
		t.Error("Text: an error of the writer was lost")
	}
	if err := JSON(failing{}, checkpointReport()); err == nil {
		t.Error("JSON: an error of the writer was lost")
	}
}
