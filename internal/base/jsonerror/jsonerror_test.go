package jsonerror

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": 1,\n}":  "line 3: not valid JSON",
		"{\"a\": ":         "the JSON ends in the middle",
		"{\n\"a\": \"x\"}": "line 2: a is a string, which is not expected there",
		"[1]":              "line 1: array is not expected there",
		"{\"a\": 1" + strings.Repeat("0", 500) + "}": "line 1: a is a number, which is not expected there",
	} {
		var into struct {
			A float64 `json:"a"`
		}
		decoded := json.Unmarshal([]byte(text), &into)
		err := Explain([]byte(text), decoded)
		if err == nil || err.Error() != want || !errors.Is(err, decoded) {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}

	if Explain(nil, nil) != nil {
		t.Error("no error is explained as one")
	}
}
