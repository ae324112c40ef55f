package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/source"
)

// The queries for each version since 10 are in testdata/queries. A diff shows when a version moves a
// column.
func TestQueriesOfVersions(t *testing.T) {
	datadriven.RunTest(t, "testdata/queries", func(t *testing.T, d *datadriven.TestData) string {
		var version int
		d.ScanArgs(t, "version", &version)

		var b strings.Builder
		for _, v := range viewsOf(d.HasArg("total")) {
			if !v.in(version) {
				continue
			}
			fmt.Fprintf(&b, "%s\n", v.query(version))
			for _, c := range v.columns(version) {
				if d.Cmd == "series" {
					fmt.Fprintf(&b, "  %s\n", c.metric)
				}
			}
		}

		return b.String()
	})
}

func TestSettings(t *testing.T) {
	for _, x := range []struct {
		name, setting, unit, vartype, metric string
		value                                float64
	}{
		{"fsync", "on", "", "bool", "pg_settings_fsync", 1},
		{"full_page_writes", "off", "", "bool", "pg_settings_full_page_writes", 0},
		{"max_connections", "100", "", "integer", "pg_settings_max_connections", 100},
		{"shared_buffers", "16384", "8kB", "integer", "pg_settings_shared_buffers_bytes", 128 << 20},
		{"max_wal_size", "1024", "MB", "integer", "pg_settings_max_wal_size_bytes", 1 << 30},
		{"wal_writer_delay", "200", "ms", "integer", "pg_settings_wal_writer_delay_seconds", 0.2},
		{"checkpoint_timeout", "300", "s", "integer", "pg_settings_checkpoint_timeout_seconds", 300},
		{"log_rotation_age", "1440", "min", "integer", "pg_settings_log_rotation_age_seconds", 86400},
		{"old_snapshot_threshold", "-1", "min", "integer", "pg_settings_old_snapshot_threshold_seconds", -1},
		{"wal_segment_size", "16777216", "B", "integer", "pg_settings_wal_segment_size_bytes", 16 << 20},
		{"wal_segment_size", "1", "16MB", "integer", "pg_settings_wal_segment_size_bytes", 16 << 20},
		{"checkpoint_completion_target", "0.9", "", "real", "pg_settings_checkpoint_completion_target", 0.9},
		{"pg_stat_statements.max", "5000", "", "integer", "pg_settings_pg_stat_statements_max", 5000},
		{"io_something", "3", "parsecs", "integer", "pg_settings_io_something", 3},
	} {
		metric, value, ok := metricOfSetting(x.name, x.setting, x.unit, x.vartype)
		if metric != x.metric || value != x.value || !ok {
			t.Errorf("%s = %s %s: %s %v, not %s %v", x.name, x.setting, x.unit, metric, value, x.metric, x.value)
		}
	}
	for _, bad := range [][3]string{{"maybe", "", "bool"}, {"many", "kB", "integer"}, {"", "", "real"}} {
		if metric, _, ok := metricOfSetting("x", bad[0], bad[1], bad[2]); ok {
			t.Errorf("%q gives %s", bad, metric)
		}
	}
}

// A password in an address appears in no name and no error.
func TestAddresses(t *testing.T) {
	none := func(string) string { return "" }
	for _, x := range []struct{ address, name string }{
		{"postgres://me:s3cret@db-1/shop", "postgres://db-1:5432/shop"},
		{"postgresql://me:s3cret@db-1:6432/shop?sslmode=disable", "postgres://db-1:6432/shop"},
		{"postgres://db-1/shop?user=me&password=s3cret", "postgres://db-1:5432/shop"},
		{"postgres://me:s3cret@[::1]:5433/shop", "postgres://[::1]:5433/shop"},
		{"postgres:///shop?host=/run/pg&user=me&password=s3cret", "postgres:///shop?host=/run/pg&port=5432"},
		{"postgres://me:s3cret@a:1,b:2/shop", "postgres://a:1/shop"},
	} {
		s, err := Open(t.Context(), x.address, recognise.LiveOptions{Getenv: none})
		if err != nil {
			t.Errorf("%s: %v", x.address, err)
			continue
		}
		if d := s.Describe(); d.Name != x.name || strings.Contains(fmt.Sprintf("%+v", d), "s3cret") {
			t.Errorf("%s is called %q, not %q", x.address, d.Name, x.name)
		}
	}

	for address, want := range map[string]string{
		"postgres://me:s3cret%zz@db/x":                          "percent-encoded",
		"postgres://me:s3cret@db:port/x":                        "example: postgres://",
		"postgres://me:s3cret@db/x?sslmode=often":               "verify-full",
		"postgres://me:s3cret@db/x?sslrootcert=/no/such/file":   "/no/such/file",
		"postgres://me:s3cret@db/" + strings.Repeat("x", 1<<13): "4096 bytes",
	} {
		if _, err := Open(t.Context(), address, recognise.LiveOptions{Getenv: none}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.60s: %v; want %q", address, err, want)
		}
	}
}

// A user and a password may come from the environment, but do not replace those of the address.
func TestCredentialsOfTheEnvironment(t *testing.T) {
	t.Setenv("PGUSER", "")
	env := func(name string) string {
		return map[string]string{source.EnvUser: "them", source.EnvPassword: "theirs"}[name]
	}
	for address, want := range map[string]string{
		"postgres://db/x":          "them theirs",
		"postgres://me@db/x":       "me theirs",
		"postgres://me:mine@db/x":  "me mine",
		"postgres://db/x?user=you": "you theirs",
	} {
		got, err := newTarget(address, recognise.LiveOptions{Getenv: env})
		if err != nil {
			t.Fatal(err)
		}
		if got := got.config.User + " " + got.config.Password; got != want {
			t.Errorf("%s: %s, not %s", address, got, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add("postgres://me:s3cret@db-1/shop?sslmode=disable")
	f.Add("postgresql://@/?host=/run,b&port=1,2")
	f.Add("postgres://a:b@c@d:99999/%2F?password=%41")
	f.Fuzz(func(t *testing.T, address string) {
		const secret = "qZx7-s3cret"
		s, err := Open(t.Context(), strings.ReplaceAll(address, "s3cret", secret), recognise.LiveOptions{Getenv: func(string) string { return "" }})
		shown := fmt.Sprint(err)
		if err == nil {
			shown = s.Describe().Name
		}
		if strings.Contains(address, ":s3cret@") && strings.Count(address, "s3cret") == 1 && strings.Contains(shown, secret) {
			t.Errorf("%q shows the secret: %s", address, shown)
		}
	})
}

// Settings that only one provider's servers have show the service, which the address may not.
func TestServiceOfSettings(t *testing.T) {
	for service, names := range map[string][]string{
		"":         {"port"},
		"azure":    {"azure.extensions", "port"},
		"cloudsql": {"cloudsql.iam_authentication"},
		"rds":      {"rds.extensions", "port"},
		"aurora":   {"apg_ccm_enabled", "port", "rds.extensions"},
	} {
		s := &sampler{facts: map[string]string{}}
		var rows [][][]byte
		for _, n := range names {
			if !strings.Contains(factsStatement(), "'"+n+"'") {
				t.Errorf("%s is not read", n)
			}
			rows = append(rows, [][]byte{[]byte(n), []byte("x")})
		}
		if _, err := s.takeFacts(rows); err != nil || s.facts["server.service"] != service {
			t.Errorf("%s: %q, %v; want %q", names, s.facts["server.service"], err, service)
		}
	}
}
