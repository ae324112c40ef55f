//go:build !race

package engines_test

const underRace = false
