// Package jsonerror describes, to the user who has the file, why JSON could not be decoded.
//
// The errors of encoding/json are written for programmers: "cannot unmarshal string into Go struct field
// job.write of type float64". They also leave out the line.
package jsonerror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// An explained error keeps the decoder's error for callers that look for a certain one.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// Explain returns the error of decoding text in plain words: "line 7: not valid JSON". text may be
// nil if it is not known.
func Explain(text []byte, err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError

	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return &explained{"the JSON ends in the middle", err}
	case errors.As(err, &syntax):
		return &explained{place(text, syntax.Offset) + "not valid JSON", err}
	case errors.As(err, &wrong) && wrong.Field != "":
		return &explained{fmt.Sprintf("%s%s is a %s, which is not expected there", place(text, wrong.Offset),
			wrong.Field, kind(wrong.Value)), err}
	case errors.As(err, &wrong):
		return &explained{fmt.Sprintf("%s%s is not expected there", place(text, wrong.Offset), kind(wrong.Value)), err}
	}

	return &explained{"it has a value of a different kind than expected", err}
}

// kind is the name of a JSON value: a number's error contains its digits, however many.
func kind(value string) string {
	name, _, _ := strings.Cut(value, " ")
	return name
}

// place returns the line of an offset, for the start of an error.
func place(text []byte, offset int64) string {
	if offset <= 0 || offset > int64(len(text)) {
		return ""
	}
	return fmt.Sprintf("line %d: ", 1+bytes.Count(text[:offset], []byte("\n")))
}
