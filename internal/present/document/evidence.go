package document

import (
	"strconv"
	"strings"
)

// An Evidence is the basis of figures: how to reproduce them, and where they are in the output.
type Evidence struct {
	Number   int
	Name     string
	Text     string
	Commands []string // of a shell; figures are in the JSON of the first
	Fields   []string // of that JSON
	PromQL   []string // over the recording
	Lines    []Cell   // of the scenario
}

const evidencePrefix = "#e"

// Href is its address within the document.
func (e *Evidence) Href() string { return evidencePrefix + strconv.Itoa(e.Number) }

// EvidenceNumber is the number of the evidence that an address leads to, as it is shown in
// brackets.
func EvidenceNumber(href string) string { return strings.TrimPrefix(href, evidencePrefix) }

// A Scenario is the file that figures come from, as it was read: each line has the address "#line"
// and its number.
type Scenario struct {
	File  string
	Lines []string
}
