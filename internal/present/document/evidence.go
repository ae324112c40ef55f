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

// EvidenceNumber returns the number of the evidence at an address, as shown in brackets.
func EvidenceNumber(href string) string { return strings.TrimPrefix(href, evidencePrefix) }

// A Scenario is the file that figures come from, unchanged. The address of each line is "#line"
// followed by its number.
type Scenario struct {
	File  string
	Lines []string
}
