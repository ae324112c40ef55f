//go:build linux

package checkperf

import (
	"strings"
	"testing"

	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/text"
)

func TestDocument(t *testing.T) {
	value, yes, no := func(x float64) *float64 { return &x }, true, false
	r := &Result{Server: "etcd 3.4.23", Load: "s", Rate: 150, Clients: 50, Seconds: 5, Puts: 750, P50: 0.00314, P99: 0.026, Max: 0.0336,
		Etcdctl: []Criterion{{Name: "errors", Value: value(3), Unit: "", Passed: &no}, {Name: "throughput", Value: value(150), Bound: 135, Unit: "1/s", AtLeast: true, Passed: &yes}},
		P99s:    []Criterion{{Name: "wal_fsync_p99", Bound: 0.01, Unit: "seconds"}, {Name: "put_p99", Value: value(0.026), Bound: 0.1, Unit: "seconds", Passed: &yes}},
		Errors:  map[string]int64{"a server's words\x1b[2J": 3}, Remarks: []string{"this program could not ask when it should"}}
	var b strings.Builder
	if err := text.Write(&b, r.Document(), text.Options{}); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "document.golden", b.String())
}
