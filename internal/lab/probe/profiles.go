//go:build linux

package probe

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/base/yamltree"
)

//go:embed profiles/*.yaml
var general embed.FS

// Profiles holds the texts of built-in profiles by name.
type Profiles map[string][]byte

// ProfilesOf returns the profiles of some engines, each with files profiles/NAME.yaml, and those
// that are not specific to an engine.
func ProfilesOf(engines []fs.FS) (Profiles, error) {
	l := Profiles{}
	for _, folder := range append([]fs.FS{general}, engines...) {
		files, err := fs.Glob(folder, "profiles/*.yaml")
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if l[strings.TrimSuffix(path.Base(f), ".yaml")], err = fs.ReadFile(folder, f); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// Names returns the sorted names of the profiles.
func (l Profiles) Names() []string { return slices.Sorted(maps.Keys(l)) }

// WithCriterion returns the names of the profiles that have a criterion.
func (l Profiles) WithCriterion() []string {
	return slices.DeleteFunc(l.Names(), func(name string) bool {
		p, err := Parse(name, l[name])
		return err != nil || p.Criterion == nil
	})
}

// Load returns a built-in profile by its name, or reads one from a file.
func (l Profiles) Load(nameOrPath string) (*Profile, error) {
	if text, ok := l[nameOrPath]; ok {
		return Parse(nameOrPath, text)
	}

	f, err := os.Open(nameOrPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil, inputf("probe: %s is not a file or a built-in profile (%s)", nameOrPath,
			strings.Join(l.Names(), ", "))
	}

	if err != nil {
		return nil, fmt.Errorf("probe: cannot read the profile: %w", err)
	}

	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, yamltree.BytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("probe: cannot read the profile: %w", err)
	}

	return Parse(nameOrPath, text)
}
