package main

import "testing"

// Each command that the help lists is in one of its groups, so that a new one does not end up below
// "Additional".
func TestHelpHasAStepForEachCommand(t *testing.T) {
	a, _, _ := testApp()
	for _, c := range newRootCommand(a).Commands() {
		if c.IsAvailableCommand() && c.GroupID == "" {
			t.Errorf("%s is in no group of the help", c.Name())
		}
	}
}
