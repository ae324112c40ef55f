package steps

import (
	"errors"
	"slices"
	"testing"
)

// A direction that no version wrote stops a rollout before it saves or does anything.
func TestRunRefusesAnUnknownDirection(t *testing.T) {
	for direction, want := range map[string][]string{
		GoesForward: {"save"}, GoesBack: {"save", "save"}, IsUndone: nil, IsFinished: nil, "": nil, "undo": nil,
	} {
		var did []string
		c := &Course{Direction: &direction, Save: func() error { did = append(did, "save"); return nil }}
		err := c.Run(t.Context())

		var input *InputError
		if unknown := direction == "" || direction == "undo"; errors.As(err, &input) != unknown {
			t.Errorf("%q: %v", direction, err)
		}
		if !slices.Equal(did, want) {
			t.Errorf("%q did %q, want %q", direction, did, want)
		}
	}
}
