package cloud

import (
	"errors"
	"fmt"
)

// Refusals after which a caller may continue without the data. errors.Is finds them in the errors
// of [Refuse].
var (
	ErrDenied   = errors.New("missing permission")
	ErrNotFound = errors.New("resource not found")
)

// Refuse returns an error whose text says what a provider refused and what to do. kind is
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
