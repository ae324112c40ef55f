package scenario

import "plimsoll/internal/base/yamltree"

// A Problem is one thing that is wrong with a scenario, and where it stands.
type Problem = yamltree.Problem

// Problems are all that is wrong with a scenario. As an error they are a few lines each.
type Problems []Problem

// Error tells every problem: the place and the problem, and the line with a mark.
func (p Problems) Error() string { return yamltree.Problems(p).Error() }

// BadInput marks the error as one of what a person wrote.
func (p Problems) BadInput() {}

// Hint is what to do next.
func (p Problems) Hint() string {
	return "plimsoll simulate --schema prints what a scenario may say; editors that know JSON Schema complete it"
}

// What errors call a scenario, and an assignment over one.
const (
	noun = "scenario"
	like = "volumes.data.iops=16000"
	// setsMax bounds assignments over the file.
	setsMax = 1000
)
