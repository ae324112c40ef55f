//go:build !linux

package main

// withinAddressSpace does nothing: only Linux limits the address space.
func withinAddressSpace() (code int, ran bool) { return 0, false }
