//go:build !race

package accuracy_test

const underRace = false
