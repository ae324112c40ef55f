//go:build race

package engine_test

// underRace reports that the race detector is active.
const underRace = true
