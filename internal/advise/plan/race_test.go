//go:build race

package plan

// underRace says that the race detector is at work.
const underRace = true
