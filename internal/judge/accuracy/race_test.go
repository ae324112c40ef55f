//go:build race

package accuracy_test

// underRace says that the race detector is at work.
const underRace = true
