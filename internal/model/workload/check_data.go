package workload

import (
	"fmt"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// keys checks which documents are requested.
func (c *checker) keys() {
	k := c.Keys
	names := []string{uniformKeys, zipfKeys, latestKeys, hotsetKeys, sequentialKeys}
	switch k.Distribution {
	case zipfKeys, latestKeys:
		if !(k.Theta > 0 && k.Theta <= random.ZipfThetaMax) {
			c.add(inputerror.Problem{Field: "keys.theta",
				Text:  fmt.Sprintf("%g is not a valid exponent for zipf", k.Theta),
				Limit: fmt.Sprintf("over 0, at most %d", random.ZipfThetaMax), Source: sourceProgram, Nearest: "0.99"})
		}
	case hotsetKeys:
		c.share("keys.hot_operations", k.HotOperations)
		c.share("keys.hot_keys", k.HotKeys)
	case uniformKeys, sequentialKeys:
	default:
		c.add(inputerror.Problem{Field: "keys.distribution",
			Text:    "unknown distribution " + k.Distribution + ": want uniform, zipf, latest, hotset or sequential",
			Nearest: inputerror.Nearest(k.Distribution, names)})
	}

	if k.Count > CountMax {
		c.add(inputerror.Problem{Field: "keys.count", Text: k.Count.String() + " are too many",
			Limit: fmt.Sprint(uint64(CountMax)), Source: sourceProgram, Nearest: fmt.Sprint(uint64(CountMax))})
	}
}

func (c *checker) share(field string, r units.Ratio) {
	if !(r > 0 && r <= 1) {
		c.add(inputerror.Problem{Field: field, Text: r.String() + " is not a share",
			Limit: "over 0 %, at most 100 %", Nearest: "100%"})
	}
}

func (c *checker) size(field string, s units.Size) {
	switch {
	case s < 1:
		c.add(inputerror.Problem{Field: field, Text: s.String() + " is not a valid document size",
			Limit: "at least 1 B", Nearest: "1B"})
	case s > documentMax:
		c.add(inputerror.Problem{Field: field, Text: s.String() + " is more than engines accept",
			Limit: documentMax.Exact(), Source: sourceField, Nearest: documentMax.Exact()})
	}
}

func (c *checker) document() {
	document := c.Document
	if document == nil {
		return
	}

	ways := 0
	for _, given := range []bool{document.Size != 0, document.Uniform != nil, len(document.Quantiles) > 0} {
		if given {
			ways++
		}
	}

	switch {
	case ways != 1:
		c.problems.Addf("document", "%d kinds of sizes: set only one of size, uniform and quantiles", ways)
	case document.Uniform != nil:
		c.size("document.uniform.from", document.Uniform.From)
		c.size("document.uniform.to", document.Uniform.To)
		if document.Uniform.From > document.Uniform.To {
			c.problems.Addf("document.uniform", "from %s is more than to, %s", document.Uniform.From, document.Uniform.To)
		}
	case len(document.Quantiles) > 0:
		c.quantiles(document.Quantiles)
	default:
		c.size("document.size", document.Size)
	}

	if document.Change < 0 || document.Change > documentMax {
		c.size("document.change", document.Change)
	}

	if document.Growth == 0 {
		return
	}

	c.size("document.growth", document.Growth)
	c.size("document.largest", document.Largest)
	if n := c.documents(); n > growingMax {
		c.add(inputerror.Problem{Field: "document.growth",
			Text:  fmt.Sprintf("is stored for each document, and %s documents are too many", n),
			Limit: fmt.Sprintf("%d documents", growingMax), Source: sourceProgram})
	}
}

func (c *checker) quantiles(q []SizeQuantile) {
	if len(q) < 2 || len(q) > quantilesMax || q[0].Share != 0 || q[len(q)-1].Share != 1 {
		c.problems.Addf(
			"document.quantiles", "want 2 to %d quantiles, the first at 0%% (the smallest), the last at 100%% (the largest)",
			quantilesMax)
		return
	}

	for i := range q {
		field := fmt.Sprintf("document.quantiles[%d]", i)
		c.size(field+".size", q[i].Size)
		if i > 0 && !(q[i].Share > q[i-1].Share) {
			c.problems.Addf(field+".share", "%s does not come after %s", q[i].Share, q[i-1].Share)
		}
		if i > 0 && q[i].Size < q[i-1].Size {
			c.problems.Addf(field+".size", "%s is less than that of a smaller share, %s", q[i].Size, q[i-1].Size)
		}
	}
}

func (c *checker) buckets() {
	given := c.Buckets
	if given == nil {
		return
	}

	if given.Sensors < 1 || given.Sensors > sensorsMax {
		c.add(inputerror.Problem{Field: "buckets.sensors",
			Text:   given.Sensors.String() + " out of range: want 1 to 1M",
			Source: sourceProgram, Nearest: min(max(given.Sensors, 1), sensorsMax).String()})
	}

	c.length("buckets.interval", given.Interval, stepMin)
	c.length("buckets.span", given.Span, stepMin)
	c.size("buckets.entry", given.Entry)

	if given.Base < 0 || given.Base > bsonMax {
		c.size("buckets.base", given.Base)
	}

	if given.FilledFor < 0 || given.FilledFor > durationMax {
		c.length("buckets.filled_for", given.FilledFor, 0)
	}

	switch {
	case c.Document != nil:
		c.problems.Addf(
			"document", "cannot be combined with buckets, which have their own size: buckets.base and buckets.entry")
	case given.Interval <= 0 || given.Span <= 0:
	case given.Span < given.Interval:
		c.add(inputerror.Problem{Field: "buckets.span",
			Text:    fmt.Sprintf("%s is shorter than the interval of the readings, %s", given.Span, given.Interval),
			Nearest: given.Interval.Std().String()})
	case given.Entry > 0 && units.Size(given.Span/given.Interval) >
		(bsonMax-min(given.Base, bsonMax))/given.Entry:
		longest := units.Duration((bsonMax-min(given.Base, bsonMax))/given.Entry) * given.Interval
		c.add(inputerror.Problem{
			Field: "buckets.span", Text: fmt.Sprintf("%d readings of %s are larger than a document may be",
				given.Span/given.Interval, given.Entry),
			Limit: bsonMax.Exact(), Source: sourceBSON, Nearest: max(longest, given.Interval).Std().String(),
		})
	}

	if m := c.Mix; m != nil && (m.Insert > 0 || m.Update > 0 || m.Scan > 0) {
		c.problems.Addf(
			"mix", "must be push with buckets, optionally with read: a sensor's first reading of a span is the insert")
	}
}

// together checks what only shows in two fields together.
func (c *checker) together() {
	m := c.Mix
	if m == nil || (c.Document == nil && c.Buckets == nil) {
		return
	}

	mean := c.meanSize()
	switch {
	case c.WorkingSet > 0 && c.Keys.Count > 0 && c.Buckets == nil:
		c.problems.Addf("working_set", "and keys.count both set the number of documents: set only one of them")
		return
	case c.WorkingSet > 0 && c.WorkingSet < mean:
		c.add(inputerror.Problem{Field: "working_set",
			Text: fmt.Sprintf("%s is less than one document, %s", c.WorkingSet, mean), Limit: "one document",
			Nearest: mean.Exact()})
		return
	case c.WorkingSet < 0:
		c.problems.Addf("working_set", "may not be negative")
		return
	}

	if c.Keys.Count = c.documents(); c.Keys.Count > CountMax {
		c.problems.Addf("working_set", "results in %d documents: want at most %d", uint64(c.Keys.Count), uint64(CountMax))
	}

	if c.Keys.Count == 0 && c.Buckets == nil && (m.Read > 0 || m.Update > 0 || m.Push > 0 || m.Scan > 0) {
		c.problems.Addf(
			"keys.count", "missing: reads and updates need documents; set it or working_set")
	}

	if m.Push > 0 && c.Buckets == nil && (c.Document == nil || c.Document.Growth == 0) {
		c.problems.Addf("mix.push", "makes documents grow: set document.growth or buckets")
	}
}

// documents returns how many documents exist when the run begins.
func (c *checker) documents() Count {
	if c.WorkingSet <= 0 {
		return c.Keys.Count
	}
	if mean := c.meanSize(); mean > 0 {
		return max(c.Keys.Count, Count(c.WorkingSet/mean))
	}
	return 0
}

// meanSize returns a document's mean size, 0 if the given fields make none.
func (c *checker) meanSize() units.Size {
	if b := c.Buckets; b != nil {
		if b.Interval <= 0 || b.Span <= 0 {
			return 0
		}
		return b.full()
	}
	d := c.Document.fixed()
	if len(d.Quantiles) == 1 || len(d.Quantiles) > quantilesMax ||
		(d.Uniform != nil && d.Uniform.From > d.Uniform.To) {
		return 0
	}
	return newDocuments(d, 0, 0).mean()
}
