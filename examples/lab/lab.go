// Package lab holds the scenarios of the error table and what was measured of them, so that the
// program can compare its models with real engines where there is no checkout and no root:
// `plimsoll casebook` does.
package lab

import "embed"

// Files are suite.yaml, the scenarios it lists, and measured.json, which `plimsoll lab table
// --save` writes.
//
//go:embed *.yaml measured.json
var Files embed.FS

// MeasuredFile is the name of what was measured.
const MeasuredFile = "measured.json"
