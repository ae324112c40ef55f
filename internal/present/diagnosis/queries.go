package diagnosis

import (
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// queryWindow stands for a range that covers two samples where PromQL is shown: of a server that
// scrapes every 15 seconds, the usual four intervals.
const queryWindow = "1m"

// NewQueries are no queries yet, of a pack's signals and of metrics as they are.
func NewQueries(pack *rules.Pack) *document.Queries {
	return &document.Queries{Describe: func(metric string) (name, help string, promQL []string) { return describe(pack, metric) }}
}

func describe(pack *rules.Pack, metric string) (name, help string, promQL []string) {
	name = strings.TrimPrefix(metric, rules.SignalPrefix)
	s := pack.Signal(metric)
	if s == nil {
		return name, "a metric of its own", []string{metric}
	}
	for _, x := range s.Exprs {
		promQL = append(promQL, strings.ReplaceAll(x, "$w", queryWindow))
	}
	return name, s.Help, promQL
}
