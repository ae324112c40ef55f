//go:build race

package diagnose_test

func init() { underRace = true }
