package diagnosis

import (
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// queryWindow is the range in the PromQL shown. It must cover at least two samples; with scrapes
// every 15 seconds, four intervals are common practice.
const queryWindow = "1m"

// NewQueries returns an empty collection of queries, for a pack's signals and for plain metrics.
func NewQueries(pack *rules.Pack) *document.Queries {
	return &document.Queries{Describe: func(metric string) (name, help string,
		promQL []string) {
		return describe(pack, metric)
	}}
}

func describe(pack *rules.Pack, metric string) (name, help string, promQL []string) {
	name = strings.TrimPrefix(metric, rules.SignalPrefix)
	s := pack.Signal(metric)
	if s == nil {
		return name, "a plain metric", []string{metric}
	}
	for _, x := range s.Exprs {
		promQL = append(promQL, strings.ReplaceAll(x, "$w", queryWindow))
	}
	return name, s.Help, promQL
}
