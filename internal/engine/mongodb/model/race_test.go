//go:build race

package model

// Under the race detector an hour of virtual time takes minutes, and its figures are the same.
func init() { underRace = true }
