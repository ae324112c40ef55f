package live

import (
	"context"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/source"
)

// While a query that lists files hangs, as it does when the disk stalls, the other figures are still
// sampled. On a real server, slow functions with the same names shadow the built-in ones.
func TestSlowFilesDoNotStopSamples(t *testing.T) {
	s := real(t)
	for _, sql := range []string{
		"CREATE SCHEMA slow", "GRANT USAGE ON SCHEMA slow TO PUBLIC",
		"CREATE FUNCTION slow.pg_database_size(oid) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint FROM pg_sleep(600)'",
		"CREATE FUNCTION slow.pg_ls_waldir() RETURNS TABLE (name text, size bigint) LANGUAGE sql AS 'SELECT ''000000010000000000000001'', 1::bigint FROM pg_sleep(600)'",
	} {
		if _, err := s.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}

	defer func() {
		if _, err := s.Exec("DROP SCHEMA slow CASCADE"); err != nil {
			t.Error(err)
		}
	}()

	const samples = 20
	p, err := read(t, s.Address("monitor:m0nit0r-s3cret", "postgres")+"?options=-c%20search_path%3Dslow,pg_catalog", samples, recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}

	if p.n < samples {
		t.Errorf("%d samples, want %d", p.n, samples)
	}

	if !p.has("pg_up") || p.has("pg_wal_size_bytes") {
		t.Errorf("pg_up %v, pg_wal_size_bytes %v", p.has("pg_up"), p.has("pg_wal_size_bytes"))
	}

	if text := p.text(); strings.Contains(text, "gap") {
		t.Errorf("samples are missing: %s", text)
	}
}

// readUntil takes samples until a condition holds, and at most a thousand.
func readUntil(t testing.TB, address string, holds func(*page) bool) (*page, error) {
	t.Helper()
	src, err := Open(t.Context(), address, recognise.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &page{}
	p.each = func(k int) {
		if k == 1000 || holds(p) {
			cancel()
		}
	}
	return p, src.Read(ctx, p, source.Options{Period: 20 * time.Millisecond})
}

// has reports whether a series of a metric was recorded.
func (p *page) has(metric string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.values {
		if strings.Contains(name, `"`+metric+`"`) {
			return true
		}
	}
	return false
}
