package emit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/model/scenario"
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

// An InputError is an error in the user's input, with a hint on how to fix it.
type InputError struct {
	Text string
	Next string // what to do; "" if that is obvious
	// Unmet: the input is valid, but no layout meets the objective.
	Unmet bool
	// Unchanged: the input is valid, but nothing has to change.
	Unchanged bool
}

// Error returns what is wrong.
func (e *InputError) Error() string { return e.Text }

// Hint returns what to do next.
func (e *InputError) Hint() string { return e.Next }

// Inputf makes an [InputError].
func Inputf(next, format string, args ...any) error {
	return &InputError{Text: fmt.Sprintf(format, args...), Next: next}
}

// A Request says what to emit. It is the part of a plan that emit uses: the scenario that the plan was made
// for, and the changes that it chose. It can also be created without a plan.
type Request struct {
	File string // the scenario's file
	Text string // the scenario
	// Facts are assignments that describe the current deployment, so they require no changes.
	Facts []string
	Sets  []string // assignments that make up the layout, including the facts
	New   bool     // nothing of it exists yet
}

// IsPlan reports whether a text is a plan (a JSON object) rather than a scenario (YAML in block
// style).
func IsPlan(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n"), []byte("{"))
}

// ReadPlan parses the output of `plimsoll plan -o json`. name is the file name, for errors, which are of
// type *[InputError].
func ReadPlan(name string, text []byte) (*Request, error) {
	const again = "create one with plimsoll plan SCENARIO --objective 'write_p99 < 25ms' -o json > plan.json"
	if len(text) > PlanBytesMax {
		return nil, Inputf(again, "%s is longer than any plan (%d MiB)", name, PlanBytesMax>>20)
	}

	var decoded struct {
		Version  int `json:"version"`
		Scenario struct {
			File  string   `json:"file"`
			Text  string   `json:"text"`
			Facts []string `json:"facts"`
		} `json:"scenario"`
		New    bool            `json:"new"`
		Chosen json.RawMessage `json:"chosen"`
	}

	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if err := d.Decode(&decoded); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, Inputf("was it truncated? "+again, "%s is not a complete plan: it ends in the middle", name)
		}
		return nil, Inputf(again, "%s is not a plan: %v", name, jsonerror.Explain(text, err))
	}

	// Two concatenated plans would otherwise be accepted silently, and only the first applied.
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, Inputf(again, "%s has text after the plan: want one JSON object", name)
	}

	switch {
	case decoded.Version == 0 || decoded.Scenario.Text == "" || decoded.Chosen == nil:
		return nil, Inputf(again, "%s is not a plan: it lacks %s", name, lacking(decoded.Version, decoded.Scenario.Text))
	case decoded.Version != planVersion:
		return nil, Inputf("use the version of plimsoll that wrote it, or create it again",
			"%s is a plan of version %d, this program reads version %d", name, decoded.Version, planVersion)
	// A plan without a choice is valid JSON, but there is nothing to emit.
	case string(decoded.Chosen) == "null":
		return nil, &InputError{Unmet: true,
			Text: name + ": the plan chose no layout: none that it considered meets the objective",
			Next: "plimsoll plan shows which layout comes closest and what limits it; relax the objective, or raise the budget"}
	}

	var chosen struct {
		Sets []string `json:"sets"`
	}
	if err := json.Unmarshal(decoded.Chosen, &chosen); err != nil {
		return nil, Inputf(again, "%s is not a plan: chosen: %v", name, jsonerror.Explain(nil, err))
	}

	if n := max(len(chosen.Sets), len(decoded.Scenario.Facts)); n > planSetsMax {
		return nil, Inputf(again, "%s: too many assignments: %d, want at most %d", name, n, planSetsMax)
	}

	return &Request{File: decoded.Scenario.File, Text: decoded.Scenario.Text, Facts: decoded.Scenario.Facts,
		Sets: chosen.Sets,
		New:  decoded.New}, nil
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

// Transition returns the change that a plan makes. The error is of type inputerror.List if the scenario or an
// assignment is invalid, and otherwise as for [NewTransition].
func (p *Request) Transition(of Engines) (*Transition, error) {
	file := of.Language.NewFile(p.File, []byte(p.Text))
	before, err := file.Parse(p.Facts)
	if err != nil {
		return nil, err
	}
	after, err := file.Parse(p.Sets)
	if err != nil {
		return nil, err
	}
	if p.New {
		before = unbuilt(after)
	}

	l, err := NewTransition(of, before, after, p.File, p.Sets)
	if err == nil {
		l.isNew = p.New
	}
	return l, err
}

// unbuilt returns the "before" of a deployment that does not exist yet: no volumes, no machine, and the
// defaults of the engine and the kernel.
func unbuilt(after *scenario.Scenario) *scenario.Scenario {
	before := *after

	// If the engine's defaults alone are not a valid scenario, there is nothing to compare the settings
	// with.
	if plain, err := after.With(scenario.Set{Path: "engine." + after.Engine.Name(), Value: "{}"}); err == nil {
		before.Engine = plain.Engine
	}

	host := "{instance: " + after.Host.Instance + "}"
	if after.Host.Instance == "" {
		host = fmt.Sprintf("{cores: %d, memory: %s}", after.Host.Cores, after.Host.Memory.Exact())
	}
	if plain, err := after.With(scenario.Set{Path: "host", Value: host}); err == nil {
		before.Host = plain.Host
	}

	before.Host.Instance, before.Host.FileSystem = "", after.Host.FileSystem
	before.Volumes, before.Members = nil, nil

	return &before
}
