package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// prometheusRule has the fields of the Prometheus operator's resource that are used here (its API
// reference, v1).
type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Groups []struct {
			Name     string `json:"name"`
			Interval string `json:"interval"`
			Rules    []struct {
				Record      string            `json:"record,omitempty"`
				Alert       string            `json:"alert,omitempty"`
				Expr        string            `json:"expr"`
				For         string            `json:"for,omitempty"`
				Labels      map[string]string `json:"labels,omitempty"`
				Annotations map[string]string `json:"annotations,omitempty"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// The alerts in the repository are up to date with the pack.
func TestDeployedRulesAreCurrent(t *testing.T) {
	have, err := os.ReadFile(filepath.Join(deploy, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	a, stdout, stderr := testApp("rules", "export", "-o", "prometheusrule")
	if code := a.run(context.Background()); code != exitFine {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if stdout.String() != string(have) {
		t.Error("the pack has changed: make generate")
	}
}

// The operator accepts the object without dropping a field, and its Prometheus accepts the groups.
func TestDeployedRulesAreTaken(t *testing.T) {
	for _, text := range documents(t, "rules.yaml") {
		var object prometheusRule
		if err := yaml.UnmarshalStrict(text, &object); err != nil {
			t.Fatal(err)
		}

		if object.APIVersion != "monitoring.coreos.com/v1" || object.Kind != "PrometheusRule" || object.Name == "" {
			t.Errorf("a %s %s named %q", object.APIVersion, object.Kind, object.Name)
		}

		records, alerts := 0, 0
		for _, g := range object.Spec.Groups {
			for _, r := range g.Rules {
				if r.Record != "" {
					records++
				}
				if r.Alert != "" {
					alerts++
				}
			}
		}

		if records == 0 || alerts == 0 {
			t.Errorf("%d recording rules and %d alerts", records, alerts)
		}

		groups, err := yaml.Marshal(object.Spec)
		if err != nil {
			t.Fatal(err)
		}

		if _, errs := rulefmt.Parse(groups, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)); len(errs) > 0 {
			t.Error(errs)
		}
	}
}
