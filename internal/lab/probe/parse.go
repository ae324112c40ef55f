//go:build linux

package probe

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
)

// A written is a profile as written in its file.
type written struct {
	About     string                        `yaml:"about"`
	Measured  string                        `yaml:"measured"`
	Stage     units.Duration                `yaml:"stage"`
	Criterion *Criterion                    `yaml:"criterion"`
	Streams   yamltree.Keyed[writtenStream] `yaml:"streams"`
}

// A writtenStream is a stream, plus the fields that are written differently in a file.
type writtenStream struct {
	Stream     `yaml:",inline"`
	Arrivals   arrivals `yaml:"arrivals"`
	Prewritten *bool    `yaml:"prewritten"` // default: true
	Depth      *int     `yaml:"depth"`      // default: 1
}

// arrivals are random if true, otherwise evenly spaced.
type arrivals bool

// UnmarshalText reads even or poisson.
func (a *arrivals) UnmarshalText(text []byte) error {
	*a = string(text) == "poisson"
	if !*a && string(text) != "even" {
		return fmt.Errorf("%q: want even or poisson", text)
	}
	return nil
}

// stream returns the stream with defaults applied.
func (w *writtenStream) stream(name string) Stream {
	s := w.Stream
	s.Name, s.Poisson, s.Depth, s.Prewritten = name, bool(w.Arrivals), 1, w.Prewritten == nil || *w.Prewritten
	if w.Depth != nil {
		s.Depth = *w.Depth
	}
	return s
}

// Parse parses a profile. The error lists everything that is wrong, with file, line and column.
func Parse(name string, text []byte) (*Profile, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	src := yamltree.NewSource(name, text)
	root, err := yamltree.Parse(text, "profile", "")

	var refused *yamltree.Unreadable
	if errors.As(err, &refused) {
		return nil, yamltree.Problems{src.Place(inputerror.Problem{Text: refused.Text}, refused.At)}
	}

	if err != nil {
		return nil, err
	}

	w := written{Stage: units.Duration(10e9)}
	d := &yamltree.Decoder{}
	if root.Kind == yamltree.Null {
		d.Fail("", yamltree.Position{Line: 1, Column: 1}, "empty profile: want measured, stage and streams")
	}

	d.Decode(root, reflect.ValueOf(&w).Elem(), "")
	profile := &Profile{Name: name, About: strings.TrimSpace(w.About), Measured: w.Measured, Stage: w.Stage,
		Criterion: w.Criterion}
	for _, s := range w.Streams {
		if at := "streams." + s.Name; !isName(s.Name) {
			d.Fail(at, root.Locate(at), "%q is not a valid stream name: want up to 32 letters, digits, - and _",
				s.Name)
		}
		profile.Streams = append(profile.Streams, s.Value.stream(s.Name))
	}

	var found yamltree.Problems
	for _, x := range d.Problems {
		found = append(found, src.Place(x.Problem, x.At))
	}

	// Values are checked only if all of them could be decoded. Otherwise defaults would cause
	// separate errors.
	if len(found) == 0 {
		for _, x := range profile.Check() {
			found = append(found, src.Place(x, root.Locate(x.Field)))
		}
	}

	if len(found) > 0 {
		return nil, found
	}

	return profile, nil
}

func isName(s string) bool {
	return s != "" && len(s) <= 32 &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
