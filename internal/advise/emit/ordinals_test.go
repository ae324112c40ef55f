package emit_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
)

// A set's pods may begin at an ordinal other than 0 (spec.ordinals.start), and so do their claims.
func TestClaimsBeginWhereTheSetDoes(t *testing.T) {
	set, err := os.ReadFile("testdata/mongo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set = bytes.Replace(set, []byte("  replicas: 3\n"), []byte("  replicas: 3\n  ordinals: {start: 5}\n"), 1)
	files := filesOf(t, layoutOf(t, "telemetry.yaml", "volumes.data.iops=6000"), emit.Options{StatefulSet: set, StatefulSetFile: "mongo.yaml"}, "kubernetes")
	all := ""
	for _, text := range files {
		all += text
	}
	if !strings.Contains(all, "data-mongo-5 data-mongo-6 data-mongo-7") || strings.Contains(all, "data-mongo-0") {
		i := max(strings.Index(all, "data-mongo-"), 0)
		t.Errorf("claims: %s", all[i:min(i+60, len(all))])
	}
}
