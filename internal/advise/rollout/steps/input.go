package steps

import (
	"errors"
	"fmt"
)

// An InputError says what is wrong with what the user gave, and what to do about it.
type InputError struct{ Text, Next string }

// Error says what is wrong.
func (e *InputError) Error() string { return e.Text }

// Hint says what to do.
func (e *InputError) Hint() string { return e.Next }

// BadInput marks it as the user's.
func (e *InputError) BadInput() {}

// Inputf makes an [InputError].
func Inputf(next, format string, args ...any) error {
	return &InputError{Text: fmt.Sprintf(format, args...), Next: next}
}

// A Failure says what went wrong, and what to do about it.
type Failure struct{ text, next string }

// Error says what went wrong.
func (e *Failure) Error() string { return e.text }

// Hint says what to do.
func (e *Failure) Hint() string { return e.next }

// Failf makes a [Failure].
func Failf(next, format string, args ...any) error {
	return &Failure{fmt.Sprintf(format, args...), next}
}

// Hinted is an error with what to do about it.
func Hinted(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return fmt.Sprintf("%s (%s)", err, h.Hint())
	}
	return err.Error()
}
