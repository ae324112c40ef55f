package results

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
	"plimsoll/internal/trace/chain"
)

func worstTable(r *chain.Report) *document.Table {
	tab := document.NewTable("The longest calls, each as a chain", "#took", "call", "chain")
	rows := map[string]int{} // by call and what it waited for
	alike := map[int]int{}
	for i := range r.Worst {
		c := &r.Worst[i]
		name := c.Call.Kind.String()
		if c.File != "" {
			name += " " + r.FileName(c.File)
		}

		// The longest of similar calls represents all of them.
		key := name + "\n" + alikeKey(c)
		if at, ok := rows[key]; ok {
			alike[at]++
			continue
		}

		rows[key] = len(tab.Rows)
		tab.Line(traceTime(c.Took()), name, chainLine(c))
	}

	for at, n := range alike {
		tab.Rows[at][1].Note = units.Count(int64(n)) + " more alike"
	}
	return tab
}

// alikeLeast is the share of a call's time above which a part decides whether calls are alike.
const alikeLeast = 0.1

// alikeKey identifies what a call mainly waited for, in order of time.
func alikeKey(c *chain.Chain) string {
	links, _ := linksOf(c)
	var key strings.Builder
	for _, l := range links {
		if float64(l.took) < alikeLeast*float64(c.Took()) {
			continue
		}
		l.culprit.PID = 0 // one kind of process
		fmt.Fprintf(&key, "%v|%v|%s|%s|%v;", l.place, l.stage, l.stack, culpritPhrase(&l.culprit), l.culprit.Self)
	}
	return key.String()
}

// A link combines the parts of a call with the same place, stage and culprit.
type link struct {
	place    chain.Place
	stage    chain.Stage
	culprit  chain.Culprit
	took     time.Duration
	requests int
	bytes    int64
	stack    string
}

// linksOf returns the parts of a call in order of their start, and the time of those that are too
// small to list: below 3 %.
func linksOf(c *chain.Chain) (out []link, rest time.Duration) {
	var links []link
	for i := range c.Segments {
		s := &c.Segments[i]
		l := link{place: s.Place, stage: s.Stage, took: s.Took(), stack: s.Stack}
		// A device's own time has no culprit. Otherwise the largest share represents the segment.
		if len(s.Shares) > 0 && s.Stage != chain.DeviceOwn {
			l.culprit, l.requests, l.bytes = s.Shares[0].Culprit, s.Shares[0].Requests, s.Shares[0].Bytes
		}

		k := slices.IndexFunc(links, func(o link) bool {
			return o.place == l.place && o.stage == l.stage && o.culprit == l.culprit && o.stack == l.stack
		})
		if k < 0 {
			links = append(links, l)
			continue
		}

		links[k].took += l.took
		links[k].requests += l.requests
		links[k].bytes += l.bytes
	}

	for i := range links {
		if float64(links[i].took) < 0.03*float64(c.Took()) {
			rest += links[i].took
			continue
		}
		out = append(out, links[i])
	}

	return out, rest
}

// chainLine lists the parts of a call on one line.
func chainLine(c *chain.Chain) string {
	links, rest := linksOf(c)
	var parts []string
	for i := range links {
		parts = append(parts, links[i].String())
	}

	if rest > 0 {
		parts = append(parts, traceTime(rest)+" in small parts")
	}

	return strings.Join(parts, " > ")
}

func (l *link) String() string {
	text := traceTime(l.took) + " "
	if l.place != chain.InCall {
		text += placeWords[l.place] + ": "
	}

	text += stageWords[l.stage]
	if l.stage == chain.Unexplained && l.stack != "" {
		first, _, _ := strings.Cut(l.stack, " < ")
		text += " in " + first
	}

	if l.culprit == (chain.Culprit{}) {
		return text
	}

	text += " (" + culpritPhrase(&l.culprit)
	if l.requests > 1 {
		text += fmt.Sprintf(", %d requests, %s", l.requests, units.Bytes(float64(l.bytes)))
	}

	return text + ")"
}
