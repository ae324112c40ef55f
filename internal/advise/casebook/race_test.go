//go:build race

package casebook

func init() { underRace = true }
