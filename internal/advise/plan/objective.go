package plan

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// An InputError is an error in the user's input, with a hint on how to fix it.
type InputError struct {
	Text string
	Next string // what to do; "" if that is obvious
}

// Error returns what is wrong.
func (e *InputError) Error() string { return e.Text }

// Hint returns what to do next.
func (e *InputError) Hint() string { return e.Next }

func inputf(next, format string, args ...any) error {
	return &InputError{Text: fmt.Sprintf(format, args...), Next: next}
}

// objectiveNames are the possible objectives, by their names in scenarios.
var objectiveNames = []string{
	"write_p50", "write_p95", "write_p99", "write_p999", "write_max",
	"read_p50", "read_p95", "read_p99", "read_p999", "read_max", "checkpoint",
}

// ObjectiveNames returns the possible objectives.
func ObjectiveNames() []string { return slices.Clone(objectiveNames) }

// objectiveBytesMax bounds the text of an objective.
const objectiveBytesMax = 100

// ParseObjective reads an objective: "write_p99 < 25ms", also with <= and without spaces. The error
// is an *[InputError].
func ParseObjective(text string) (scenario.Bound, error) {
	const how = "write it as --objective 'write_p99 < 25ms'"
	if len(text) > objectiveBytesMax {
		return scenario.Bound{}, inputf(how,
			"objective too long: %d characters, want only a name and a time", len(text))
	}

	name, most, ok := strings.Cut(text, "<")
	if !ok {
		return scenario.Bound{}, inputf(how, "%q is not an objective", text)
	}

	name, most = strings.TrimSpace(name), strings.TrimSpace(strings.TrimPrefix(most, "="))
	if !slices.Contains(objectiveNames, name) {
		next := "one of " + strings.Join(objectiveNames, ", ")
		if near := inputerror.Nearest(name, objectiveNames); near != "" {
			next = "did you mean " + near + "?"
		}
		return scenario.Bound{}, inputf(next, "objective %q: unknown metric %q", text, name)
	}

	d, err := units.ParseDuration(most)
	if err != nil {
		return scenario.Bound{}, inputf(how, "objective %q: %v", text, err)
	}

	if d <= 0 {
		return scenario.Bound{}, inputf("", "objective %q: the time must be positive", text)
	}

	return scenario.Bound{Name: name, Most: d}, nil
}

// objectives returns the given objectives, or the scenario's own if none are given. It checks that they
// do not contradict each other, and that the workload has the operations that they bound.
func objectives(sc *scenario.Scenario, e *Profile, given []scenario.Bound) ([]scenario.Bound, error) {
	if len(given) == 0 {
		given = sc.Objective.Bounds()
	}

	if len(given) == 0 {
		return nil,
			inputf(
				"for example --objective 'write_p99 < 25ms'", "no objective: the scenario has none, and none is given")
	}

	writes := float64(sc.Workloads().Writes())
	for i, b := range given {
		for _, other := range given[:i] {
			if other.Name == b.Name {
				return nil, inputf("give only one of them", "contradictory objectives: %s must be under %s and under %s",
					b.Name, other.Most, b.Most)
			}
		}
		switch {
		case strings.HasPrefix(b.Name, "read_") && writes >= 1:
			return nil, inputf("use write_p99, for example",
				"objective %s: the workload does not read", b.Name)
		case strings.HasPrefix(b.Name, "write_") && writes <= 0:
			return nil, inputf("use read_p99, for example",
				"objective %s: the workload does not write", b.Name)
		case b.Name == "checkpoint" && e.NoCheckpoint != "":
			return nil, inputf("use write_p99, for example", "objective checkpoint: %s", e.NoCheckpoint)
		}
	}

	return slices.Clone(given), nil
}
