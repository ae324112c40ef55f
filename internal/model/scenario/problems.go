package scenario

import "plimsoll/internal/base/yamltree"

// A Problem is one mistake in a scenario, with its position.
type Problem = yamltree.Problem

// Problems are all mistakes in a scenario. As an error they are a few lines each.
type Problems []Problem

// Error lists every problem: the position and the problem, and the line with a mark.
func (p Problems) Error() string { return yamltree.Problems(p).Error() }

// BadInput marks the error as a mistake in the user's input.
func (p Problems) BadInput() {}

// Hint is what to do next.
func (p Problems) Hint() string {
	return "plimsoll simulate --schema prints what a scenario may contain; editors that support JSON Schema can complete it"
}

// The names of a scenario, and of an assignment to one, in errors.
const (
	noun = "scenario"
	like = "volumes.data.iops=16000"
	// setsMax bounds assignments over the file.
	setsMax = 1000
)
