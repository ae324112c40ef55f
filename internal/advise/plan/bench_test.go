package plan

import (
	"context"
	"testing"
)

// BenchmarkTelemetry makes a whole plan for ten minutes of the telemetry platform, with the AWS
// catalogue.
func BenchmarkTelemetry(b *testing.B) {
	now, err := language.Load("../../../examples/scenarios/telemetry.yaml", nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := Make(context.Background(), now, "telemetry.yaml", Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.Searched.Simulated), "layouts")
	}
}
