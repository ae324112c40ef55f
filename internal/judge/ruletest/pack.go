package ruletest

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
)

// Scripts returns the scripts of a pack's own rules, sorted by name.
func Scripts(pack *rules.Pack) ([]*Script, error) {
	var out []*Script
	for _, folder := range pack.Scripts() {
		names, err := fs.Glob(folder, "testdata/*.test")
		if err != nil {
			return nil, fmt.Errorf("scripts of rules: %w", err)
		}

		for _, name := range names {
			f, err := folder.Open(name)
			if err != nil {
				return nil, err
			}
			s, err := Parse(pack, name, f)
			_ = f.Close() // it was only read
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}

	slices.SortStableFunc(out, func(a, b *Script) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
