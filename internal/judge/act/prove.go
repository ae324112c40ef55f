package act

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
)

const (
	// cyclesToProve is how many checkpoint cycles prove needs, plus one for partial cycles at the
	// ends.
	cyclesToProve = 7
	// leastToProve is how long to record if there are no cycles.
	leastToProve = 10 * time.Minute
	// wholeUpTo is the maximum length of a recording that is compared as a whole.
	wholeUpTo = 2 * time.Hour
)

// ToProve is how long to record an engine, both before and after.
func ToProve(pack *rules.Pack, database string) time.Duration {
	for _, e := range pack.Engines() {
		if e.Database == database {
			return max(leastToProve, cyclesToProve*e.Compared.CycleEvery)
		}
	}
	return leastToProve
}

// keepsGrowing reports whether reading a source again also yields later data: a server's address, or a
// folder that a program appends to.
func keepsGrowing(kind string) bool {
	switch kind {
	case "ftdc", "prometheus", "recording":
		return true
	}
	return false
}

// live reports whether a source was sampled live, so that no earlier data is left to compare with.
//
// The address of a socket has no host.
func live(name string) bool { return strings.Contains(name, "://") || name == "host" }

// A proof is how to compare before with after.
type proof struct {
	record  []string // commands before the change, if no earlier data is kept
	compare []string
	seconds float64 // to record after the wait
	notes   []string
}

// proofOf compares using the source that reports clients: a comparison takes one source for each
// side.
func proofOf(c *rules.Case, chosen choice, setting Setting) proof {
	if len(setting.Sources) == 0 {
		return proof{record: []string{}, compare: []string{}, notes: []string{}}
	}

	database := ""
	if len(c.Engines) > 0 {
		database = c.Engines[0]
	}

	// Prefer a source of the stalled engine: only it reports what clients waited.
	of := setting.Sources[0]
	for _, x := range setting.Sources {
		if database != "" && x.Engine == database {
			of = x
			break
		}
	}

	// A finding that recurs needs several periods, even if the engine's own cycle is shorter.
	needed := ToProve(c.Pack, database)
	if cycle := time.Duration(chosen.finding.PeriodS * float64(time.Second)); cycle > 0 {
		needed = max(leastToProve, cyclesToProve*cycle).Round(time.Minute)
	}

	long := strings.TrimSuffix(needed.String(), "0s")
	fix := " --fix " + chosen.remedy.Name
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	span := before(setting, needed)
	times := " --from " + at(span.From) + " --before-to " + at(span.To)
	name, recorded := shellword.Quote(of.Name), shellword.Quote(setting.Recorded)
	again := samples(of, setting.Sources)

	out := proof{record: []string{}, notes: []string{}, seconds: needed.Seconds()}
	switch {
	case setting.Marked.Growing:
		// The command runs when the wait is over, so the change was made that long before.
		dir, wait := shellword.Quote(setting.Marked.Folder), strings.TrimSuffix(chosen.remedy.Wait.String(), "0s")
		out.compare = []string{"plimsoll mark " + chosen.remedy.Name + " --at -" + wait + " --in " + dir,
			"plimsoll prove " + dir + " --from " + at(setting.Marked.At) + " --at-mark=" + chosen.remedy.Name +
				" --settle " + wait + fix}
	case setting.Recorded != "" && live(of.Name) && setting.Span.To.Sub(setting.Span.From) >= needed:
		out.compare = []string{"plimsoll record " + again + " --out after --for " + long,
			"plimsoll prove " + recorded + " after" + times + fix}
	case setting.Kept != "" && of.Kind != "prometheus" && live(of.Name):
		// The fix need not wait for more samples: those taken so far cover the time before it.
		out.compare = []string{"plimsoll record " + again + " --out after --for " + long,
			"plimsoll prove " + shellword.Quote(setting.Kept) + " after" + fix}
		if have := setting.Span.To.Sub(setting.Span.From); have < needed {
			out.notes = []string{"The samples of this diagnosis are kept as the time before the fix. They are " +
				units.Seconds(have.Seconds()) + ", and a full proof needs " + long + ": if that matters more than the " +
				"stall, first run plimsoll record " + again + " --out before --for " + long}
		}
	case of.Kind != "prometheus" && live(of.Name):
		out.record = []string{"plimsoll record " + again + " --out before --for " + long}
		out.compare = []string{"plimsoll record " + again + " --out after --for " + long,
			"plimsoll prove before after" + fix}
	case keepsGrowing(of.Kind):
		out.compare = []string{`CHANGED=$(date -u +%Y-%m-%dT%H:%M:%SZ)`,
			"plimsoll prove " + name + " " + name + times + ` --after-from "${CHANGED:?when the wait was over}"` + fix}
	default:
		if setting.Recorded != "" {
			name = recorded
		}
		out.compare = []string{"plimsoll prove " + name + ` "${AFTER:?the same, recorded for ` + long +
			` after the wait}"` + times + fix}
	}

	return out
}

// samples returns the command-line arguments that record a live source and the other live sources, such as
// the host.
func samples(of Source, all []Source) string {
	words := []string{shellword.Quote(cmp.Or(of.Again, of.Name))}
	for _, x := range all {
		if word := shellword.Quote(cmp.Or(x.Again, x.Name)); live(x.Name) && x.Kind != "prometheus" &&
			!slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// before is the time to compare later data with: all of it or, for a long recording, the incident
// with as much around it as prove needs.
func before(s Setting, needed time.Duration) rules.Span {
	span := s.Span
	if span.To.Sub(span.From) <= wholeUpTo || s.Incident.From.IsZero() {
		return span
	}

	x := s.Incident
	if short := needed - x.To.Sub(x.From); short > 0 {
		x.From, x.To = x.From.Add(-short/2), x.To.Add(short/2)
	}

	if x.From.Before(span.From) {
		x.From = span.From
	}

	if x.To.After(span.To) {
		x.To = span.To
	}

	return x
}
