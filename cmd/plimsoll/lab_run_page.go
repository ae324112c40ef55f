//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/results"
)

// labRunDocument is a result of the lab as a document. A server's address is not repeated: what was given may hold a password.
func labRunDocument(r *run.Result, origin results.Origin) *document.Document {
	l := &r.Lab
	page := results.LabResult{Result: r.Result, Model: r.Model, Saturated: l.Saturated || l.Dispatch.Behind}
	if v := l.Existing; v != nil {
		origin.Command = append(origin.Command, "--server", "ADDRESS")
		page.Where = fmt.Sprintf("a server that runs already, %s (%s); %s %s", v.Address, l.Server, v.Database, keptWord(v.Kept))
	} else {
		page.Where = fmt.Sprintf("%s on %s; volumes emulated in %s; %s", l.Server, l.FileSystem, l.Backing, l.Kernel)
	}
	if p := r.PowerLoss; p != nil {
		page.Remarks = append(page.Remarks, "Power: "+powerText(p))
	}
	for _, text := range slices.Sorted(maps.Keys(l.Errors)) {
		page.Remarks = append(page.Remarks, fmt.Sprintf("%s operations failed: %s", whole(l.Errors[text]), text))
	}
	page.Remarks = append(page.Remarks, fmt.Sprintf("Operations began late by %s in the median, %s at p99", units.Seconds(l.Dispatch.LateP50), units.Seconds(l.Dispatch.LateP99)))
	page.Remarks = append(page.Remarks, l.Remarks...)
	return results.LabRun(page, origin)
}
