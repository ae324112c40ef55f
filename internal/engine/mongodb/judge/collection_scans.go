package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A scan counts if it takes at least leastScanS. Its effect on writes is reported if their median
// latency rises by scanFeltFrom.
const (
	leastScanS   = 3.0
	scanFeltFrom = 1.25
)

func collectionScans() rules.Rule {
	rule := rules.Rule{ID: "mongodb/collection-scans", Title: "Queries examine many documents for each result",
		Kind:  rules.Cause,
		When:  "plimsoll:mongodb_scanned_objects:rate > 20000 and on() (plimsoll:mongodb_scanned_objects:rate > 100 * plimsoll:mongodb_returned_objects:rate)",
		Needs: []*rules.Signal{ScannedObjects, ReturnedObjects},
		Cause: "A query without an index examines every document of its collection, and an aggregation, a sort or a skip that uses an index may examine just as many. It occupies a core while it runs, and it reads the collection through the cache, so pages that others need are evicted and read again.",
		Words: rules.Words{
			"scanned":     "For {{.for}}, {{.scanned}} documents were examined per second to return {{.returned}}{{with .scans}} ({{.}} collection scans per second){{end}}.",
			"scans title": "Queries scan whole collections",
			"by index":    "None of them scanned a whole collection. Either they used an index and still examined many documents (an aggregation, a skip, an unselective index), or a change stream read the oplog.",
			"unknown":     "This version does not report whether they scanned whole collections.",
			"writes":      "Writes took {{.then}} meanwhile and {{.usual}} otherwise (medians), {{.times}} times as long.",
			"same":        "Writes were no slower in that time: {{.then}}, otherwise {{.usual}} (medians).",
			"closing":     "Queries {{.did}} for {{.for}}: writes took {{.then}} meanwhile and {{.usual}} otherwise (medians).",
			"cpu":         "The CPUs were {{.then}} busy, otherwise {{.usual}}.",
			"cache":       "{{.then}} per second were read into the cache, otherwise {{.usual}}.",
		},
		Advice: map[string]rules.Advice{
			"less": {Summary: "Find the queries (the log's slow queries, by docsExamined over nreturned, or db.system.profile): store the aggregated values, use an index that selects more, page by a value instead of a skip; until then bound them with maxTimeMS or send them to a secondary",
				Expect:    "fewer documents are examined for each result",
				TradeOff:  "each write has to keep the stored values up to date",
				NoCommand: "the queries and what they need depend on the application: explain shows it"},
			"index": {Summary: "Find the queries (log lines with planSummary: COLLSCAN, or db.system.profile) and give them an index; until then bound them with maxTimeMS or send them to a secondary",
				Expect:    "a lookup instead of a scan; the writers get the cores and the cache back",
				TradeOff:  "an index costs memory and a write with each change of its keys",
				NoCommand: "which index helps depends on the queries: explain shows it"},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		cells := rules.Held(held)
		if input.Seconds(cells) < leastScanS {
			return nil
		}

		finding := rule.Finding("queries")
		finding.Severity = rules.Info
		if fraction, pIn, pOut := input.Attributable(cells); fraction >= rules.MinAttributable &&
			pIn >= rules.StallRatio*pOut && input.Contrasts(cells) {
			finding.Weight, finding.Severity = fraction, input.SeverityIn(cells, fraction)
			finding.Evidence = append(finding.Evidence,
				input.Figure("share of the time that stalled while so many documents were examined", ScannedObjects, pIn,
					"ratio", cells),
				input.Figure("share of the time that stalled while they were not", ScannedObjects, pOut, "ratio",
					cells.Not()))
		}

		if input.Stall.Class == rules.Reading && input.Stall.Any() && !input.MeetsByChance(cells) {
			// The slow reads may be the scans themselves, with no other reads to compare with.
			finding.Weight = max(finding.Weight, rules.Share(cells, input.Stall.Cells))

			// That is never critical by itself: with each incident of a recording the chance grows that
			// one of them falls into a scan (2.8 % of independent recordings).
			if finding.Severity == rules.Info && input.SeverityIn(cells, finding.Weight) != rules.Info {
				finding.Severity = rules.Warning
			}
		}

		finding.Windows = input.Windows(cells.Close(3))
		mean := func(s *rules.Signal) float64 { return timeline.Mean(timeline.At(input.One(s), cells)) }
		said := rules.Values{"for": rules.Seconds(input.Seconds(cells)),
			"scanned":  rules.Number(mean(ScannedObjects)),
			"returned": rules.Number(mean(ReturnedObjects)), "scans": ""}

		if n := mean(CollectionScans); n > 0 {
			said["scans"] = rules.Number(n)
		}

		finding.Say("scanned", said)
		did, advice := scanned(input, &finding, cells)
		finding.Evidence = append(finding.Evidence,
			input.Figure("documents examined per second, mean", ScannedObjects, mean(ScannedObjects), "1/s", cells))

		if felt, then, usual := scansFelt(input, &finding, cells); felt && finding.Severity == rules.Info {
			finding.Close("closing", rules.Values{"did": did, "for": said["for"], "then": then, "usual": usual})
		}

		finding.Advise(advice, nil)
		return []rules.Finding{finding}
	}

	return rule
}

// scanned reports whether the queries scanned whole collections. It returns what they did, for the
// closing sentence, and the advice that helps.
func scanned(c *rules.Case, f *rules.Finding, cells timeline.Mask) (did rules.Value, advice string) {
	scans := c.One(CollectionScans)
	switch {
	case scans == nil:
		f.Say("unknown", nil)
		return "examined many documents for each result", "index"
	case timeline.Max(timeline.At(scans, cells.Widen(1, 1))) > 0:
		f.Entitle("scans title", nil)
		return "scanned whole collections", "index"
	}
	f.Say("by index", nil)
	return "examined many documents for each result", "less"
}

// scansFelt compares writes, CPUs and cache during the scans with the rest of the time. It reports
// whether writes took longer, and their median latencies.
func scansFelt(c *rules.Case, f *rules.Finding, cells timeline.Mask) (felt bool, during,
	otherwise rules.Value) {
	compare := func(s *rules.Signal, q float64) (then, usual float64, ok bool) {
		v := c.One(s)
		other := timeline.Known(v).Without(cells)
		then, usual = timeline.Quantile(timeline.At(v, cells), q), timeline.Quantile(timeline.At(v, other), q)
		// NaN differs from itself: either side may have no samples.
		return then, usual, then == then && usual == usual && usual > 0
	}

	if then, usual, ok := compare(WriteLatency, 0.5); ok {
		words := "same"
		if then >= scanFeltFrom*usual {
			words, felt = "writes", true
		}
		during, otherwise = rules.Seconds(then), rules.Seconds(usual)
		f.Say(words, rules.Values{"then": rules.Seconds(then), "usual": rules.Seconds(usual),
			"times": rules.Number(then / usual)})
		f.Evidence = append(f.Evidence,
			c.Figure("mean latency of writes in such an interval, median", WriteLatency, then, "seconds", cells),
			c.Figure("the same at other times", WriteLatency, usual, "seconds", cells.Not()))
	}

	if then, usual, ok := compare(rules.CPUBusy, 0.5); ok {
		f.Say("cpu", rules.Values{"then": rules.Part(then), "usual": rules.Part(usual)})
	}

	if then, usual, ok := compare(CacheRead, 0.5); ok && then >= scanFeltFrom*usual {
		f.Say("cache", rules.Values{"then": rules.Bytes(then), "usual": rules.Bytes(usual)})
	}

	return felt, during, otherwise
}
