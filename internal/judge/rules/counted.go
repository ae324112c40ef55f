package rules

import (
	"github.com/prometheus/prometheus/promql/parser"
)

// CountedMetrics are the metrics that signals read as rates. They count from zero, although not all
// exporters' names say so.
func (p *Pack) CountedMetrics() map[string]bool {
	out := map[string]bool{}
	for _, s := range p.Signals() {
		for _, x := range s.Exprs {
			e, err := Parse(x)
			if err != nil {
				continue // NewPack has checked it
			}
			parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
				if m, ok := n.(*parser.MatrixSelector); ok {
					for _, name := range Names(m.VectorSelector) {
						out[name] = true
					}
				}
				return nil
			})
		}
	}

	return out
}
