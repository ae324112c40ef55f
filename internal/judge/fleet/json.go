package fleet

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (draft 2020-12) of a [Report].
func Schema() []byte { return slices.Clone(schema) }
