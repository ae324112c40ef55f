package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/results"
)

// variantsMax bounds the variants of a comparison: more do not fit on a page.
const variantsMax = 16

// asWritten is the table's name for the unchanged scenario.
const asWritten = "as written"

// A variant is a scenario with a name; the unchanged scenario has none.
type variant struct {
	name string
	sets []string
	sc   *scenario.Scenario
	text []byte // of the file
}

// variants reads the scenario, and reads it again for each --compare.
func (o *simulateOptions) variants(ctx context.Context, language *scenario.Language, path string) (
	[]variant, error) {
	file, err := openScenario(ctx, language, path)
	if err != nil {
		return nil, err
	}

	sets := o.sets
	if o.seedSet {
		sets = append(sets[:len(sets):len(sets)], "seed="+strconv.FormatUint(o.seed, 10))
	}

	out := []variant{{sets: sets}}
	seen := map[string]bool{asWritten: true}
	for _, text := range o.compare {
		v, err := parseVariant(text)
		if err != nil {
			return nil, err
		}

		if seen[v.name] {
			return nil, usagef("give each its own name", "--compare: two variants are called %q", v.name)
		}

		seen[v.name] = true

		// The full slice expression forces a copy, or variants would overwrite each other's
		// changes.
		v.sets = append(sets[:len(sets):len(sets)], v.sets...)
		out = append(out, v)
	}

	for i := range out {
		sc, err := file.Parse(out[i].sets)
		var problems scenario.Problems
		switch {
		case errors.As(err, &problems):
			if out[i].name != "" {
				err = fmt.Errorf("variant %q:\n%w", out[i].name, err)
			}
			return nil, failf(exitUsage, problems.Hint(), "the scenario cannot be simulated:\n%w", err)
		case err != nil:
			return nil, err
		}

		out[i].sc, out[i].text = sc, file.Text()
	}

	return out, nil
}

// origin describes the inputs that a page of variants is made from.
func (o *simulateOptions) origin(path string, variants []variant) results.Origin {
	out := results.Origin{Program: programName(), File: path, Text: variants[0].text}
	var all []*scenario.Scenario
	for _, v := range variants {
		out.Sets, all = append(out.Sets, v.sets), append(all, v.sc)
	}
	out.Prices = pricesOf("", all...)
	return out
}

// language is what scenarios may contain, with the machines and prices of the catalogue.
func (a *app) language() *scenario.Language {
	return scenario.NewLanguage(engine.All().Models(), a.catalog)
}

// openScenario reads the file. A pipe may never end, so the read can be interrupted.
func openScenario(ctx context.Context, language *scenario.Language, path string) (*scenario.File, error) {
	file, err := unlessInterrupted(ctx, func() (*scenario.File, error) { return language.Open(path) })
	if err == nil || ctx.Err() != nil {
		return file, cmp.Or(ctx.Err(), err)
	}

	hint := ""
	switch info, statErr := os.Stat(path); {
	case path == "-":
		hint = "to read a scenario from a pipe, use /dev/stdin"
	case statErr == nil && info.IsDir():
		hint = "name the YAML file in it"
	case errors.Is(statErr, fs.ErrNotExist):
		hint = "plimsoll simulate --help shows the usage, --schema what a scenario may contain"
	}

	return nil, &failure{code: exitFailure, err: err, hint: hint}
}

// parseVariant reads "name: a.b=c,d.e=f"; without a name, the changes are the name.
func parseVariant(text string) (variant, error) {
	name, rest := "", text
	if strings.HasPrefix(strings.TrimSpace(text), ":") {
		return variant{}, usagef("for example --compare 'more IOPS: volumes.data.iops=16000'",
			"--compare %q has no name before its colon", text)
	}

	// A colon after the first equals sign belongs to a value, such as {type: gp3}.
	if colon, equals := strings.IndexByte(text, ':'), strings.IndexByte(text, '='); colon >= 0 &&
		colon < equals {
		name, rest = strings.TrimSpace(text[:colon]), text[colon+1:]
	}

	v := variant{name: name, sets: splitSets(rest)}
	if name == "" {
		v.name = strings.TrimSpace(rest)
	}

	if len(v.sets) == 0 || !strings.Contains(v.sets[0], "=") {
		return v,
			usagef("for example --compare 'more IOPS: volumes.data.iops=16000,volumes.data.throughput=250MiB/s'",
				"--compare %q contains no change", text)
	}

	return v, nil
}

// splitSets splits at commas outside brackets and quotes.
func splitSets(text string) []string {
	var out []string
	depth, quote, from := 0, rune(0), 0
	keep := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}

	last := rune(0) // except spaces
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		// only as a value's first character; elsewhere it is literal
		case (r == '\'' || r == '"') && strings.ContainsRune("=:,[{", last):
			quote = r
		case r == '{' || r == '[':
			depth++
		case r == '}' || r == ']':
			depth--
		case r == ',' && depth == 0:
			keep(text[from:i])
			from = i + 1
		}
		if r != ' ' {
			last = r
		}
	}

	keep(text[from:])
	return out
}
