//go:build race

package engines_test

// underRace says that the race detector is at work.
const underRace = true
