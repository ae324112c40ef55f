// Package mongod holds what clients of a real MongoDB server measured, and the scenarios of those
// runs, so that the server's model can be compared with them without a server.
package mongod

import "embed"

// Files are suite.yaml, its scenario, and measured.json: figures that were taken from the results of
// plimsoll lab run --server.
//
//go:embed *.yaml measured.json
var Files embed.FS

// MeasuredFile is the name of the file with the measurements.
const MeasuredFile = "measured.json"
