package frame

import (
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// A Style is how a part of a line looks on a terminal with colours. Colour is never the only sign
// of a meaning.
type Style int

// The styles.
const (
	Plain Style = iota
	Dim
	Bold
	Ok
	Warn
	Bad
	Accent
	Reverse
)

// A Part is a stretch of a line in one style. Its text is safe to print.
type Part struct {
	Text  string
	Style Style
}

// A Line is one line of a screen.
type Line []Part

// A View says how to lay out a moment.
type View struct {
	Width int // columns
	// Height is the number of lines; 0 means unlimited.
	Height int
	ASCII  bool
	Help   bool // show the help page instead
	Keys   bool // end with a line of keys
	Sort   Sort
	// Skip is how many incidents are scrolled away.
	Skip int
	// Sources and State are shown in the title: "mongodb://db:27017, host", "live".
	Sources, State string
	Zone           *time.Location
	// Message is shown in place of the keys, for example a text being typed.
	Message string
}

// Sort is the order of the devices.
type Sort int

// The orders, as the key s cycles through them.
const (
	ByBusy Sort = iota
	ByIOPS
	ByBytes
	ByAwait
	ByName
	sorts // how many there are
)

// Next is the order after this one.
func (s Sort) Next() Sort { return (s + 1) % sorts }

// String names the column.
func (s Sort) String() string { return [...]string{"busy", "IOPS", "bytes", "await", "name"}[s] }

// The smallest supported screen.
const (
	WidthLeast  = 40
	HeightLeast = 8
)

// cells measures text as a terminal that shows ambiguous characters narrow.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// A screen collects lines.
type screen struct {
	View
	lines []Line
}

// Render lays out a moment. Lines are at most as wide as the view, and there are at most as many as
// its height.
func Render(moment *Moment, view View) []Line {
	if view.Zone == nil {
		view.Zone = time.UTC
	}

	if view.Width < WidthLeast || view.Height > 0 && view.Height < HeightLeast {
		return small(view)
	}

	drawn := &screen{View: view}
	drawn.title(moment)
	last := Line{{drawn.clean(view.Message), Warn}}

	if view.Message == "" {
		last = Line{{"m mark  space freeze  ←→ 1 s  PgUp/PgDn 1 min  End now  s sort  ? help  q quit", Dim}}
	}

	room := view.Height - 1 // of the title
	if view.Keys || view.Message != "" {
		room--
	}

	// Unlimited height: more lines than any moment has.
	if view.Height == 0 {
		room = 1 << 20
	}

	if view.Help {
		drawn.lines = append(drawn.lines, drawn.help(room)...)
	} else {
		drawn.body(moment, room)
	}

	if view.Keys || view.Message != "" {
		// The keys stay on the last line, however short the rest is.
		for view.Height > 0 && len(drawn.lines) < view.Height-1 {
			drawn.lines = append(drawn.lines, nil)
		}
		drawn.lines = append(drawn.lines, last)
	}

	// Names from outside may be of any length, so that every line is cut here, once.
	for i := range drawn.lines {
		drawn.lines[i] = drawn.fit(drawn.lines[i])
	}

	return drawn.lines
}

// small says that the screen is too small.
func small(v View) []Line {
	s := &screen{View: v}
	text := []string{"too small:", "need at least 40 x 8"}
	for _, t := range text {
		// Even this text must not be higher than the screen, or the terminal scrolls.
		if v.Height == 0 || len(s.lines) < v.Height {
			s.lines = append(s.lines, s.fit(Line{{t, Plain}}))
		}
	}
	return s.lines
}

// clean makes untrusted text safe to display.
func (s *screen) clean(text string) string {
	if s.ASCII {
		return document.ASCII(plainer.Replace(text))
	}
	return document.Visible(text)
}

// plainer replaces the non-ASCII characters that this package uses.
var plainer = strings.NewReplacer("–", "-", "←→", "arrows", "…", "~")

// fit cuts a line to the view's width.
func (s *screen) fit(l Line) Line {
	var out Line
	left := s.Width
	for _, p := range l {
		if s.ASCII {
			p.Text = plainer.Replace(p.Text)
		}

		// Width in columns, not in characters: a CJK character takes two.
		if w := cells.StringWidth(p.Text); w > left {
			p.Text = cells.Truncate(p.Text, left, s.ellipsis(left))
		}

		left -= cells.StringWidth(p.Text)
		if p.Text != "" {
			out = append(out, p)
		}

		if left <= 0 {
			break
		}
	}

	return out
}

func (s *screen) ellipsis(left int) string {
	switch {
	case left < 1:
		return ""
	case s.ASCII:
		return "~"
	}
	return "…"
}

// left and right align a text in the given number of columns.
func (s *screen) left(text string, n int) string {
	text = s.cut(text, n)
	return text + strings.Repeat(" ", max(0, n-cells.StringWidth(text)))
}

func (s *screen) right(text string, n int) string {
	text = s.cut(text, n)
	return strings.Repeat(" ", max(0, n-cells.StringWidth(text))) + text
}

func (s *screen) cut(text string, n int) string {
	text = s.clean(text)
	if cells.StringWidth(text) > n {
		return cells.Truncate(text, n, s.ellipsis(n))
	}
	return text
}

// number prints a value, or a dash if it was not measured.
func number(x float64, unit string) string {
	if !(x >= 0) {
		return "–"
	}
	return units.Value(x, unit)
}

// title is the first line, in reverse video over the whole width.
func (s *screen) title(m *Moment) {
	clock := "no samples yet"
	if !m.To.IsZero() {
		clock = m.At.In(s.Zone).Format("2006-01-02 15:04:05 MST")
	}
	state := clock + "  " + s.State + " "
	head := " plimsoll top  "
	room := s.Width - len(head) - cells.StringWidth(state) - 1
	text := head
	// The time is needed to read the rest of the screen, so the sources are cut first.
	if room > 0 {
		text += s.left(s.Sources, room) + " "
	}
	s.lines = append(s.lines, Line{{s.left(text+s.clean(state), s.Width), Reverse}})
}

// help lists the keys.
func (s *screen) help(room int) (out []Line) {
	for _, k := range [][2]string{
		{"m", "mark a change now (type a text, then Enter)"},
		{"space", "freeze or resume the screen"},
		{"← →", "one second back or forward"}, {"PgUp PgDn", "one minute back or forward"},
		{"Home End", "the oldest or the newest moment"},
		{"p n", "the previous or the next incident"},
		{"↑ ↓", "scroll the list of incidents"},
		{"s", "sort devices by busy, IOPS, bytes, await or name"},
		{"? h", "this page"}, {"q Ctrl-C", "quit"},
		{"", ""},
		{"", "busy: share of time in which the device had I/O in flight."},
		{"", "of limit: share of the device's IOPS or bytes/s limit, as given by --volume,"},
		{"", "reported, or seen to bind. A device may have an unknown limit not yet reached."},
		{"", "Shares marked * overlap: they may count the same waiting twice."},
	} {
		if len(out) < room {
			if s.ASCII {
				k[0] = strings.NewReplacer("← →", "left right", "↑ ↓", "up down").Replace(k[0])
			}
			out = append(out, Line{{"  " + s.left(k[0], 12), Bold}, {k[1], Plain}})
		}
	}

	return out
}
