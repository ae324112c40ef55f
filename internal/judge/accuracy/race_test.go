//go:build race

package accuracy_test

// underRace reports that the race detector is on.
const underRace = true
