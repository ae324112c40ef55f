package alerts_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/judge/alerts"
	"plimsoll/internal/testkit"
)

// Headroom alerts fire hours before a limit is reached, and never if the headroom does not shrink.
func TestHeadroomAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here (Debian: prometheus)")
	}

	groups, err := alerts.Groups(testkit.Pack(), alerts.Options{})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	writeYAML(t, filepath.Join(dir, "rules.yaml"), map[string]any{"groups": groups})
	firing := func(at string, want ...map[string]any) map[string]any {
		return map[string]any{"eval_time": at, "expr": `count by (alertname, cluster, device, volume_id, instance, subject) (ALERTS{alertstate="firing",kind="headroom"})`, "exp_samples": want}
	}
	one := func(labels string) map[string]any { return map[string]any{"labels": labels, "value": 1} }
	writeYAML(t, filepath.Join(dir, "test.yaml"), map[string]any{
		"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m",
		"tests": []map[string]any{{
			"interval": "1m",
			"input_series": []map[string]string{
				// 10 GB at 40 MB per minute last 250 minutes, of which 170 remain when the alert fires.
				{"series": `node_filesystem_avail_bytes{cluster="a",device="/dev/sdb",fstype="xfs",mountpoint="/db"}`, "values": "10e9-40e6x180"},
				{"series": `node_filesystem_avail_bytes{cluster="a",device="/dev/sdc",fstype="xfs",mountpoint="/other"}`, "values": "10e9-1e6x180"},
				{"series": `node_filesystem_avail_bytes{cluster="a",device="/dev/loop0",fstype="squashfs",mountpoint="/snap"}`, "values": "0x180"},
				{"series": `aws_ebs_burst_balance_average{cluster="a",volume_id="vol-1"}`, "values": "60-0.25x180"},
				{"series": `aws_ebs_burst_balance_average{cluster="b",volume_id="vol-2"}`, "values": "60x180"},
				{"series": `etcd_mvcc_db_total_size_in_bytes{cluster="c",instance="m1"}`, "values": "1e9+5e6x180"},
				{"series": `etcd_server_quota_backend_bytes{cluster="c",instance="m1"}`, "values": "2e9x180"},
				{"series": `plimsoll_seconds_to_limit{cluster="d",resource="volume_credits",subject="nvme1n1"}`, "values": "20000-60x180"},
			},
			"promql_expr_test": []map[string]any{
				firing("5m"),
				firing("120m",
					one(`{alertname="PlimsollHeadroomSpace", cluster="a", device="sdb"}`),
					one(`{alertname="PlimsollHeadroomBurstBalance", cluster="a", volume_id="vol-1"}`),
					one(`{alertname="PlimsollHeadroomEtcdBackendQuota", cluster="c", instance="m1"}`),
					one(`{alertname="PlimsollHeadroomWatched", cluster="d", subject="nvme1n1"}`)),
			},
		}},
	})

	run(t, dir, promtool, "check", "rules", "rules.yaml")
	run(t, dir, promtool, "test", "rules", "test.yaml")
}
