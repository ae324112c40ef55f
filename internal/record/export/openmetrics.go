package export

import (
	"bufio"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// openMetricsWriter writes OpenMetrics text. A recording does not store the types of metrics, so
// names that end in _total become counters and all others have unknown type, which every reader
// accepts.
type openMetricsWriter struct {
	w     *bufio.Writer
	names map[string]bool // of all metrics
	name  string          // the metric being written
}

// header starts a metric.
func (o *openMetricsWriter) header(name string) error {
	o.name = name
	family, kind := name, "unknown"
	// The family name of a counter lacks the suffix. It must not collide with another metric.
	if base, ok := strings.CutSuffix(name, "_total"); ok && base != "" && !o.names[base] {
		family, kind = base, "counter"
	}
	if !model.LegacyValidation.IsValidMetricName(name) {
		family = quote(family)
	}
	_, err := o.w.WriteString("# TYPE " + family + " " + kind + "\n")
	return err
}

func (o *openMetricsWriter) series(metric string, l labels.Labels, points []promql.FPoint) error {
	if metric != o.name {
		if err := o.header(metric); err != nil {
			return err
		}
	}

	head := o.name
	words := pairs(l, quote)
	switch legacy := model.LegacyValidation.IsValidMetricName(o.name); {
	case !legacy && words != "":
		head = "{" + quote(o.name) + "," + words + "}"
	case !legacy:
		head = "{" + quote(o.name) + "}"
	case words != "":
		head += "{" + words + "}"
	}

	for _, p := range points {
		at := strconv.FormatFloat(float64(p.T)/1000, 'f', -1, 64)
		if _, err := o.w.WriteString(head + " " + number(p.F) + " " + at + "\n"); err != nil {
			return err
		}
	}

	return nil
}

func (o *openMetricsWriter) close() error {
	if _, err := o.w.WriteString("# EOF\n"); err != nil {
		return err
	}
	return o.w.Flush()
}

// escapes are the escapes of OpenMetrics in a quoted string.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func quote(s string) string { return `"` + escapes.Replace(s) + `"` }
