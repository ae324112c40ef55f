package iostat

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// TestSar: the outputs of sar and sadf for one file (sysstat 12.6: sar -u -q -d, sadf -d, -p and
// -j) give the same result. Reads and writes are counted together: 4,807 requests in the first
// second, 0.38 ms each.
func TestSar(t *testing.T) {
	for _, name := range []string{"text", "separated", "pairs", "json"} {
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
