package steps

import (
	"errors"
	"fmt"
)

// An InputError is an error in the user's input, with a hint on how to fix it.
type InputError struct{ Text, Next string }

// Error returns what is wrong.
func (e *InputError) Error() string { return e.Text }

// Hint returns what to do.
func (e *InputError) Hint() string { return e.Next }

// BadInput marks it as an error in the user's input.
func (e *InputError) BadInput() {}

// Inputf makes an [InputError].
func Inputf(next, format string, args ...any) error {
	return &InputError{Text: fmt.Sprintf(format, args...), Next: next}
}

// A Failure is an error with a hint on what to do about it.
type Failure struct{ text, next string }

// Error returns what went wrong.
func (e *Failure) Error() string { return e.text }

// Hint returns what to do.
func (e *Failure) Hint() string { return e.next }

// Failf makes a [Failure].
func Failf(next, format string, args ...any) error {
	return &Failure{fmt.Sprintf(format, args...), next}
}

// Hinted returns the text of an error, followed by its hint in parentheses.
func Hinted(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return fmt.Sprintf("%s (%s)", err, h.Hint())
	}
	return err.Error()
}
