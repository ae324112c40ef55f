// Package docs holds the pages of the rules, so that the program can show them where
// there is no checkout and no network, such as on the host of a database that stalls.
package docs

import "embed"

// Rules has the page of each rule as rules/<id with - for />.md, and that of each fix with its commands
// as rules/fixes/<remedy>.md.
//
//go:embed rules/*.md rules/fixes/*.md
var Rules embed.FS
