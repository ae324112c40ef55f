// Package lab holds the scenarios of the error table and their measurements, so that the program can compare
// its models with real engines without a checkout and without root: `plimsoll casebook` does.
package lab

import "embed"

// Files are suite.yaml, the scenarios it lists, and measured.json, which `plimsoll lab table
// --save` writes.
//
//go:embed *.yaml measured.json
var Files embed.FS

// MeasuredFile is the name of the file with the measurements.
const MeasuredFile = "measured.json"
