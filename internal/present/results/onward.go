package results

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/shellword"
	"plimsoll/internal/present/document"
)

// nextStep is what a first screen suggests: a command that changes nothing.
func nextStep(title, command, expect string) *document.Section {
	return &document.Section{ID: "next", Title: "Next", Parts: []document.Part{{Tasks: []document.Task{{ID: "next1",
		Number: 1, Title: title, Steps: []document.Step{{Label: "run", Commands: []string{command}},
			{Label: "expect", Text: expect}}}}}}}
}

// proofOnward is what to do after a comparison. after is the argument of the recording after the change,
// and watching the running watch that keeps it, if any.
func proofOnward(r *prove.Report, after string, watching *document.Watching) *document.Section {
	again, long := sampledAgain(&r.After), longerFor(r)
	record := func(out string) string {
		return "plimsoll record " + again + " --out " + out + " --for " + long.String()
	}
	switch {
	case long > 0 && r.Short != nil && r.Short.Before:
		// A longer AFTER proves nothing about a BEFORE of one cycle. The folder of that BEFORE is often called
		// before, and record does not write into it.
		expect := "a verdict, with an AFTER that is as long: compare before-again with it. If a ring of " +
			"plimsoll watch or Prometheus has the time before the change, use that instead"
		return nextStep("undo the change, record the time before it again, longer, and repeat the change",
			record("before-again"), expect)
	case long > 0:
		return nextStep("record longer, under the same load", record("longer"),
			"a verdict: compare BEFORE with longer")
	case r.Verdict == prove.Better && watching != nil:
		return nextStep(watching.Next())
	case r.Verdict == prove.Better:
		return nextStep("notice if it comes back", "plimsoll watch "+again+" --out ring",
			"it reports a stall within seconds, and the ring keeps what came before it")
	}
	return nextStep("find out what stalls now", "plimsoll diagnose "+shellword.Quote(after),
		"the cause of what is left, or of what became worse, with its fixes")
}

// longerFor is how long to record for a verdict; 0 if there is one.
func longerFor(r *prove.Report) time.Duration {
	seconds := 0.0
	switch {
	// A verdict takes at least seven cycles, ideally twice as many, or sixty intervals, ideally ten times as
	// many (package prove).
	case r.Short != nil && (r.Before.CyclesOfOwn || r.After.CyclesOfOwn):
		seconds = 14 * max(r.Before.UnitSeconds, r.After.UnitSeconds)
	case r.Short != nil:
		seconds = 600 * max(r.Before.StepSeconds, r.After.StepSeconds)
	case r.Verdict == prove.CantTell:
		for i := range r.Figures {
			if x := r.Figures[i].Record; x != nil && r.Figures[i].Wanted != "neither" {
				seconds = max(seconds, x.Seconds)
			}
		}
	}

	// Recording for more than a day is not practical advice.
	if seconds > (24 * time.Hour).Seconds() {
		return 0
	}
	return time.Duration(math.Ceil(seconds)) * time.Second
}

// sampledAgain are the arguments that sample a side's live sources again, or a variable to fill in.
func sampledAgain(s *prove.Side) string {
	var words []string
	for i := range s.Sources {
		x := &s.Sources[i]
		word := shellword.Quote(x.Argument())
		if (strings.Contains(x.Name, "://") || x.Kind == "host") && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return cmp.Or(strings.Join(words, " "), `"${SOURCE:?the database's address}"`)
}
