package casebook

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/model/engine"
)

// An Entry is an embedded case in a list. Its JSON is a contract: that of `plimsoll casebook -o
// json`.
type Entry struct {
	Number   int    `json:"number"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Variants int    `json:"variants"`
	Figures  int    `json:"figures"` // that were published
}

// List is all embedded cases. An error is a mistake in one of them.
func List(engines []engine.With[plan.Profiler]) ([]Entry, error) {
	var out []Entry
	for i, name := range Names() {
		c, err := Open(name, engines)
		if err != nil {
			return nil, err
		}
		e := Entry{Number: i + 1, Name: name, Title: c.Title, Variants: len(c.Variants)}
		for _, s := range c.Steps {
			e.Figures += len(s.Figures)
		}
		out = append(out, e)
	}
	return out, nil
}
