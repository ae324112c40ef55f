//go:build !linux

package bigpage

func ask[T any]([]T) {}
