package workload

import (
	_ "embed"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/base/units"
)

// A Preset is a workload known by a name.
type Preset struct {
	Name   string `yaml:"name"`
	About  string `yaml:"about"`  // one line: its description
	Source string `yaml:"source"` // where its figures come from, and which are assumed
	Spec   Spec   `yaml:"spec"`
}

//go:embed presets.yaml
var presetsText []byte

var presets = sync.OnceValue(func() []Preset {
	var out []Preset
	if err := yaml.UnmarshalWithOptions(presetsText, &out, yaml.Strict()); err != nil {
		panic("workload: presets.yaml: " + err.Error()) // embedded, and tested
	}
	return out
})

// Presets are the workloads known by name, in the order in which they are listed. The values that their
// specifications point to are shared and must not be changed.
func Presets() []Preset { return slices.Clone(presets()) }

const (
	second = units.Duration(1e9)
	minute = 60 * second
)
