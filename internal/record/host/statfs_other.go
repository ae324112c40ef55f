//go:build !linux

package host

import "errors"

// statfs is of Linux, as the whole source is.
func statfs(string) (space, error) { return space{}, errors.ErrUnsupported }
