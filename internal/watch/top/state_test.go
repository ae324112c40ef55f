package top

import (
	"context"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/frame"
)

var noon = time.Date(2026, 7, 20, 12, 0, 0, 0, time.UTC)

// still is a feed with a fixed time.
type still struct{ live bool }

func (f still) Live() bool                           { return f.live }
func (still) Mark(time.Time, string) (string, error) { return "at the quay", nil }
func (f still) Bounds() (from, to time.Time) {
	if f.live {
		return from, to
	}
	return noon, noon.Add(time.Hour)
}
func (still) Load(context.Context, time.Time) (*rules.Case, *diagnose.Report, error) {
	return nil, nil, ErrWaiting
}

// at returns what is shown at a moment.
func at(s *State, newest time.Time) *frame.Moment {
	m := &frame.Moment{At: s.At, From: noon, To: noon.Add(time.Hour), Begins: []time.Time{noon.Add(10 * time.Minute), noon.Add(20 * time.Minute)}}
	if s.live && s.Follow {
		m.At = newest
	}
	return m
}

// A recording is played, paused, navigated, and resumed.
func TestReplayKeys(t *testing.T) {
	s := newState(Options{Feed: still{}})
	press := func(keys ...Key) {
		for _, k := range keys {
			s.Press(k, at(s, noon))
		}
	}

	for _, step := range []struct {
		keys   []Key
		want   time.Duration
		follow bool
	}{
		{nil, 0, true},
		{[]Key{Right, Right, PgDn}, 62 * time.Second, false},
		{[]Key{Left, PgUp, PgUp}, 0, false},
		{[]Key{"n"}, 10 * time.Minute, false},
		{[]Key{"n"}, 20 * time.Minute, false},
		{[]Key{"n"}, 20 * time.Minute, false},
		{[]Key{"p"}, 10 * time.Minute, false},
		{[]Key{" "}, 10 * time.Minute, true},
		{[]Key{End}, time.Hour, false},
		{[]Key{Home}, 0, false},
		{[]Key{"x", "", "\x1b[A"}, 0, false},
	} {
		if press(step.keys...); !s.At.Equal(noon.Add(step.want)) || s.Follow != step.follow {
			t.Errorf("%q: at %s, follow %v", step.keys, s.At.Sub(noon), s.Follow)
		}
	}

	press(" ")
	for range 3 {
		s.tick()
	}

	if !s.At.Equal(noon.Add(3*time.Second)) || s.view(frame.View{}).State != "replay" {
		t.Errorf("after three seconds at %s, %q", s.At.Sub(noon), s.view(frame.View{}).State)
	}
}

// Live sources are followed until the user navigates.
func TestLiveKeys(t *testing.T) {
	s := newState(Options{Feed: still{live: true}})
	newest := noon.Add(30 * time.Minute)
	if s.wanted() != (time.Time{}) || s.view(frame.View{}).State != "live" {
		t.Errorf("%+v", s)
	}

	s.Press(Left, at(s, newest))
	if !s.At.Equal(newest.Add(-time.Second)) || s.view(frame.View{}).State != "FROZEN" {
		t.Errorf("%+v", s)
	}

	s.Press(End, at(s, newest))
	if s.wanted() != (time.Time{}) {
		t.Errorf("%+v", s)
	}

	s.Press(" ", at(s, newest))
	if !s.wanted().Equal(newest) {
		t.Errorf("%+v", s)
	}
}

// A mark is typed; keys that are not characters are ignored.
func TestMarkKeys(t *testing.T) {
	s := newState(Options{Feed: still{}})
	enter := func(keys ...Key) (a Action) {
		for _, k := range keys {
			a = s.Press(k, at(s, noon))
		}
		return a
	}

	if a := enter("m", "q", " ", "ü", Left, "x", Backspace, "\x1b", Enter); a.Mark == nil || *a.Mark != "q ü" || a.Quit {
		t.Errorf("%+v", a)
	}

	if a := enter("m", "q", Escape); a.Mark != nil || a.Quit {
		t.Errorf("%+v", a)
	}

	if a := enter("m", Backspace, Backspace, Enter); a.Mark == nil || *a.Mark != "" {
		t.Errorf("%+v", a)
	}

	enter("m")
	for range 500 {
		enter("x")
	}

	if a := enter(Enter); len(*a.Mark) != 200 {
		t.Errorf("a text of %d bytes", len(*a.Mark))
	}

	for _, k := range []Key{"q", Interrupt} {
		if a := enter(k); !a.Quit {
			t.Errorf("%s does not quit", k)
		}
	}

	if a := enter("m", Interrupt); !a.Quit {
		t.Error("Ctrl-C does not quit while a mark is typed")
	}
}

// Keys that change the view.
func TestViewKeys(t *testing.T) {
	s := newState(Options{Feed: still{}})
	m := at(s, noon)
	m.Incidents = make([]frame.Incident, 3)
	for _, k := range []Key{"?", "s", "s", Down, Down, Down, Down, Up} {
		s.Press(k, m)
	}
	if v := s.view(frame.View{}); !v.Help || v.Sort != frame.ByBytes || v.Skip != 1 {
		t.Errorf("%+v", v)
	}
	s.Press("m", m)
	if v := s.view(frame.View{}); !strings.HasPrefix(v.Message, "mark") {
		t.Errorf("%+v", v)
	}
}
