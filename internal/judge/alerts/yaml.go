package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"plimsoll/internal/judge/rules"
)

// The forms that rules are written in.
const (
	// a rule file, for rule_files of Prometheus, Thanos rule, Mimir and vmalert
	Prometheus     = "prometheus"
	PrometheusRule = "prometheusrule" // a Kubernetes object, for the Prometheus Operator
)

// Forms are all of them.
var Forms = []string{Prometheus, PrometheusRule}

// FileName is what a form's file is called.
func FileName(form string) string {
	if form == PrometheusRule {
		return "plimsoll-prometheusrule.yaml"
	}
	return "plimsoll-rules.yaml"
}

// object is a PrometheusRule of the Prometheus Operator (monitoring.coreos.com/v1).
type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       file     `json:"spec"`
}

type metadata struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

type file struct {
	Groups []Group `json:"groups"`
}

// YAML writes the pack in a form.
func YAML(pack *rules.Pack, form string, opt Options) ([]byte, error) {
	groups, err := Groups(pack, opt)
	if err != nil {
		return nil, err
	}

	var body any
	switch form {
	case Prometheus:
		body = file{groups}
	case PrometheusRule:
		body = object{APIVersion: "monitoring.coreos.com/v1", Kind: "PrometheusRule",
			Metadata: metadata{Name: "plimsoll", Labels: map[string]string{"app.kubernetes.io/name": "plimsoll"}},
			Spec:     file{groups}}
	default:
		return nil, fmt.Errorf("no form %q: there are %s", form, strings.Join(Forms, ", "))
	}

	text, err := yaml.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("rules as YAML: %w", err)
	}

	return append([]byte(header(pack)), text...), nil
}

// header says what the file is and what is not in it.
func header(pack *rules.Pack) string {
	var b strings.Builder
	b.WriteString(`# Written by plimsoll rules export. An alert says that a rule's condition held, and no more: the verdict, with numbers
# and what to do, is that of plimsoll diagnose --prometheus.
#
# Not in here:
`)
	left := LeftOut(pack)
	for _, id := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(&b, "#   %-31s %s\n", id, left[id])
	}
	return b.String()
}
