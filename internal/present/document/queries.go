package document

import (
	"regexp"
	"strconv"
	"strings"
)

// A Query is how a number was read: a signal with its PromQL, one for each exporter that has it.
type Query struct {
	ID, Name, Help string
	PromQL         []string
}

// Queries are those that a document's numbers lead to, in the order in which they were first asked
// for.
type Queries struct {
	// Describe gives a metric's short name, what it is, and its PromQL.
	Describe func(metric string) (name, help string, promQL []string)

	list  []Query
	index map[string]int
}

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

// Link gives the address of a metric's query, "" for no metric.
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

// Section lists all queries; nothing if no number leads to one.
func (q *Queries) Section() []Section {
	if len(q.list) == 0 {
		return nil
	}
	return []Section{{ID: "queries", Title: "Queries", Only: Page | Markdown,
		Note:  "What each signal is read from. Where a source tells one in several ways, the first that it has counts.",
		Parts: []Part{{Queries: q.list}}}}
}
