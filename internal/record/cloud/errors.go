package cloud

import (
	"errors"
	"fmt"
)

// What a provider refuses, for those who go on without it: errors.Is finds them in the error of
// [Refuse].
var (
	ErrDenied   = errors.New("a permission is missing")
	ErrNotFound = errors.New("there is no such resource")
)

// Refuse returns an error with its own text, which says what a provider refused and what to do. kind is
// ErrDenied, ErrNotFound or nil.
func Refuse(kind error, format string, args ...any) error {
	return &refusedError{fmt.Sprintf(format, args...), kind}
}

type refusedError struct {
	text string
	kind error
}

func (e *refusedError) Error() string { return e.text }

// Is reports whether the error is of a kind.
func (e *refusedError) Is(target error) bool { return e.kind != nil && e.kind == target }
