package casebook

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/model/database"
)

// An Entry is an embedded case in the list. Its JSON is the output of `plimsoll casebook -o json` and a
// contract.
type Entry struct {
	Number   int    `json:"number"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Variants int    `json:"variants"`
	Figures  int    `json:"figures"` // number of published figures
}

// List returns all embedded cases. It fails if one of them is invalid.
func List(engines []database.With[plan.Profiler]) ([]Entry, error) {
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
