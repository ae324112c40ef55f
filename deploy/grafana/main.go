// Grafana writes a dashboard of the rule pack:
//
//	go run ./deploy/grafana > deploy/grafana/plimsoll.json
//
// Each engine has a row: the findings of `plimsoll watch` over time, and each signal that its rules use. The
// panels query the exporters' own metrics, so they show what the rules see, with or without watch;
// a panel stays empty if no exporter has its signal. A signal that is a sum over a database is a
// sum over everything that cluster and instance select.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/rules"
)

// rangeMark is a range that no query uses: it is replaced by Grafana's own, four scrapes or more.
const rangeMark, grafanaRange = "1h2m3s", "$__rate_interval"

// A row of the dashboard has some signals, and the findings of some families of rules.
type row struct {
	title   string
	signals func(*rules.Signal) bool
	rules   string // a regular expression of ids
}

// rows are those of clients, disks, hosts and containers, by the prefix of their signals' names,
// and one for each engine.
func rows() []row {
	prefixed := func(title, prefixes, ids string) row {
		return row{title, func(s *rules.Signal) bool { return hasPrefix(s, prefixes) }, ids}
	}
	out := []row{
		prefixed("What clients feel", "client_", "evidence/.*|queries/.*"),
		prefixed("Devices", "disk_|ebs_|instance_|rds_|azure_|google_|redis_logged_|zookeeper_logged_", "disk/.*"),
		prefixed("Host",
			"host_|machine_|process_|cgroup_|page_cache_|cpu_|memory_|io_|psi_|swap_|procs_|filesystem_|mount_|trace_", "host/.*"),
		prefixed("Containers", "container_", "container/.*"),
	}

	for _, e := range pack.Engines() {
		names := map[string]bool{}
		for _, s := range e.Signals {
			names[s.Name] = true
		}

		// Rules of one engine may have several prefixes, such as mongodb/ and wiredtiger/.
		var ids []string
		for _, r := range e.Rules {
			family, _, _ := strings.Cut(r.ID, "/")
			if id := family + "/.*"; !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}

		out = append(out, row{e.Product, func(s *rules.Signal) bool { return names[s.Name] },
			strings.Join(ids, "|")})
	}

	return out
}

var pack = corerules.NewPack(engine.All().Rules())

type object = map[string]any

func main() {
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}

func write(w io.Writer) error {
	d, err := dashboard()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

// A layout assigns panels their positions: two per line, in Grafana's width of 24.
type layout struct {
	panels []object
	y      int
	right  bool
}

func (l *layout) line() {
	if l.right {
		l.y += panelHeight
	}
	l.right = false
}

const panelHeight, panelWidth, findingsHeight = 7, 12, 5

func (l *layout) add(p object, wide bool, height int) {
	if wide {
		l.line()
	}

	// Two panels in a row: a narrow one takes the half that is free.
	width, x := panelWidth, 0
	switch {
	case wide:
		width = 2 * panelWidth
	case l.right:
		x = panelWidth
	}

	p["id"] = len(l.panels) + 1
	p["gridPos"] = object{"x": x, "y": l.y, "w": width, "h": height}
	l.panels = append(l.panels, p)

	// The row below starts under this panel once both halves are taken.
	if wide || l.right {
		l.y += height
	}

	l.right = !wide && !l.right
}

func dashboard() (object, error) {
	l := &layout{}
	l.add(object{"type": "row", "title": "Findings", "collapsed": false, "panels": []any{}}, true, 1)
	l.add(panel("timeseries", "Clients' latency", "Mean of the newest 15 s, as plimsoll watch reports it.", "s",
		"plimsoll_client_latency_seconds"+matchers, "{{instance}} {{subject}}"), false, panelHeight)
	l.add(panel("timeseries", "Stalled", "Share of the time in which clients stalled.", "percentunit",
		"plimsoll_window_stalled_seconds"+matchers+" / plimsoll_window_observed_seconds"+matchers, "{{instance}}"),
		false, panelHeight)

	taken := map[string]bool{}
	for _, row := range rows() {
		l.line()
		l.add(object{"type": "row", "title": row.title, "collapsed": false, "panels": []any{}}, true, 1)
		l.add(findings(row.title, row.rules), true, findingsHeight)

		// A signal belongs to the first row that has it, so no panel occurs twice.
		for _, s := range pack.Signals() {
			if taken[s.Name] || !row.signals(s) {
				continue
			}
			taken[s.Name] = true
			expr, err := query(s)
			if err != nil {
				return nil, err
			}
			l.add(panel("timeseries", title(s), s.Help, grafanaUnit(s.Unit), expr, legend(s)), false, panelHeight)
		}
	}

	return object{
		"uid": "plimsoll", "title": "Plimsoll",
		"description": "Why a database's writes stall: findings of plimsoll watch, and the signals that its rules judge by.",
		"tags":        []string{"plimsoll", "database", "storage"}, "schemaVersion": 39, "version": 1,
		"editable": true,
		"refresh":  "30s", "timezone": "browser", "graphTooltip": 1,
		"time":       object{"from": "now-1h", "to": "now"},
		"templating": object{"list": variables()},
		"annotations": object{"list": []any{object{
			"name": "Stalls", "enable": true, "iconColor": "red", "datasource": source,
			"expr": "plimsoll_stall_in_progress" + matchers + " == 1", "titleFormat": "stall: {{subject}}",
		}}},
		"panels": l.panels,
	}, nil
}

var source = object{"type": "prometheus", "uid": "${datasource}"}

// matchers select by the variables; All also selects a series without the label.
const matchers = `{cluster=~"$cluster",instance=~"$instance"}`

func variables() []any {
	label := func(name, of string) object {
		return object{
			"name": name, "type": "query", "datasource": source, "refresh": 2, "multi": true, "includeAll": true,
			"allValue": ".*", "sort": 1,
			"current":    object{"text": "All", "value": "$__all"},
			"query":      object{"query": fmt.Sprintf("label_values(%s, %s)", of, name), "refId": name},
			"definition": fmt.Sprintf("label_values(%s, %s)", of, name),
		}
	}
	return []any{
		object{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "data source",
			"current": object{}},
		label("cluster", "up"), label("instance", `up{cluster=~"$cluster"}`),
	}
}

func panel(kind, title, about, unit, expr, legend string) object {
	return object{
		"type": kind, "title": title, "description": about, "datasource": source,
		"fieldConfig": object{"defaults": object{"unit": unit, "min": 0,
			"custom": object{"lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": false}},
			"overrides": []any{}},
		"options": object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true},
			"tooltip": object{"mode": "multi", "sort": "desc"}},
		"targets": []any{object{"refId": "A", "datasource": source, "expr": expr, "legendFormat": legend}},
	}
}

// findings shows over time which rules found something.
func findings(title, ids string) object {
	p := panel("state-timeline", "Findings: "+
		title, "1 while a finding holds, as plimsoll watch reports it.", "none",
		`plimsoll_finding{cluster=~"$cluster",instance=~"$instance",rule=~"`+ids+
			`"}`, "{{instance}} {{rule}} {{subject}} ({{severity}})")
	p["options"] = object{"mergeValues": true, "showValue": "never", "rowHeight": 0.8,
		"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": false}}
	p["fieldConfig"] = object{"defaults": object{"color": object{"mode": "fixed", "fixedColor": "orange"},
		"custom": object{"fillOpacity": 80}}, "overrides": []any{}}
	return p
}

// query returns a signal's query over exporters' metrics, restricted by the variables.
func query(s *rules.Signal) (string, error) {
	// Grafana's own variable is not PromQL, so a placeholder stands for it while parsing.
	text, err := pack.Inline(s.Name, rangeMark)
	if err != nil {
		return "", fmt.Errorf("signal %s: %w", s.Name, err)
	}

	e, err := rules.Parse(text)
	if err != nil {
		return "", fmt.Errorf("signal %s: %w", s.Name, err)
	}

	// Both variables match as regular expressions, so that "All" works.
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if sel, ok := n.(*parser.VectorSelector); ok {
			for _, name := range []string{"cluster", "instance"} {
				sel.LabelMatchers = append(sel.LabelMatchers, labels.MustNewMatcher(labels.MatchRegexp, name, "$"+name))
			}
		}
		return nil
	})

	return strings.ReplaceAll(e.String(), "["+rangeMark+"]", "["+grafanaRange+"]"), nil
}

func hasPrefix(s *rules.Signal, prefixes string) bool {
	name := strings.TrimPrefix(s.Name, rules.SignalPrefix)
	for p := range strings.SplitSeq(prefixes, "|") {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// title turns a signal's name into words.
func title(s *rules.Signal) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(s.Name, rules.SignalPrefix), ":")
	return strings.ReplaceAll(name, "_", " ")
}

func legend(s *rules.Signal) string {
	text := "{{instance}}"
	for _, l := range s.By {
		text += " {{" + l + "}}"
	}
	return text
}

// grafanaUnit returns Grafana's name of a unit.
func grafanaUnit(unit string) string {
	switch unit {
	case "ratio", "s/s":
		return "percentunit"
	case "seconds":
		return "s"
	case "bytes":
		return "bytes"
	case "bytes/s":
		return "Bps"
	case "1/s":
		return "cps"
	}
	return "short"
}
