package diagnosis

import (
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

// queryWindow stands for a range that covers two samples where PromQL is shown: of a server that scrapes every
// 15 seconds, the usual four intervals.
const queryWindow = "1m"

// NewQueries are no queries yet, of the rule pack's signals and of metrics as they are.
func NewQueries() *document.Queries { return &document.Queries{Describe: describe} }

func describe(metric string) (name, help string, promQL []string) {
	name = strings.TrimPrefix(metric, rules.SignalPrefix)
	s, ok := rules.SignalByName(metric)
	if !ok {
		return name, "a metric of its own", []string{metric}
	}
	for _, x := range s.Exprs {
		promQL = append(promQL, strings.ReplaceAll(x, "$w", queryWindow))
	}
	return name, s.Help, promQL
}
