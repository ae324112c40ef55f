package report

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/judge/diagnose"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func render(t *testing.T, r *diagnose.Report, opt Options) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test ./internal/present/report -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got; go test ./internal/present/report -update, then read the change):\n%s", file, diff)
	}
}

var textCases = []struct {
	name   string
	report func() *diagnose.Report
	opt    Options
}{
	{"checkpoint", checkpointReport, Options{}},
	{"checkpoint_verbose", checkpointReport, Options{Verbose: true}},
	{"checkpoint_ascii", checkpointReport, Options{ASCII: true}},
	{"checkpoint_color", checkpointReport, Options{Color: true}},
	{"checkpoint_width60", checkpointReport, Options{Width: 60}},
	{"checkpoint_width120", checkpointReport, Options{Width: 120}},
	{"healthy", healthyReport, Options{}},
	{"nothing", nothingReport, Options{}},
	{"refuted", refutedReport, Options{}},
	{"damaged", damagedReport, Options{}},
	{"hostile", hostileReport, Options{}},
	{"hostile_ascii_width50", hostileReport, Options{ASCII: true, Width: 50}},
	{"empty", func() *diagnose.Report { return &diagnose.Report{} }, Options{}},
}

func TestTextGolden(t *testing.T) {
	for _, c := range textCases {
		t.Run(c.name, func(t *testing.T) { golden(t, c.name+".golden", render(t, c.report(), c.opt)) })
	}
}

// Whatever is reported, lines fit, nothing but our own SGR sequences reaches the
// terminal, and ASCII is ASCII.
func TestTextFits(t *testing.T) {
	for _, c := range textCases {
		for _, width := range []int{1, 40, 41, 63, 80, 200} {
			for _, opt := range []Options{{}, {Color: true}, {ASCII: true}, {ASCII: true, Verbose: true, Color: true}} {
				opt.Width = width
				text := render(t, c.report(), opt)
				for i, line := range strings.Split(text, "\n") {
					if n := columns(line); n > max(width, widthMin) {
						t.Errorf("%s width %d line %d has %d columns: %q", c.name, width, i+1, n, line)
					}
				}
				checkCharacters(t, c.name, text, opt)
			}
		}
	}
}

func checkCharacters(t *testing.T, name, text string, opt Options) {
	t.Helper()
	if opt.Color {
		for _, st := range []style{bold, dim, red, yellow, cyan, green, "0"} {
			text = strings.ReplaceAll(text, "\x1b["+string(st)+"m", "")
		}
	}
	for i, r := range text {
		if r != '\n' && r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u202e' || opt.ASCII && r > 0x7f {
			t.Fatalf("%s: character %U at %d of the text, after %q", name, r, i, text[max(0, i-20):i])
		}
	}
}

func TestTextZone(t *testing.T) {
	zone := time.FixedZone("CEST", 7200)
	text := render(t, checkpointReport(), Options{Location: zone})
	if n := strings.Count(text, "CEST"); n != 1 {
		t.Errorf("the zone is told %d times, want once:\n%s", n, text)
	}
	if !strings.Contains(text, "17:55:42-17:55:56") {
		t.Errorf("windows are not in the zone asked for:\n%s", text)
	}
}

// Colour adds to the text and takes nothing from it.
func TestTextColorSaysTheSame(t *testing.T) {
	text := render(t, checkpointReport(), Options{Color: true})
	for _, st := range []style{bold, dim, red, yellow, cyan, green, "0"} {
		text = strings.ReplaceAll(text, "\x1b["+string(st)+"m", "")
	}
	if diff := cmp.Diff(render(t, checkpointReport(), Options{}), text); diff != "" {
		t.Errorf("without its colours the text differs (-plain +coloured):\n%s", diff)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorsAreReported(t *testing.T) {
	if err := Text(failing{}, checkpointReport(), Options{}); err == nil {
		t.Error("Text: an error of the writer was lost")
	}
	if err := JSON(failing{}, checkpointReport()); err == nil {
		t.Error("JSON: an error of the writer was lost")
	}
}

// A peak of one point survives, however many points share its slot.
func TestSlotKeepsTheMaximum(t *testing.T) {
	tr := diagnose.Track{Unit: "seconds", From: start, To: at(300), StepS: 0.5, Values: values(make([]float64, 600)...)}
	for i := range tr.Values {
		v := 1.0
		if i == 123 {
			v = 9
		}
		tr.Values[i] = &v
	}
	got := slotMax(tr, span(0, 300), 30)
	for i, v := range got {
		want := 1.0
		if i == 6 { // 61.5 s of ten-second slots
			want = 9
		}
		if v != want {
			t.Errorf("slot %d is %v, want %v", i, v, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"  one   two three ", 9, []string{"one two", "three"}},
		{"abcdefghijklmnop", 10, []string{"abcdefghij", "klmnop"}},
		{"ab cdefghijklmnop", 10, []string{"ab", "cdefghijkl", "mnop"}},
		{"at 07-31 15:58:06, for 48.0 MB/s", 16, []string{"at", "07-31 15:58:06,", "for 48.0 MB/s"}},
		{"データベース", 8, []string{"データベ", "ース"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, c.width, c.width)); diff != "" {
			t.Errorf("wrap(%q, %d) (-want +got):\n%s", c.text, c.width, diff)
		}
	}
}
