package rules

import "embed"

// Scripts are the test scripts of the rules, testdata/<id with - for />.test, inside the program: package ruletest runs them.
//
//go:embed testdata/*.test
var Scripts embed.FS
