package top

import (
	"time"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/present/frame"
	"plimsoll/internal/record/recording"
)

// A Key is either one of the names below or a character.
type Key string

// The keys.
const (
	Left      Key = "left"
	Right     Key = "right"
	Up        Key = "up"
	Down      Key = "down"
	PgUp      Key = "pgup"
	PgDn      Key = "pgdn"
	Home      Key = "home"
	End       Key = "end"
	Enter     Key = "enter"
	Escape    Key = "escape"
	Backspace Key = "backspace"
	Interrupt Key = "ctrl-c"
)

// An Action is what a key requests beyond a change of the view.
type Action struct {
	Quit bool
	// Mark, if not nil, is the text of a mark for the shown moment.
	Mark *string
}

// A State defines which moment is shown, and how.
type State struct {
	live     bool
	from, to time.Time // bounds of a recording
	// Follow shows the newest moment, or plays a recording; otherwise At is fixed.
	Follow bool
	At     time.Time
	Sort   frame.Sort
	Skip   int
	Help   bool
	// Message is shown until the next key.
	Message string

	typing bool
	typed  string
}

func newState(opt Options) *State {
	s := &State{live: opt.Feed.Live(), Follow: true, At: opt.At, Sort: opt.View.Sort}
	if !s.live {
		s.from, s.to = opt.Feed.Bounds()
		if s.At.IsZero() {
			s.At = s.from
		}
		s.At = clamp(s.At, s.from, s.to)
	} else if !s.At.IsZero() {
		s.Follow = false
	}
	return s
}

// wanted returns the moment to request from the feed; zero for the newest.
func (s *State) wanted() time.Time {
	if s.live && s.Follow {
		return time.Time{}
	}
	return s.At
}

// tick advances a playing recording by one frame.
func (s *State) tick() {
	if !s.live && s.Follow {
		s.At = clamp(s.At.Add(frameEvery), s.from, s.to)
	}
}

// atEnd reports whether a recording has been played to its end.
func (s *State) atEnd() bool { return !s.live && !s.At.Before(s.to) }

// moment returns what to show of the loaded data.
func (s *State) moment(got loaded) *frame.Moment {
	at := s.At
	if s.live && s.Follow && got.c != nil {
		at = got.c.Whole().To
	}
	return frame.At(got.c, got.r, at)
}

// view returns how to show it.
func (s *State) view(v frame.View) frame.View {
	v.Sort, v.Skip, v.Help, v.Message = s.Sort, s.Skip, s.Help, s.Message
	if s.typing {
		v.Message = "mark (Enter sets it, Esc cancels): " + s.typed + "_"
	}

	switch {
	case s.live && s.Follow:
		v.State = "live"
	case s.live:
		v.State = "FROZEN"
	case s.atEnd():
		v.State = "end"
	case s.Follow:
		v.State = "replay"
	default:
		v.State = "PAUSED"
	}

	return v
}

// Press handles a key, given the moment that is shown.
func (s *State) Press(k Key, m *frame.Moment) (a Action) {
	s.Message = ""
	if k == Interrupt {
		return Action{Quit: true}
	}
	if s.typing {
		return s.typeKey(k)
	}

	switch k {
	case "q", "Q":
		return Action{Quit: true}
	case "?", "h":
		s.Help = !s.Help
	case Escape:
		s.Help = false
	case "m", "M":
		s.typing, s.typed = true, ""
		if s.live && s.Follow {
			s.stop(m) // the moment at which the key was pressed
		}
	case "s", "S":
		s.Sort = s.Sort.Next()
		s.Message = "devices by " + s.Sort.String()
	case " ":
		s.freeze(m)
	case Up:
		s.Skip = max(0, s.Skip-1)
	case Down:
		s.Skip = min(s.Skip+1, max(0, len(m.Incidents)-1))
	default:
		s.move(k, m)
	}

	return Action{}
}

// freeze stops time, or lets it continue.
func (s *State) freeze(m *frame.Moment) {
	if s.Follow {
		s.stop(m)
		return
	}
	s.Follow = true
}

// stop freezes the shown moment.
func (s *State) stop(m *frame.Moment) {
	s.Follow = false
	if !m.To.IsZero() {
		s.At = m.At
	}
}

// move moves through time.
func (s *State) move(k Key, m *frame.Moment) {
	from, to := s.from, s.to
	if s.live {
		from, to = m.From, m.To
	}

	if to.IsZero() {
		return
	}

	at := m.At
	switch k {
	case Left:
		at = at.Add(-time.Second)
	case Right:
		at = at.Add(time.Second)
	case PgUp:
		at = at.Add(-time.Minute)
	case PgDn:
		at = at.Add(time.Minute)
	case Home:
		at = from
	case End:
		at = to
		if s.live {
			s.Follow = true
			return
		}
	case "p", "n":
		at = s.incident(k == "n", m)
	default:
		return
	}

	s.Follow, s.At = false, clamp(at, from, to)
}

// incident returns the beginning of the incident before or after the shown moment, among those that
// the moment lists; if there is none, the moment itself.
func (s *State) incident(after bool, m *frame.Moment) time.Time {
	best := m.At
	for _, at := range m.Begins {
		switch {
		case after && at.After(m.At) && (best.Equal(m.At) || at.Before(best)):
			best = at
		case !after && at.Before(m.At.Add(-time.Second)) && (best.Equal(m.At) || at.After(best)):
			best = at
		}
	}

	if best.Equal(m.At) {
		s.Message = "no incident before this moment"
		if after {
			s.Message = "no incident after this moment"
		}
	}

	return best
}

// typeKey handles a key while the text of a mark is typed.
func (s *State) typeKey(k Key) (a Action) {
	switch k {
	case Enter:
		s.typing = false
		text := s.typed
		return Action{Mark: &text}
	case Escape:
		s.typing = false
	case Backspace:
		_, n := utf8.DecodeLastRuneInString(s.typed)
		s.typed = s.typed[:len(s.typed)-n]
	default:
		r, n := utf8.DecodeRuneInString(string(k))
		if n == len(k) && unicode.IsPrint(r) && len(s.typed)+n <= recording.MarkTextMax {
			s.typed += string(k)
		}
	}

	return Action{}
}

func clamp(t, from, to time.Time) time.Time {
	switch {
	case t.Before(from):
		return from
	case t.After(to):
		return to
	}
	return t
}
