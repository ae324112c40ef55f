//go:build linux

package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
)

func TestFioJob(t *testing.T) {
	for _, name := range library(t).Names() {
		p, err := library(t).Load(name)
		if err != nil {
			t.Fatal(err)
		}

		job := FioJob(p, "/data")
		if strings.Count(job, "\nstonewall\n") != len(p.stages()) || !strings.Contains(job, "directory=/data\n") {
			t.Errorf("%s:\n%s", name, job)
		}

		fio, err := exec.LookPath("fio")
		if err != nil {
			t.Log("fio is not installed: its parser was not tried")
			continue
		}

		dir := t.TempDir()
		file := filepath.Join(dir, "job.fio")
		if err := os.WriteFile(file, []byte(FioJob(p, dir)), 0o600); err != nil {
			t.Fatal(err)
		}

		if out, err := exec.Command(fio, "--parse-only", file).CombinedOutput(); err != nil {
			t.Errorf("%s: fio: %v\n%s", name, err, out)
		}
	}
}

// A fioReport is the part of fio's JSON that this test reads.
type fioReport struct {
	Jobs []struct {
		Read, Write struct {
			IOPS float64  `json:"iops"`
			IOs  int64    `json:"total_ios"`
			Clat fioTimes `json:"clat_ns"`
		}
		Sync struct {
			Lat fioTimes `json:"lat_ns"`
		}
	}
}

type fioTimes struct {
	Percentile map[string]float64 `json:"percentile"`
}

// TestFio alternates between fio and a probe with the same patterns, and prints both (-v). It
// asserts that both did I/O, but no times, because the machine may be busy. PROBE_DIR names a
// folder on another device, PROBE_STAGE the duration of each run, and PROBE_ROUNDS their number;
// the last line of each pattern has their medians.
func TestFio(t *testing.T) {
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("fio is not installed")
	}

	dir := os.Getenv("PROBE_DIR")
	if dir == "" {
		dir = t.TempDir()
	}

	direct(t, dir)
	stage := os.Getenv("PROBE_STAGE")
	if stage == "" {
		stage = "200ms"
	}

	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("PROBE_ROUNDS"), "1"))
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct{ name, stream string }{
		{"appends, fdatasync each", "{kind: append, size: 2300B, fdatasync: 1, file: 64MiB}"},
		{"4K reads, 1 in flight", "{kind: random-read, size: 4KiB, direct: true, file: 256MiB}"},
		{"8K reads, 32 in flight", "{kind: random-read, size: 8KiB, depth: 32, direct: true, file: 256MiB}"},
		{"16K writes, 8 in flight", "{kind: random-write, size: 16KiB, depth: 8, direct: true, file: 256MiB}"},
		{"8K reads, 500/s", "{kind: random-read, size: 8KiB, rate: 500/s, direct: true, file: 256MiB}"},
	} {
		p := parsed(t, "measured: s\nstage: "+stage+"\nstreams:\n  s: "+c.stream+"\n")
		var ours, theirs []fioFigures
		for range rounds {
			f := runFio(t, fio, dir, p)
			r, err := Run(context.Background(), p, Options{Path: dir, Seed: 1, Yes: true})
			if err != nil {
				t.Fatal(err)
			}

			x := r.Stages[0].Streams[0]
			if x.Latency.Operations == 0 || f.count == 0 {
				t.Fatalf("%s: the probe did %d operations, fio %d", c.name, x.Latency.Operations, f.count)
			}

			l := x.Service
			if x.Fdatasync != nil {
				l = *x.Fdatasync
			}

			ours = append(ours, fioFigures{x.IOPS, *l.P50Seconds, *l.P99Seconds, x.Latency.Operations})
			theirs = append(theirs, f)
			logFigures(t, c.name, ours[len(ours)-1], f)
		}

		logFigures(t, "median: "+c.name, medians(ours), medians(theirs))
	}
}

func logFigures(t *testing.T, name string, a, b fioFigures) {
	t.Helper()
	t.Logf("%-32s IOPS %8.0f fio %8.0f %+6.1f %%   p50 %-8s fio %-8s %+6.1f %%   p99 %-8s fio %-8s %+6.1f %%", name,
		a.iops, b.iops, percent(a.iops, b.iops), units.Seconds(a.p50), units.Seconds(b.p50), percent(a.p50, b.p50),
		units.Seconds(a.p99), units.Seconds(b.p99), percent(a.p99, b.p99))
}

func medians(of []fioFigures) fioFigures {
	median := func(get func(fioFigures) float64) float64 {
		var x []float64
		for _, f := range of {
			x = append(x, get(f))
		}
		slices.Sort(x)
		return x[len(x)/2]
	}
	return fioFigures{
		iops: median(func(f fioFigures) float64 { return f.iops }),
		p50:  median(func(f fioFigures) float64 { return f.p50 }),
		p99:  median(func(f fioFigures) float64 { return f.p99 }),
	}
}

func percent(a, b float64) float64 { return 100 * (a/b - 1) }

type fioFigures struct {
	iops, p50, p99 float64
	count          int64
}

// runFio runs a profile of one stream and removes the file.
func runFio(t *testing.T, fio, dir string, p *Profile) fioFigures {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.fio")
	if err := os.WriteFile(file, []byte(FioJob(p, dir)), 0o600); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(fio, "--output-format=json", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fio: %v\n%s", err, out)
	}

	if err := os.Remove(filepath.Join(dir, "plimsoll-fio.s")); err != nil {
		t.Fatal(err)
	}

	var r fioReport
	if i := strings.IndexByte(string(out), '{'); i < 0 || json.Unmarshal(out[i:], &r) != nil || len(r.Jobs) != 1 {
		t.Fatalf("fio printed %s", out)
	}

	j := r.Jobs[0]
	side, times := j.Read, j.Read.Clat
	if p.Streams[0].Writes() {
		side, times = j.Write, j.Write.Clat
	}

	if p.Streams[0].Sync > 0 {
		times = j.Sync.Lat
	}

	at := func(q string) float64 { return times.Percentile[fmt.Sprintf("%s00000", q)] / 1e9 }
	return fioFigures{iops: side.IOPS, p50: at("50.0"), p99: at("99.0"), count: side.IOs}
}
