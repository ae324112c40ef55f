package document

import (
	"regexp"
	"strconv"
	"strings"
)

// A Query is how a number was read: a signal with its PromQL, one expression for each exporter that
// provides it.
type Query struct {
	ID, Name, Help string
	PromQL         []string
}

// Queries collects the queries that a document's numbers link to, in order of first use.
type Queries struct {
	// Describe returns a metric's short name, description and PromQL.
	Describe func(metric string) (name, help string, promQL []string)

	list  []Query
	index map[string]int
}

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

// Link returns the address of a metric's query; "" for no metric.
func (q *Queries) Link(metric string) string {
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
		name, help, promQL := q.Describe(metric)
		id := "q" + strconv.Itoa(i+1) + "-" +
			strings.Trim(notInID.ReplaceAllString(strings.ToLower(name), "-"), "-")
		q.list = append(q.list, Query{ID: id, Name: metric, Help: help, PromQL: promQL})
	}

	return "#" + q.list[i].ID
}

// Section lists all queries; none if no number links to one.
func (q *Queries) Section() []Section {
	if len(q.list) == 0 {
		return nil
	}
	return []Section{{ID: "queries", Title: "Queries", Only: Page | Markdown,
		Note:  "How each signal is computed. If a signal has several expressions, the first one whose metrics the source has is used.",
		Parts: []Part{{Queries: q.list}}}}
}
