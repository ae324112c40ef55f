package plan

import (
	"context"
	"testing"

	"plimsoll/internal/model/scenario"
)

// BenchmarkTelemetry makes a whole plan for ten minutes of the telemetry platform, with the AWS catalogue.
func BenchmarkTelemetry(b *testing.B) {
	file, err := scenario.Open("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := Make(context.Background(), file, "telemetry.yaml", Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.Searched.Simulated), "layouts")
	}
}
