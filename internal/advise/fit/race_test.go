//go:build race

package fit_test

func init() { underRace = true }
