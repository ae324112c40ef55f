package iostat

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestSar: the outputs of sar and sadf for one file (sysstat 12.6: sar -u -q -d, sadf -d, -p, -j and
// -x) give the same result. Reads and writes are counted together: 4,807 requests in the first second,
// 0.38 ms each.
func TestSar(t *testing.T) {
	for _, name := range []string{"text", "separated", "pairs", "json", "xml"} {
		text, err := os.ReadFile("testdata/sar/" + name)
		if err != nil {
			t.Fatal(err)
		}

		m, src, err := read(t, name, text, source.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		if d := src.Describe(); d.Kind != "sar" || d.Host != "db-1" || d.Samples != 5 {
			t.Errorf("%s: %s of %s, %d samples", name, d.Kind, d.Host, d.Samples)
		}

		for metric, want := range map[string]string{
			`sysstat_disk_requests_total{device="vda"}`:              "0 4807 5254.52 5254.52 5386.52",
			`sysstat_disk_request_seconds_total{device="vda"}`:       "0 1.82666 2.077271 2.077271 2.093111",
			`node_disk_written_bytes_total{device="vda"}`:            "0 265043968 287863962 287863962 288138394",
			`node_disk_io_time_seconds_total{device="vda"}`:          "0 0.772 0.9779 0.9779 0.9859",
			`node_disk_io_time_weighted_seconds_total{device="vda"}`: "0 1.82 2.07 2.07 2.09",
			`node_cpu_seconds_total{mode="user"}`:                    "0 1.0196 2.5818 4.4118 5.5318",
			`{__name__=~"node_disk_(reads|writes)_completed_total"}`: "",
			`{__name__=~"node_disk_.*", device!="vda"}`:              "",
		} {
			if strings.HasPrefix(metric, "node_cpu") && (name == "separated" || name == "pairs") {
				continue // sadf -d and -p print one activity
			}
			if got := firstOf(t, m, metric); got != want {
				t.Errorf("%s: %s is %s, want %s", name, metric, got, want)
			}
		}
	}
}

// The host's tasks, paging and swapping: the same from text without a banner and from sadf -d, -p, -j
// and -x.
func TestSarOfTheHost(t *testing.T) {
	const jsonHead = `{"sysstat": {"hosts": [{"nodename": "db-1", "file-date": "2026-11-27", "statistics": [`
	const xmlHead = `<?xml version="1.0"?><!DOCTYPE sysstat PUBLIC "a" "b"><sysstat><host nodename="db-1"><statistics>`
	for name, text := range map[string]string{
		"text": "Linux 6.1 (db-1) \t11/27/2026 \t_x86_64_\t(2 CPU)\n\n10:00:00      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n" +
			"10:00:01            1       183     13.59     12.75      6.61         4\n" +
			"10:00:02            2       183     13.59     12.75      6.61         5\n\n" +
			"10:00:00     pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    %vmeff\n" +
			"10:00:01        12.00    112.00  58901.00      3.00  24166.00      0.00      0.00      0.00      0.00\n" +
			"10:00:02        12.00    112.00  58901.00      3.00  24166.00      0.00      0.00      0.00      0.00\n",
		"separated": "# hostname;interval;timestamp;runq-sz;plist-sz;ldavg-1;ldavg-5;ldavg-15;blocked\n" +
			"db-1;1;2026-11-27 10:00:01 UTC;1;183;13.59;12.75;6.61;4\ndb-1;1;2026-11-27 10:00:02 UTC;2;183;13.59;12.75;6.61;5\n" +
			"# hostname;interval;timestamp;pgpgin/s;pgpgout/s;fault/s;majflt/s\n" +
			"db-1;1;2026-11-27 10:00:01 UTC;12.00;112.00;58901.00;3.00\ndb-1;1;2026-11-27 10:00:02 UTC;12.00;112.00;58901.00;3.00\n",
		"pairs": "db-1\t1\t2026-11-27 10:00:01 UTC\t-\tblocked\t4\ndb-1\t1\t2026-11-27 10:00:01 UTC\t-\tmajflt/s\t3.00\n" +
			"db-1\t1\t2026-11-27 10:00:02 UTC\t-\tblocked\t5\ndb-1\t1\t2026-11-27 10:00:02 UTC\t-\tmajflt/s\t3.00\n",
		"json": jsonHead + `{"timestamp": {"date": "2026-11-27", "time": "10:00:01", "utc": 1}, "queue": {"blocked": 4}, "paging": {"majflt": 3.00}},
			{"timestamp": {"date": "2026-11-27", "time": "10:00:02", "utc": 1}, "queue": {"blocked": 5}, "paging": {"majflt": 3.00}}]}]}}`,
		"xml": xmlHead + `<timestamp date="2026-11-27" time="10:00:01" utc="1"><paging per="second" majflt="3.00"/><queue blocked="4"/></timestamp>
			<timestamp date="2026-11-27" time="10:00:02" utc="1"><paging per="second" majflt="3.00"/><queue blocked="5"/></timestamp></statistics></host></sysstat>`,
	} {
		if !Sniff("", []byte(text)) {
			t.Errorf("%s is not recognised", name)
		}
		m, _, err := read(t, name, []byte(text), source.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, f := firstOf(t, m, "node_procs_blocked"), firstOf(t, m, "node_vmstat_pgmajfault"); b != "4 5" || f != "0 3 6" {
			t.Errorf("%s: %s blocked, %s faults", name, b, f)
		}
	}
}

// A part of a report has no date. It is the day on which the file was written, or the day before.
func TestSarWithoutBanner(t *testing.T) {
	const text = "23:59:50    runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked\n" +
		"23:59:55            1       183     13.59     12.75      6.61         4\n" +
		"00:00:00            1       183     13.59     12.75      6.61         4\n"
	for modified, want := range map[string]string{
		"2026-11-28T00:00:10Z": "2026-11-27T23:59:55Z", "2026-11-28T10:00:00Z": "2026-11-27T23:59:55Z",
	} {
		at, err := time.Parse(time.RFC3339, modified)
		if err != nil {
			t.Fatal(err)
		}
		m := recording.NewMemory(recording.MemoryOptions{})
		src, err := New(source.File{Path: "q", Modified: at, Bytes: int64(len(text)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Read(t.Context(), m, source.Options{Location: time.UTC}); err != nil {
			t.Fatal(err)
		}
		// The first interval begins 5 s earlier.
		if got := src.Describe().From.Add(5 * time.Second).Format(time.RFC3339); got != want {
			t.Errorf("modified at %s: from %s, want %s", modified, got, want)
		}
		if !strings.Contains(fmt.Sprint(m.Notes()), "without a date") {
			t.Errorf("notes: %v", m.Notes())
		}
	}
}

// Truncated XML keeps its reports, and a note says where it ends.
func TestCutXML(t *testing.T) {
	text, err := os.ReadFile("testdata/sar/xml")
	if err != nil {
		t.Fatal(err)
	}
	m, src, err := read(t, "cut", text[:len(text)-400], source.Options{})
	if err != nil || src.Describe().Samples != 4 {
		t.Fatalf("%d samples, %v", src.Describe().Samples, err)
	}
	notes := fmt.Sprint(m.Notes())
	if !strings.Contains(notes, "the XML ends early or is damaged") || !strings.Contains(notes, "line 4") {
		t.Errorf("notes: %s", notes)
	}
}

// Older reports, other clocks, restarts and other tables.
func TestSarForms(t *testing.T) {
	const heading = "          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util\n"
	const banner = "Linux 2.6.32 (db-1) \t11/21/2026 \t_x86_64_\t(2 CPU)\n\n"
	for name, c := range map[string]struct{ text, want string }{
		"sysstat 9, 12 hours": {banner + "11:59:51 AM" + heading +
			"12:00:01 PM       sda     10.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n" +
			"12:00:11 PM       sda     20.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n" +
			"Average:          sda     15.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n", "0 100 300"},
		"past midnight": {banner + "23:59:40" + heading +
			"23:59:50          sda     10.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n" +
			"00:00:00          sda     20.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n", "0 100 300"},
		"a restart begins again": {banner + "10:00:00" + heading +
			"10:00:10          sda     10.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n" +
			"10:00:20          sda     20.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n\n" +
			"10:30:00     LINUX RESTART\n\n10:40:00" + heading +
			"10:40:10          sda      5.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n" +
			"10:40:20          sda      5.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n", "0 100 300 0 50 100"},
		"two days": {banner + "10:00:00" + heading +
			"10:00:10          sda     10.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n" +
			strings.Replace(banner, "11/21", "11/22", 1) + "10:00:00" + heading +
			"10:00:10          sda     20.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n" +
			"10:00:20          sda     20.00      0.00     80.00      8.00      0.01      1.00      0.50      0.50\n", "0 100 0 200 400"},
	} {
		m, src, err := read(t, name, []byte(c.text), source.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := firstOf(t, m, "sysstat_disk_requests_total"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if d := src.Describe(); d.Period.Seconds() != 10 {
			t.Errorf("%s: a period of %s", name, d.Period)
		}
	}

	for name, text := range map[string]string{
		"mpstat": banner + "10:00:00     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n10:00:01     all    1.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   98.00\n",
		"prose":  "10:00:00 the DEV team met\n",
	} {
		if Sniff("", []byte(text)) {
			t.Errorf("%s is taken for sar's", name)
		}
	}

	_, _, err := read(t, "memory", []byte(banner+"10:00:00    kbmemfree kbmemused  %memused\n10:00:10    100 100 50.00\n"), source.Options{})
	if err == nil || !strings.Contains(err.Error(), "has no statistics of devices or CPUs: create it with sar -d -u") {
		t.Errorf("a report without devices: %v", err)
	}
}

// Sysstat before 9.1.5 separates reads and writes, but has one await.
func TestOneAwait(t *testing.T) {
	const text = "Linux 2.6.32 (db) \t11/21/2026 \t_x86_64_\t(2 CPU)\n\n" +
		"11/21/2026 02:15:01 AM\nDevice:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n" +
		"sda               0.00     0.00    0.00    1.00     0.00     8.00     8.00     0.00    1.00   1.00   0.10\n\n" +
		"11/21/2026 02:15:02 AM\nDevice:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n" +
		"sda               0.00     0.00   30.00   70.00     0.00     8.00     8.00   142.00 1420.00  10.00 100.00\n\n"

	m, _, err := read(t, "old.log", []byte(text), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := firstOf(t, m, "sysstat_disk_requests_total") + ", " + firstOf(t, m, "sysstat_disk_request_seconds_total"); got != "0 100, 0 142" {
		t.Errorf("requests and their time are %s", got)
	}

	if n := fmt.Sprint(m.Notes()); !strings.Contains(n, "one await for reads and writes together") {
		t.Errorf("notes %s", n)
	}
}

// firstOf returns the values of the first series of a selector, or "".
func firstOf(t *testing.T, m *recording.Memory, selector string) string {
	t.Helper()
	series, err := m.Samples(t.Context(), recording.MustSelector(selector), time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range series[:min(len(series), 1)] {
		for _, p := range s.Points {
			out = append(out, fmt.Sprintf("%.9g", math.Round(p.F*1e6)/1e6))
		}
	}
	return strings.Join(out, " ")
}
