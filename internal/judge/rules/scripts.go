package rules

import "embed"

// scripts are the test scripts of the core's rules, testdata/<id with - for />.test, inside the
// program: package ruletest runs them.
//
//go:embed testdata/*.test
var scripts embed.FS
