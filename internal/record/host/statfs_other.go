//go:build !linux

package host

import "errors"

// statfs exists only on Linux, like the whole source.
func statfs(string) (space, error) { return space{}, errors.ErrUnsupported }
