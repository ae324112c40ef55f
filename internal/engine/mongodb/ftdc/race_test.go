//go:build race

package ftdc

// underRace reports that the race detector is active.
const underRace = true
