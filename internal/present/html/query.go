package html

import (
	"regexp"
	"strings"

	"plimsoll/internal/judge/rules"
)

// A query is how a number was read: a signal with its PromQL over exporters' metrics, one for each exporter
// that tells it.
type query struct {
	ID, Name, Help string
	PromQL         []string
}

// queries are those that a page's numbers link to, in the order in which they were first asked for.
type queries struct {
	list  []query
	index map[string]int
}

// queryWindow stands for a range that covers two samples where PromQL is shown: of a server that scrapes every
// 15 seconds, the usual four intervals.
const queryWindow = "1m"

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

// link gives the address within the page of a metric's query, "" for no metric.
func (q *queries) link(metric string) string {
	if metric == "" {
		return ""
	}
	if q.index == nil {
		q.index = map[string]int{}
	}
	i, ok := q.index[metric]
	if !ok {
		i = len(q.list)
		q.index[metric] = i
		q.list = append(q.list, newQuery(metric, i))
	}
	return "#" + q.list[i].ID
}

func newQuery(metric string, i int) query {
	name := strings.TrimPrefix(metric, rules.SignalPrefix)
	out := query{ID: "q" + number(i+1) + "-" + strings.Trim(notInID.ReplaceAllString(strings.ToLower(name), "-"), "-"), Name: metric}
	if s, ok := rules.SignalByName(metric); ok {
		out.Help = s.Help
		for _, x := range s.Exprs {
			out.PromQL = append(out.PromQL, strings.ReplaceAll(x, "$w", queryWindow))
		}
		return out
	}
	out.Help = "a metric of its own"
	out.PromQL = []string{metric}
	return out
}

// section tells all queries; nothing if no number links to one.
func (q *queries) section() []section {
	if len(q.list) == 0 {
		return nil
	}
	return []section{{ID: "queries", Title: "Queries",
		Note:  "What each signal is read from. Where a source tells one in several ways, the first that it has counts.",
		Parts: []part{{Queries: q.list}}}}
}
