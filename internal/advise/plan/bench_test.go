package plan

import (
	"context"
	"testing"
)

// BenchmarkTelemetry makes a whole plan for ten minutes of the telemetry platform, with the AWS
// catalogue.
func BenchmarkTelemetry(b *testing.B) {
	file, err := language.Open("../../../examples/scenarios/telemetry.yaml")
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
