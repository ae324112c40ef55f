//go:build !linux

package ebs

import "errors"

// Read works only on Linux.
func Read(string) (*StatsPage, error) {
	return nil, errors.New("log page 0xD0 can be read only on Linux")
}
