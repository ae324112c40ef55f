package diagnosis

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"time"

	"plimsoll/internal/judge/diagnose"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of the output of [JSON].
func Schema() []byte { return slices.Clone(schema) }

// JSON writes a report for programs: indented, in a stable order, with times in UTC. Arrays are
// never null. A number that is not finite becomes null if the contract allows it; otherwise it is
// an error, because zero would be wrong.
func JSON(w io.Writer, r *diagnose.Report) error {
	var text bytes.Buffer // an error leaves no partial output
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // "<" is more readable than its escape, and the output is not a web page
	if err := enc.Encode(contract(reflect.ValueOf(r)).Interface()); err != nil {
		return fmt.Errorf("report as JSON: %w", err)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// contract returns a copy of a part of a report that satisfies the JSON contract.
func contract(part reflect.Value) reflect.Value {
	out := reflect.New(part.Type()).Elem()
	out.Set(part)
	switch x := part.Interface().(type) {
	case time.Time:
		out.Set(reflect.ValueOf(x.UTC()))
		return out
	case *float64:
		if x != nil && (math.IsNaN(*x) || math.IsInf(*x, 0)) {
			out.SetZero()
		}
		return out
	}

	switch part.Kind() {
	case reflect.Pointer:
		if !part.IsNil() {
			out.Set(reflect.New(part.Type().Elem()))
			out.Elem().Set(contract(part.Elem()))
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(part.Type(), part.Len(), part.Len()))
		for i := range part.Len() {
			out.Index(i).Set(contract(part.Index(i)))
		}
	case reflect.Struct:
		for i := range part.NumField() {
			if f := part.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				out.Field(i).Set(contract(part.Field(i)))
			}
		}
	}

	return out
}
