//go:build linux

package results

import (
	"strings"
	"testing"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/lab/probe"
	"plimsoll/internal/present/text"
)

func TestProbeText(t *testing.T) {
	of := func(x float64) latency.Latency {
		return latency.Latency{Operations: 900, P50Seconds: at(x), P95Seconds: at(2 * x), P99Seconds: at(3 * x), P999Seconds: at(4 * x), MaxSeconds: at(5 * x)}
	}
	sync := of(0.002)
	r := &probe.Result{
		Profile: "etcd-wal", Path: "/var/lib/etcd\x1b", Device: "nvme1n1", Seconds: 12, Measured: "wal",
		Blame: probe.Blame{Stream: "reads", Text: "reads: the p99 of wal is 6.00 ms alone and 60.0 ms while reads is on, 10 times as long"},
		Stages: []probe.StageResult{
			{Name: "alone", Streams: []probe.StreamResult{{Name: "wal", IOPS: 400, BytesPerSecond: 9e5, Latency: of(0.002), Fdatasync: &sync, Share: &probe.Share{Synced: 0.9, Moved: 0.1}}}},
			{Name: "with reads", Streams: []probe.StreamResult{{Name: "wal", IOPS: 200, BytesPerSecond: 4e5, Latency: of(0.02), Missed: 7}, {Name: "reads", IOPS: 100, BytesPerSecond: 8e5, Latency: of(0.001)}},
				While: []probe.WhileResult{{Companion: "reads", On: of(0.02), Off: of(0.002)}}},
		},
		Criterion: &probe.Verdict{Text: "p99 of fdatasync under 10 ms", Source: "the engine's FAQ", Stages: []probe.StageVerdict{{Stage: "alone", Seconds: at(0.006), Met: true}, {Stage: "with reads"}}},
		Limits:    probe.Limits{Reason: "it needs root"},
		Fitted:    &probe.Fitted{YAML: "type: custom\niops: 3000\n"},
	}

	var b strings.Builder
	if err := text.Write(&b, Probe(r), text.Options{Width: 120}); err != nil {
		t.Fatal(err)
	}

	golden.Compare(t, "probe.golden", b.String())
}
