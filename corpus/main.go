// Command corpus scores diagnoses of published incidents. Each folder next to this file is a case:
// inputs made from the figures that someone published, and truth.yaml. README.md explains how to
// score another tool.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

func main() {
	program := flag.String("program", "bin/plimsoll", "the program whose diagnoses are scored")
	answers := flag.String("answers", "", "score a file of another tool's answers instead")
	cases := flag.String("cases", "corpus", "the folder of cases")
	flag.Parse()

	if err := run(*cases, *program, *answers, os.Getenv("CORPUS_UNREAD") == "1"); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(dir, program, answers string, unread bool) error {
	cases, err := load(dir)
	if err != nil {
		return err
	}

	// Answers of another tool come from a file, because only its user can run it.
	var scored []Scored
	if answers != "" {
		scored, err = scoreFile(cases, answers)
	} else {
		scored, err = scoreAll(cases, program)
	}
	if err != nil {
		return err
	}

	_, err = fmt.Fprintf(os.Stdout, "%s\n%s", totals(scored, false), listing(scored, unread))
	return err
}

// scoreFile scores the answers of another tool: a map from a case's name to its answer.
func scoreFile(cases []Case, path string) ([]Scored, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	var answers map[string]Answer
	if err := yaml.UnmarshalWithOptions(text, &answers, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	var out []Scored
	for _, c := range cases {
		a, ok := answers[c.Name]
		if !ok {
			a.Refused = "no answer"
		}
		out = append(out, score(c, a))
	}
	return out, nil
}
