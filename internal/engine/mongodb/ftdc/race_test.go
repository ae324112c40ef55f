//go:build race

package ftdc

// underRace says that the race detector is at work.
const underRace = true
