//go:build race

package plan

// underRace reports that the race detector is on.
const underRace = true
