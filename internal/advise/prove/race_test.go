//go:build race

package prove

func init() { underRace = true }
