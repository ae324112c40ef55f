package fleet_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/alerts"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// Prometheus over its own storage, and Thanos rule over two receivers, evaluate the exported pack.
// Where writes stall, the symptom's alert fires with the cluster's label; on a healthy database it does
// not.
func TestRulersRunTheExportedPack(t *testing.T) {
	file := filepath.Join(t.TempDir(), alerts.FileName(alerts.Prometheus))
	text, err := alerts.YAML(testkit.Pack(), alerts.Prometheus, alerts.Options{Interval: time.Second, Window: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	t.Run("prometheus", func(t *testing.T) {
		e := prometheus(t, file)
		pushNow(t, e.write)
		fires(t, e.read)
	})

	t.Run("thanos", func(t *testing.T) {
		path := thanosPath(t)
		grpc, web := free(t), free(t)
		// Only a query that includes the ruler sees what the ruler records, so its own query must include
		// it.
		e := thanos(t, 2, grpc)
		p := start(t, path, "rule", "--data-dir="+t.TempDir(), "--rule-file="+file, "--eval-interval=1s", "--query="+e.read,
			"--http-address="+web, "--grpc-address="+grpc, `--label=ruler="a"`, "--alert.label-drop=ruler")
		ready(t, p, "http://"+web+"/-/ready")
		pushNow(t, e.write)
		fires(t, "http://"+web)
	})
}

// pushNow pushes two clusters' counters for a minute before and after now, one sample per second: one
// with writes of 300 ms, one with writes of 1 ms.
func pushNow(t *testing.T, url string) {
	t.Helper()
	const each, writes = 120, 50.0
	from := time.Now().Add(-each / 2 * time.Second).Truncate(time.Second)

	p, err := recording.NewPusher(context.Background(), url, recording.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}

	b := &recording.Batch{}
	for cluster, latencyS := range map[string]float64{"sick": 0.3, "well": 0.001} {
		name := func(metric string) labels.Labels {
			return labels.FromStrings("__name__", metric, "op_type", "writes", "cluster", cluster, "instance", cluster+":9216")
		}
		var ops, waited []float64
		for k := range each {
			ops = append(ops, writes*float64(k))
			waited = append(waited, writes*float64(k)*latencyS*1e6)
		}
		b.Columns = append(b.Columns, recording.Column{Labels: name("mongodb_ss_opLatencies_ops"), Values: ops},
			recording.Column{Labels: name("mongodb_ss_opLatencies_latency"), Values: waited})
	}

	for k := range each {
		b.TimesMs = append(b.TimesMs, from.Add(time.Duration(k)*time.Second).UnixMilli())
	}

	if err := p.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}

	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// fires waits for the stalled cluster's alert, and fails if the other cluster has one.
func fires(t *testing.T, ruler string) {
	t.Helper()
	for range 400 {
		for _, a := range firing(t, ruler) {
			if a["cluster"] != "sick" {
				t.Fatalf("an alert of another cluster: %v", a)
			}
			if a["alertname"] == alerts.Name("mongodb/slow-writes") {
				if a["severity"] != "warning" || a["rule"] != "mongodb/slow-writes" {
					t.Errorf("labels %v", a)
				}
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}

	t.Fatal("no alert fired")
}

func firing(t *testing.T, ruler string) (out []map[string]string) {
	t.Helper()
	resp, err := http.Get(ruler + "/api/v1/alerts") //nolint:noctx // a loopback address; the test has its own timeout
	if err != nil {
		t.Fatal(err)
	}

	defer resp.Body.Close()
	var body struct {
		Data struct {
			Alerts []struct {
				State  string            `json:"state"`
				Labels map[string]string `json:"labels"`
			} `json:"alerts"`
		} `json:"data"`
	}

	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}

	for _, a := range body.Data.Alerts {
		if a.State == "firing" {
			out = append(out, a.Labels)
		}
	}

	return out
}
