//go:build race

package portable

func init() { underRace = true }
