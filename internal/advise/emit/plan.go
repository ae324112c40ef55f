package emit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of a plan. A plan contains every layout of its frontier, which emit does not use.
const (
	// PlanBytesMax is the largest size of a plan.
	PlanBytesMax = 32 << 20
	// planVersion is the version of `plan -o json`; additions do not change it.
	planVersion = 1
	// planSetsMax is more than any plan chooses.
	planSetsMax = 1000
)

// An InputError says what is wrong with the user's input, and what to do about it.
type InputError struct {
	Text string
	Next string // what to do; "" if that is obvious
	// Unmet says that the input is valid, but that no layout meets the objective.
	Unmet bool
	// Unchanged says that the input is valid, and that nothing has to change.
	Unchanged bool
}

// Error says what is wrong.
func (e *InputError) Error() string { return e.Text }

// Hint says what to do next.
func (e *InputError) Hint() string { return e.Next }

// Inputf makes an [InputError].
func Inputf(next, format string, args ...any) error {
	return &InputError{Text: fmt.Sprintf(format, args...), Next: next}
}

// A Plan is the part of a plan that emit uses, or the same without one: the scenario it was made for,
// and the changes that it chose.
type Plan struct {
	File string // the scenario's file
	Text string // the scenario
	// Facts are assignments over it that hold already, so that nothing has to be done for them.
	Facts []string
	Sets  []string // assignments over it that the layout makes, the facts among them
}

// IsPlan reports whether a text is a plan (a JSON object) rather than a scenario (YAML in block
// style).
func IsPlan(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n"), []byte("{"))
}

// ReadPlan reads the output of `plimsoll plan -o json`. name is the file's, for errors, which are
// of type *[InputError].
func ReadPlan(name string, text []byte) (*Plan, error) {
	const again = "plimsoll plan SCENARIO --objective 'write_p99 < 25ms' -o json > plan.json makes one"
	if len(text) > PlanBytesMax {
		return nil, Inputf(again, "%s is longer than any plan (%d MiB)", name, PlanBytesMax>>20)
	}

	var p struct {
		Version  int `json:"version"`
		Scenario struct {
			File  string   `json:"file"`
			Text  string   `json:"text"`
			Facts []string `json:"facts"`
		} `json:"scenario"`
		Chosen json.RawMessage `json:"chosen"`
	}

	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if err := d.Decode(&p); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, Inputf("was it cut off? "+again, "%s ends in the middle: it is not a complete plan", name)
		}
		return nil, Inputf(again, "%s is not a plan: %v", name, err)
	}

	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, Inputf(again, "%s goes on after the plan: it should be one JSON object", name)
	}

	switch {
	case p.Version == 0 || p.Scenario.Text == "" || p.Chosen == nil:
		return nil, Inputf(again, "%s is not a plan: it lacks %s", name, lacking(p.Version, p.Scenario.Text))
	case p.Version != planVersion:
		return nil, Inputf("use the plimsoll that made it, or make it again",
			"%s is a plan of version %d, this program reads %d", name, p.Version, planVersion)
	case string(p.Chosen) == "null":
		return nil, &InputError{Unmet: true,
			Text: name + ": the plan chose nothing: no layout it looked at meets the objective",
			Next: "plimsoll plan says what comes nearest and which limit forbids it; loosen the objective, or raise the budget"}
	}

	var chosen struct {
		Sets []string `json:"sets"`
	}
	if err := json.Unmarshal(p.Chosen, &chosen); err != nil {
		return nil, Inputf(again, "%s is not a plan: chosen: %v", name, err)
	}

	if n := max(len(chosen.Sets), len(p.Scenario.Facts)); n > planSetsMax {
		return nil, Inputf(again, "%s: %d assignments are more than %d", name, n, planSetsMax)
	}

	return &Plan{File: p.Scenario.File, Text: p.Scenario.Text, Facts: p.Scenario.Facts, Sets: chosen.Sets}, nil
}

func lacking(version int, text string) string {
	switch {
	case version == 0:
		return `"version"`
	case text == "":
		return `the scenario's "text"`
	}
	return `"chosen"`
}

// Layout makes the layout of a plan. The error is of type diagnostics.List if the scenario or an
// assignment is wrong, otherwise as of [NewLayout].
func (p *Plan) Layout(of Engines) (*Layout, error) {
	file := of.Language.NewFile(p.File, []byte(p.Text))
	before, err := file.Parse(p.Facts)
	if err != nil {
		return nil, err
	}
	after, err := file.Parse(p.Sets)
	if err != nil {
		return nil, err
	}
	return NewLayout(of, before, after, p.File, p.Sets)
}
