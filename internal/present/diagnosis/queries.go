package diagnosis

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// queryWindow is the range in the PromQL shown. It must cover at least two samples; with scrapes
// every 15 seconds, four intervals are common practice.
const queryWindow = "1m"

// Queries collects the queries that a document's numbers link to, in order of first use: those of a pack's
// signals, and plain metrics.
type Queries struct {
	pack *rules.Pack
	list []document.Query
}

// NewQueries returns an empty collection of queries.
func NewQueries(pack *rules.Pack) *Queries { return &Queries{pack: pack} }

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

// Link returns the address of a metric's query; "" for no metric.
func (q *Queries) Link(metric string) string {
	if metric == "" {
		return ""
	}

	i := slices.IndexFunc(q.list, func(known document.Query) bool { return known.Name == metric })
	if i < 0 {
		i = len(q.list)
		q.list = append(q.list, q.query(metric))
	}

	return "#" + q.list[i].ID
}

func (q *Queries) query(metric string) document.Query {
	name := strings.TrimPrefix(metric, rules.SignalPrefix)
	out := document.Query{Name: metric, Help: "a plain metric", PromQL: []string{metric},
		ID: "q" + strconv.Itoa(len(q.list)+1) + "-" +
			strings.Trim(notInID.ReplaceAllString(strings.ToLower(name), "-"), "-")}
	if s := q.pack.Signal(metric); s != nil {
		out.Help, out.PromQL = s.Help, nil
		for _, x := range s.Exprs {
			out.PromQL = append(out.PromQL, strings.ReplaceAll(x, "$w", queryWindow))
		}
	}
	return out
}

// Section lists all queries; it has no parts if no number links to one.
func (q *Queries) Section() document.Section {
	if len(q.list) == 0 {
		return document.Section{}
	}
	return document.Section{ID: "queries", Title: "Queries", Only: document.Page | document.Markdown,
		Note:  "How each signal is computed. If a signal has several expressions, the first one whose metrics the source has is used.",
		Parts: []document.Part{{Queries: q.list}}}
}
