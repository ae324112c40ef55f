//go:build !linux

package spare

func limited() bool { return false }
