package act_test

import (
	"maps"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
)

// An address shows the provider's service, and the name that its commands need. The first label of a
// proxy, a custom endpoint or a global endpoint is not a server's name: commands would change a
// different server, or none.
func TestServicesOfAddresses(t *testing.T) {
	for _, c := range []struct {
		address string
		place   rules.Place
		named   map[string]string
	}{
		{"postgres://db-1.abc123.eu-west-1.rds.amazonaws.com:5432/app", rules.RDS, map[string]string{"instance": "db-1"}},
		{"postgres://u:p@DB-1.abc123.cn-north-1.rds.amazonaws.com.cn/app", rules.RDS, map[string]string{"instance": "db-1"}},
		{"postgres://db-1.abc123.rds.cn-north-1.amazonaws.com.cn/app", rules.RDS, map[string]string{"instance": "db-1"}},
		{"postgres://orders.cluster-abc123.eu-west-1.rds.amazonaws.com", rules.Aurora, map[string]string{"cluster": "orders"}},
		{"postgres://orders.cluster-ro-abc123.eu-west-1.rds.amazonaws.com", rules.Aurora, map[string]string{"cluster": "orders"}},
		{"postgres://reports.cluster-custom-abc123.eu-west-1.rds.amazonaws.com", rules.Aurora, nil},
		{"postgres://world.global-abc123.global.rds.amazonaws.com", rules.Aurora, nil},
		{"postgres://pool.proxy-abc123.eu-west-1.rds.amazonaws.com", rules.RDS, nil},
		{"postgres://1a2b3c.4d5e6f.europe-west1.sql.goog/app", rules.CloudSQL, nil},
		{"postgres://ep-cool-1.eu-central-1.aws.neon.tech/app", "", nil},
		{"postgres://rds.amazonaws.com.example.org/app", "", nil},
		{"postgres://10.0.0.5:5432/app", "", nil},
		{"data/capture.csv", "", nil},
	} {
		place, named := act.ServiceOf(c.address)
		if place != c.place || !maps.Equal(named, c.named) {
			t.Errorf("%s: %q %v, want %q %v", c.address, place, named, c.place, c.named)
		}
	}
}
