//go:build race

package engines_test

// underRace reports that the race detector is active.
const underRace = true
