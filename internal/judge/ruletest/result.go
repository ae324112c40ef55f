package ruletest

import (
	"context"
	"fmt"
)

// A Result is the outcome of a case. Its JSON is the contract of `plimsoll rules test -o json`.
type Result struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Rule     string   `json:"rule"`
	Kind     string   `json:"kind"`
	Case     string   `json:"case"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures,omitempty"`
}

// RunAll runs all cases of the scripts, in order. progress, if not nil, is called before each.
func RunAll(ctx context.Context, scripts []*Script, progress func(done, total int)) ([]Result, error) {
	total := 0
	for _, s := range scripts {
		total += len(s.Cases)
	}

	out := []Result{}
	for _, s := range scripts {
		for i := range s.Cases {
			if progress != nil {
				progress(len(out), total)
			}

			c := &s.Cases[i]
			found, err := s.Run(ctx, c)
			if err != nil {
				return nil, err
			}

			r := Result{File: s.Name, Line: c.Line, Rule: s.Rule.ID, Kind: c.Kind, Case: c.Title,
				Passed: len(found) == 0}
			for _, x := range found {
				r.Failures = append(r.Failures, fmt.Sprintf("%s:%d: %s", s.Name, x.Line, x.Text))
			}

			out = append(out, r)
		}
	}

	return out, nil
}

// Failed counts the cases that failed.
func Failed(all []Result) int {
	n := 0
	for i := range all {
		if !all[i].Passed {
			n++
		}
	}
	return n
}
