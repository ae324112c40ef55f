package live

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/lab/process"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/source"
)

// exporterPage starts postgres_exporter and returns its page, or skips.
func exporterPage(t *testing.T, dsn string) *page {
	t.Helper()
	path, err := exec.LookPath("prometheus-postgres-exporter")
	if err != nil {
		t.Skip("postgres_exporter is not installed: apt-get install prometheus-postgres-exporter")
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	p, err := process.Start(process.Options{Path: path, Args: []string{"--web.listen-address=" + at, "--log.level=error"}, Env: []string{"DATA_SOURCE_NAME=" + dsn}})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.Stop(ctx, syscall.SIGTERM); err != nil {
			t.Log(err) // the signal ended it
		}
	})

	src, err := exposition.OpenURL("http://"+at+"/metrics", exposition.URLOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}

	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()

	for exposition.Probe(t.Context(), src) != nil {
		select {
		case <-look.C:
		case <-p.Done():
			t.Fatal(p.Tail())
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := &page{each: func(int) { cancel() }}

	if err := src.Read(ctx, got, source.Options{}); err != nil {
		t.Fatal(err)
	}

	return got
}

// leftOut are the exporter's families that are not read, because none explains why a write waits.
var leftOut = regexp.MustCompile(`^pg_(locks_count|stat_archiver_.*|stat_database_conflicts_confl_.*|static|exporter_.*|scrape_.*|replication_.*|` +
	`stat_(database|bgwriter)_stats_reset.*|stat_database_checksum_last_failure|` +
	// those of the session itself
	`settings_(default_transaction_read_only|transaction_read_only|statement_timeout_seconds|extra_float_digits))$`)

// onlyOurs are families that Debian's exporter, 0.11, does not have; only later versions do, or none.
var onlyOurs = regexp.MustCompile(`^(pg_stat_wal_.*|pg_stat_io_.*|pg_wal_.*|pg_replication_is_replica|plimsoll_.*)$`)

// byName drops the labels that only our sessions have, and sums the values.
func byName(p *page) map[string]float64 {
	out := map[string]float64{}
	for name, v := range p.values {
		name = regexp.MustCompile(`(, wait_event(_type)?="[^"]*"|backend_type="[^"]*", )`).ReplaceAllString(name, "")
		if strings.Contains(name, "max_tx_duration") {
			out[name] = max(out[name], v)
		} else {
			out[name] += v
		}
	}
	return out
}

func family(series string) string {
	_, name, _ := strings.Cut(series, labels.MetricName+`="`)
	name, _, _ = strings.Cut(name, `"`)
	return name
}

// The exporter and the live source use the same names. The exporter's values are between those of a
// sample before its page and one after it.
func TestSameAsTheExporter(t *testing.T) {
	s := real(t)
	address := s.Socket("monitor", "postgres")
	if _, err := s.Exec("CREATE TABLE IF NOT EXISTS busy AS SELECT generate_series(1, 1000) AS i; UPDATE busy SET i = i + 1; CHECKPOINT"); err != nil {
		t.Fatal(err)
	}

	ours := func() map[string]float64 {
		// Sizes come with a later sample, because another connection queries them.
		p, err := read(t, address, 1, recognise.LiveOptions{})
		if err != nil {
			t.Fatal(err)
		}

		later, err := readUntil(t, address, func(p *page) bool { return p.has("pg_database_size_bytes") })
		if err != nil {
			t.Fatal(err)
		}

		for name, v := range later.values {
			if strings.Contains(name, "pg_database_size_bytes") {
				p.values[name] = v
			}
		}

		return byName(p)
	}

	before := ours()
	theirs := byName(exporterPage(t, fmt.Sprintf("postgresql://monitor@:%d/postgres?host=%s&sslmode=disable", s.Port, s.Dir)))
	after := ours()

	families := map[string]bool{}
	compared := 0
	for name, x := range theirs {
		f := family(name)
		if !strings.HasPrefix(f, "pg_") || leftOut.MatchString(f) {
			continue
		}

		families[f] = true
		if strings.Contains(name, `datid="0"`) || f == "pg_up" {
			continue // the exporter's label for no database
		}

		lo, ok := before[name]
		hi, there := after[name]
		if !ok && !there {
			if x != 0 || f != activityCount && f != activityAge {
				t.Errorf("the exporter has %s %v, and we do not", name, x)
			}
			continue // a group that has been empty since the first sample
		}

		gauge := f == activityCount || f == activityAge || strings.HasSuffix(f, "numbackends")
		compared++
		if !gauge && (x < lo || x > hi) {
			t.Errorf("%s is %v with the exporter, %v before and %v after", name, x, lo, hi)
		}
	}

	for name := range after {
		if f := family(name); !families[f] && !onlyOurs.MatchString(f) && !leftOut.MatchString(f) {
			t.Errorf("we have %s, and the exporter has no %s", name, f)
		}
	}

	if compared < 300 {
		t.Errorf("%d series were compared", compared)
	}

	t.Logf("%d series of %d families compared", compared, len(families))
}
