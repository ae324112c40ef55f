package results

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/present/document"
	"plimsoll/internal/trace/chain"
)

// longest shows the longest call over time: its stages, and below them the requests at its disks by
// owner.
func longest(doc *document.Document, report *chain.Report) []document.Part {
	if len(report.Worst) == 0 || report.Worst[0].Queue == nil || len(report.Worst[0].Queue.Owners) == 0 {
		return []document.Part{{Text: "No requests were traced around it."}}
	}

	call := &report.Worst[0]
	queue := call.Queue
	seconds := func(ns int64) float64 { return float64(ns-queue.From) / 1e9 }
	doc.Timeline = &document.Timeline{ToS: seconds(queue.To), Elapsed: true, From: "0 s",
		To:   traceTime(call.Took() * 12 / 10),
		Note: fmt.Sprintf("%s of %s (%s), %s", call.Call.Kind, call.Process, report.FileName(call.File), traceTime(call.Took()))}

	bands := []document.Band{{Kind: "stall", Name: "behind others"},
		{Kind: "checkpoint", Name: "rest of the call"}}
	for i := range call.Segments {
		s := &call.Segments[i]
		band := &bands[1]
		switch s.Stage {
		// In these stages the call waits for others; in the rest it waits for its own work.
		case chain.DeviceQueue, chain.Scheduler, chain.TagWait, chain.WBT, chain.CgroupWait, chain.Throttle,
			chain.LockWait, chain.HandleWait:
			band = &bands[0]
		default:
		}

		from, to := seconds(s.From), seconds(s.To)
		// Adjacent segments of one kind are one band.
		if n := len(band.Spans); n > 0 && band.Spans[n-1][1] >= from {
			band.Spans[n-1][1] = to
			continue
		}

		band.Spans = append(band.Spans, [2]float64{from, to})
	}

	for _, b := range bands {
		if len(b.Spans) > 0 {
			doc.Timeline.Bands = append(doc.Timeline.Bands, b)
		}
	}

	chart := document.Chart{ID: "queue", Title: "Requests at the disks", StepS: float64(queue.Step()) / 1e9,
		About: "from submission to completion, by owner"}
	for i, name := range queue.Owners {
		chart.Series = append(chart.Series,
			document.Series{Name: ownerName(report, name), Style: i + 1, Values: queue.Requests[i]})
	}

	doc.Timeline.Charts = []document.Chart{chart}
	return []document.Part{{Timeline: doc.Timeline}, {Table: longestTable(call)}}
}

// ownerName replaces a file in an owner's label by what it holds.
func ownerName(r *chain.Report, label string) string {
	for _, file := range slices.Sorted(maps.Keys(r.Header.Holds)) {
		if before, after, ok := strings.Cut(label, " "+path.Base(file)+" ("); ok {
			return before + " " + r.Header.Holds[file] + " (" + after
		}
	}
	return label
}

// longestTable lists the longest call's stages in order.
func longestTable(c *chain.Chain) *document.Table {
	tab := document.NewTable("Its stages, in time order", "#after", "#took", "in the call", "stage", "behind")
	for i := range c.Segments {
		s := &c.Segments[i]
		if float64(s.Took()) < 0.01*float64(c.Took()) {
			continue
		}
		behind := ""
		if len(s.Shares) > 0 && s.Shares[0].Culprit != (chain.Culprit{}) {
			behind = culpritPhrase(&s.Shares[0].Culprit)
		}
		tab.Line(fmt.Sprintf("%.1f ms", float64(s.From-c.Call.Enter)/1e6), traceTime(s.Took()), placeWords[s.Place],
			stageWords[s.Stage], behind)
	}

	return tab
}
