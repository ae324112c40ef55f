package diagnose_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/engine"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
)

// Published incident reports as recordings: the figures come from some exporter, at its sampling. Each
// situation is defined once, as the behaviour of a volume, and written in each format in which users
// may have it.

var formsBegan = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// jitter returns a factor around 1 that depends only on the time and the name.
func jitter(s float64, name string, amp float64) float64 {
	x := math.Sin(s*12.9898+float64(len(name))*78.233) * 43758.5453
	return 1 + amp*(2*(x-math.Floor(x))-1)
}

// A did is what a volume did in an interval: rates per second, and the mean time of a request.
type did struct {
	reads, writes, readKiB, writeKiB float64 // KiB per request
	readS, writeS, busy              float64
}

func (d did) queue() float64 { return d.reads*d.readS + d.writes*d.writeS }

// written collects series by time.
type written struct {
	t    *testing.T
	step time.Duration
	n    int
	mem  *recording.Memory
}

func forms(t *testing.T, step, length time.Duration) *written {
	return &written{t: t, step: step, n: int(length/step) + 1, mem: recording.NewMemory(recording.MemoryOptions{})}
}

func (w *written) series(counter bool, of func(s float64) float64, names ...string) *written {
	w.t.Helper()
	b := &recording.Batch{}
	values := make([]float64, w.n)

	sum := 1e6
	for i := range values {
		s := float64(i) * w.step.Seconds()
		b.TimesMs = append(b.TimesMs, formsBegan.Add(time.Duration(i)*w.step).UnixMilli())
		x := of(s)
		if counter {
			if i > 0 {
				sum += x * w.step.Seconds()
			}
			x = sum
		}
		values[i] = x
	}

	b.Columns = []recording.Column{{Labels: labels.FromStrings(append([]string{"__name__"}, names...)...), Values: values}}
	if err := w.mem.Append(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}

	return w
}

func (w *written) counter(of func(s float64) float64, names ...string) *written {
	return w.series(true, of, names...)
}

func (w *written) gauge(of func(s float64) float64, names ...string) *written {
	return w.series(false, of, names...)
}

// node writes a volume as node_exporter does.
func (w *written) node(device string, of func(s float64) did) *written {
	for name, x := range map[string]func(d did) float64{
		"reads_completed_total": func(d did) float64 { return d.reads }, "writes_completed_total": func(d did) float64 { return d.writes },
		"read_bytes_total": func(d did) float64 { return d.reads * d.readKiB * 1024 }, "written_bytes_total": func(d did) float64 { return d.writes * d.writeKiB * 1024 },
		"read_time_seconds_total": func(d did) float64 { return d.reads * d.readS }, "write_time_seconds_total": func(d did) float64 { return d.writes * d.writeS },
		"io_time_seconds_total": func(d did) float64 { return d.busy }, "io_time_weighted_seconds_total": did.queue,
	} {
		w.counter(func(s float64) float64 { return x(of(s)) }, "node_disk_"+name, "device", device, "instance", "10.0.0.5:9100", "job", "node")
	}
	return w
}

// cloudwatch writes a volume as prometheus/cloudwatch_exporter does, by the minute.
func (w *written) cloudwatch(id string, of func(s float64) did) *written {
	for name, x := range map[string]func(d did) float64{
		"read_ops_sum": func(d did) float64 { return 60 * d.reads }, "write_ops_sum": func(d did) float64 { return 60 * d.writes },
		"read_bytes_sum": func(d did) float64 { return 60 * d.reads * d.readKiB * 1024 }, "write_bytes_sum": func(d did) float64 { return 60 * d.writes * d.writeKiB * 1024 },
		"total_read_time_sum": func(d did) float64 { return 60 * d.reads * d.readS }, "total_write_time_sum": func(d did) float64 { return 60 * d.writes * d.writeS },
		"idle_time_sum": func(d did) float64 { return 60 * (1 - d.busy) }, "queue_length_average": did.queue,
	} {
		w.gauge(func(s float64) float64 { return x(of(s)) }, "aws_ebs_volume_"+name, "volume_id", id, "job", "aws_ebs", "instance", "")
	}
	return w
}

// postgres writes a PostgreSQL server's metrics as postgres_exporter does.
func (w *written) postgres(commits, active func(s float64) float64) *written {
	w.counter(commits, "pg_stat_database_xact_commit", "datname", "shop").
		counter(func(float64) float64 { return 0.1 }, "pg_stat_database_xact_rollback", "datname", "shop").
		gauge(active, "pg_stat_activity_count", "datname", "shop", "state", "active").
		gauge(func(float64) float64 { return 20 }, "pg_stat_activity_count", "datname", "shop", "state", "idle").
		gauge(func(s float64) float64 { return 1.2 * active(s) / commits(s) }, "pg_stat_activity_max_tx_duration", "datname", "shop", "state", "active")
	return w
}

// cpu writes the host's CPUs as node_exporter does, with the given busy share.
func (w *written) cpu(cores int, busy func(s float64) float64) *written {
	for k := range cores {
		w.counter(func(s float64) float64 { return busy(s) }, "node_cpu_seconds_total", "cpu", fmt.Sprint(k), "mode", "user").
			counter(func(s float64) float64 { return 1 - busy(s) }, "node_cpu_seconds_total", "cpu", fmt.Sprint(k), "mode", "idle")
	}
	return w
}

func (w *written) diagnose(opt diagnose.Options) *diagnose.Report {
	w.t.Helper()
	opt.Pack = testkit.Pack()
	r, err := diagnose.Run(w.t.Context(), []recording.Reader{w.mem}, opt)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// iostat writes a volume as `iostat -xt` logs it.
func iostat(t *testing.T, step, length time.Duration, device string, of func(s float64) did) *diagnose.Report {
	t.Helper()
	var b strings.Builder
	b.WriteString("Linux 6.8.0 (db-1) \t2026-05-04 \t_x86_64_\t(8 CPU)\n\n")

	for i := range int(length / step) {
		d := of(float64(i) * step.Seconds())
		fmt.Fprintf(&b, "%s\navg-cpu:  %%user   %%nice %%system %%iowait  %%steal   %%idle\n           5.00    0.00    2.00   10.00    0.00   83.00\n\n", formsBegan.Add(time.Duration(i)*step).Format("2006-01-02T15:04:05+0000"))
		b.WriteString("Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n")
		fmt.Fprintf(&b, "%s %.2f %.2f 0.00 0.00 %.2f %.2f %.2f %.2f 0.00 0.00 %.2f %.2f 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 %.2f %.2f\n\n\n",
			device, d.reads, d.reads*d.readKiB, d.readS*1000, d.readKiB, d.writes, d.writes*d.writeKiB, d.writeS*1000, d.writeKiB, d.queue(), 100*d.busy)
	}

	path := filepath.Join(t.TempDir(), "iostat.log")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	input, err := recognise.For(engine.All().Sources()).Open(t.Context(), path, recognise.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}

	mem := recording.NewMemory(recording.MemoryOptions{})
	if err := input.Source.Read(t.Context(), mem, source.Options{}); err != nil {
		t.Fatal(err)
	}

	r, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	return r
}

// capped is a volume that serves up to limit requests per second and queues the rest, at most 64. A
// request that does not queue takes base.
func capped(asked, limit, base, kib, readShare float64) func(s float64) did {
	return func(s float64) did {
		want := asked * jitter(s, "asked", 0.08)
		ops, each, busy := want, base*jitter(s, "base", 0.1), min(0.95, want*base/2)
		if want > limit {
			ops = limit * jitter(s, "limit", 0.004)
			each = (40 + 20*(jitter(s, "queue", 1)-1)) / ops
			busy = 0.998
		}
		return did{reads: ops * readShare, writes: ops * (1 - readShare), readKiB: kib, writeKiB: kib, readS: each, writeS: each, busy: busy}
	}
}

// until changes a volume's behaviour at a time.
func until(at float64, first, then func(s float64) did) func(s float64) did {
	return func(s float64) did {
		if s < at {
			return first(s)
		}
		return then(s)
	}
}

// inForms are the formats in which users have a volume's figures, each with the usual length of its
// recordings.
func inForms(t *testing.T, length time.Duration, of func(s float64) did) map[string]*diagnose.Report {
	t.Helper()
	out := map[string]*diagnose.Report{
		"node_exporter, 15 s":     forms(t, 15*time.Second, length).node("nvme1n1", of).diagnose(diagnose.Options{}),
		"node_exporter, a minute": forms(t, time.Minute, length).node("nvme1n1", of).diagnose(diagnose.Options{}),
		"CloudWatch":              forms(t, time.Minute, length).cloudwatch("vol-0a1b2c3d4e5f60718", of).diagnose(diagnose.Options{}),
		"iostat, 5 s":             iostat(t, 5*time.Second, length, "nvme1n1", of),
	}
	return out
}

func foundAnywhere(r *diagnose.Report, rule string) *diagnose.Finding {
	for i := range r.Findings {
		if r.Findings[i].Rule == rule {
			return &r.Findings[i]
		}
	}
	for i := range r.Incidents {
		for k := range r.Incidents[i].Findings {
			if r.Incidents[i].Findings[k].Rule == rule {
				return &r.Incidents[i].Findings[k]
			}
		}
	}
	return nil
}

func show(t *testing.T, form string, r *diagnose.Report) {
	t.Helper()
	t.Logf("%s: %s", form, r.Verdict)
	for _, f := range r.Findings {
		t.Logf("    %s %s %s w=%.2f %s", f.Severity, f.Kind, f.Rule, f.Weight, f.Summary)
	}
	for _, a := range r.Actions {
		t.Logf("    DO %s %v", a.Remedy, a.Do)
	}
}

// A volume that stays at its limit for the whole recording is not reported as calm, whatever the
// format.
func TestCapForTheWholeRecording(t *testing.T) {
	for form, r := range inForms(t, time.Hour, capped(4200, 3000, 0.0008, 16, 0.3)) {
		t.Run(form, func(t *testing.T) {
			show(t, form, r)
			if foundAnywhere(r, "disk/iops-capped") == nil || strings.HasPrefix(r.Verdict, "No stall") {
				t.Errorf("the cap is not named: %s", r.Verdict)
			}
		})
	}
}

// A limit that binds only in the first hours is found at that time.
func TestCapForTheFirstHours(t *testing.T) {
	for form, r := range inForms(t, 8*time.Hour, until(3*3600, capped(4200, 3000, 0.0008, 16, 0.3), capped(1400, 3000, 0.0008, 16, 0.3))) {
		t.Run(form, func(t *testing.T) {
			show(t, form, r)
			if foundAnywhere(r, "disk/iops-capped") == nil || strings.HasPrefix(r.Verdict, "No stall") {
				t.Errorf("the cap is not named: %s", r.Verdict)
			}
		})
	}
}

// The same for a throughput limit.
func TestThroughputCapForTheFirstHours(t *testing.T) {
	for form, r := range inForms(t, 8*time.Hour, until(3*3600, capped(1500, 1000, 0.0015, 128, 0.7), capped(400, 1000, 0.0015, 128, 0.7))) {
		t.Run(form, func(t *testing.T) {
			show(t, form, r)
			if foundAnywhere(r, "disk/throughput-capped") == nil || strings.HasPrefix(r.Verdict, "No stall") {
				t.Errorf("the cap is not named: %s", r.Verdict)
			}
		})
	}
}

// Reads that slow down from 0.5 to 3 ms at the same load are not reported as calm.
func TestReadsGetSlower(t *testing.T) {
	reads := func(each float64) func(s float64) did {
		return func(s float64) did {
			n := 1500 * jitter(s, "reads", 0.1)
			return did{reads: n, writes: 60, readKiB: 16, writeKiB: 16, readS: each * jitter(s, "each", 0.15), writeS: 0.001, busy: min(0.97, 0.3+n*each/12)}
		}
	}
	for form, r := range inForms(t, 6*time.Hour, until(4*3600, reads(0.0005), reads(0.003))) {
		t.Run(form, func(t *testing.T) {
			show(t, form, r)
			if strings.HasPrefix(r.Verdict, "No stall") {
				t.Errorf("it is called calm: %s", r.Verdict)
			}
		})
	}
}

// A scan is forty times as slow the first time as the second time.
func TestFirstScanIsSlow(t *testing.T) {
	scan := func(rate, each float64) func(s float64) did {
		return func(s float64) did {
			return did{reads: rate * jitter(s, "rate", 0.05), writes: 5, readKiB: 128, writeKiB: 8, readS: each * jitter(s, "each", 0.2), writeS: 0.001, busy: 0.96}
		}
	}

	idle := func(s float64) did {
		return did{reads: 3, writes: 5, readKiB: 8, writeKiB: 8, readS: 0.0006, writeS: 0.001, busy: 0.01}
	}
	of := until(200, idle, until(2600, scan(60, 0.04), until(3000, idle, until(3060, scan(2400, 0.0009), idle))))
	for form, r := range inForms(t, time.Hour, of) {
		t.Run(form, func(t *testing.T) {
			show(t, form, r)
			if foundAnywhere(r, "disk/first-touch") == nil || strings.HasPrefix(r.Verdict, "No stall") {
				t.Errorf("the first touch is not named: %s", r.Verdict)
			}
		})
	}
}

// Commits that halve while all clients stay connected are not reported as calm.
func TestWorkHalves(t *testing.T) {
	for _, active := range []float64{12, 64} {
		commits := func(s float64) float64 {
			if s > 3*3600 {
				return 2000 * jitter(s, "commits", 0.06)
			}
			return 4100 * jitter(s, "commits", 0.06)
		}

		volume := func(s float64) did {
			n := commits(s) * 0.8
			return did{reads: 200, writes: n, readKiB: 8, writeKiB: 8, readS: 0.0007, writeS: 0.0009, busy: 0.5}
		}

		w := forms(t, 15*time.Second, 5*time.Hour).postgres(commits, func(s float64) float64 { return math.Round(active * jitter(s, "active", 0.1)) }).node("nvme1n1", volume)
		r := w.diagnose(diagnose.Options{})
		show(t, fmt.Sprintf("%.0f sessions", active), r)

		if strings.HasPrefix(r.Verdict, "No stall") {
			t.Errorf("it is called calm: %s", r.Verdict)
		}
	}
}
