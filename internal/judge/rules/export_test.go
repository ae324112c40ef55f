package rules

import (
	"fmt"
	"text/template"
)

// CheckWords checks the syntax of a rule's templates. It exists only for tests: at program start it
// took an eighth of the startup time.
func (r *Rule) CheckWords() error {
	check := func(name, text string) error {
		if _, err := template.New(name).Parse(text); err != nil {
			return fmt.Errorf("words %q: %w", name, err)
		}
		return nil
	}

	for name, text := range r.Words {
		if text == "" {
			return fmt.Errorf("words %q are empty", name)
		}
		if err := check(name, text); err != nil {
			return err
		}
	}

	for name, a := range r.Advice {
		for _, text := range []string{a.Summary, a.Expect, a.TradeOff} {
			if text == "" {
				return fmt.Errorf("advice %q lacks a part", name)
			}
			if err := check(name, text); err != nil {
				return err
			}
		}
	}

	return nil
}
