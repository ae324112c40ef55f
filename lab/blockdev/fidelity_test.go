package blockdev

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/lab/disk"
	"plimsoll/random"
	"plimsoll/units"
	"plimsoll/volume"
	"plimsoll/vtime"
)

var fidelity = flag.Int("fidelity", 0, "measure each volume with fio for so many seconds a pattern and print the table of docs/lab.md")

var fidelityOnly = flag.String("fidelity-only", "", "only the rows whose volume and pattern have this in them")

// A pattern is what fio does.
type pattern struct {
	name  string
	rw    string
	block units.Size
	depth int
}

var patterns = []pattern{
	{"4K write, 1 in flight", "randwrite", 4 * units.KiB, 1},
	{"4K write, 32 in flight", "randwrite", 4 * units.KiB, 32},
	{"16K read, 32 in flight", "randread", 16 * units.KiB, 32},
	{"256K write, 8 in flight", "randwrite", 256 * units.KiB, 8},
}

type measured struct{ iops, mbs, p50, p99 float64 } // p in us

func ssd(name string, iops units.Frequency, mibs float64, calibration *volume.Calibration) volume.Config {
	c := volume.Config{
		Name: name, Size: 4 * units.GiB, Operation: 256 * units.KiB,
		Sustained: volume.Rate{IOPS: iops, Throughput: units.Throughput(mibs * (1 << 20))},
	}
	for op := range c.Latency {
		if calibration == nil {
			c.Latency[op] = volume.Constant(units.Duration(700 * time.Microsecond))
		} else {
			c.Latency[op] = calibration.Latency()
		}
	}
	return c
}

// TestFidelity prints how a device compares with the model of its volume under fio, one after the other.
//
//	go test ./lab/blockdev -run Fidelity -fidelity 5 -v
func TestFidelity(t *testing.T) {
	if *fidelity == 0 {
		t.Skip("a measurement, not a test: -fidelity SECONDS")
	}
	available(t, "fio")
	if os.Getenv("NOPRIO") == "" {
		Prioritize()
	}
	t.Logf("%-22s %-24s %9s %9s %7s | %8s %8s | %8s %8s | %s", "volume", "pattern", "IOPS", "model", "error", "p50 ms", "model", "p99 ms", "model", "late p99 us")
	for _, cfg := range []volume.Config{
		ssd("3,000 IOPS, 125 MiB/s", 3000, 125, nil),
		ssd("gp3 3,000", 3000, 125, &volume.GP3),
		ssd("gp3 16,000, 250 MiB/s", 16000, 250, &volume.GP3),
		ssd("io2 16,000", 16000, 1000, &volume.IO2BlockExpress),
		ssd("200 IOPS", 200, 125, nil),
	} {
		for _, p := range patterns {
			if !strings.Contains(cfg.Name+", "+p.name, *fidelityOnly) {
				continue
			}
			d, v := attach(t, disk.Config{Name: cfg.Name, Size: cfg.Size, Volume: volume.MustNew(cfg, 1, nil)}, Options{})
			d.Pace(false, nil)
			fill(t, v.Path())
			d.Pace(true, volume.MustNew(cfg, 1, nil))
			d.ResetStats()
			is := fio(t, v.Path(), p, time.Duration(*fidelity)*time.Second)
			m := modelled(cfg, p, time.Duration(*fidelity)*time.Second)
			t.Logf("%-22s %-24s %9.0f %9.0f %6.1f%% | %8.2f %8.2f | %8.2f %8.2f | %6.0f", cfg.Name, p.name, is.iops, m.iops,
				100*(is.iops/m.iops-1), is.p50/1000, m.p50/1000, is.p99/1000, m.p99/1000, float64(d.Stats().LateP99)/1000)
			t.Logf("   path %+v, stats %+v", d.Path(), d.Stats())
		}
	}
}

// fill writes what fio will use, so that its pages exist.
func fill(t *testing.T, path string) {
	t.Helper()
	run(t, "dd", "if=/dev/zero", "of="+path, "bs=1M", "count=1024", "oflag=direct", "status=none")
}

// fio runs a pattern on a device.
func fio(t *testing.T, path string, p pattern, d time.Duration) measured {
	t.Helper()
	out, err := exec.Command("nice", "-n", strconv.Itoa(niceness(t)), "fio", "--name=x", "--filename="+path, "--ioengine=libaio", "--direct=1", "--rw="+p.rw, "--randrepeat=1",
		"--size=1g", "--bs="+strconv.FormatInt(int64(p.block), 10), "--iodepth="+strconv.Itoa(p.depth), "--time_based",
		"--runtime="+strconv.Itoa(int(d/time.Second)), "--output-format=json").Output()
	if err != nil {
		t.Fatalf("fio: %v", err)
	}
	var r struct {
		Jobs []struct {
			Read, Write struct {
				IOPS float64 `json:"iops"`
				BW   float64 `json:"bw_bytes"`
				CLat struct {
					Percentile map[string]float64 `json:"percentile"`
				} `json:"clat_ns"`
			}
		}
	}
	if err := json.Unmarshal(out, &r); err != nil || len(r.Jobs) != 1 {
		t.Fatalf("fio's JSON: %v", err)
	}
	s := r.Jobs[0].Read
	if s.IOPS == 0 {
		s = r.Jobs[0].Write
	}
	return measured{s.IOPS, s.BW / 1e6, s.CLat.Percentile["50.000000"] / 1e3, s.CLat.Percentile["99.000000"] / 1e3}
}

// modelled runs the same closed loop in virtual time.
func modelled(cfg volume.Config, p pattern, d time.Duration) measured {
	v := volume.MustNew(cfg, 1, nil)
	op := volume.Write
	if p.rw == "randread" {
		op = volume.Read
	}
	s := random.Seed(1).Stream("fio")
	var clock vtime.Clock
	var took []float64
	var ask vtime.HandlerFunc
	ask = func(now vtime.Instant, began uint64) {
		if began > 0 {
			took = append(took, float64(now-vtime.Instant(began-1))/1e3)
		}
		c := v.Submit(now, volume.Request{Op: op, Offset: units.Size(s.Below(1<<30/uint64(p.block))) * p.block, Length: p.block})
		clock.At(c.Done, ask, uint64(now)+1)
	}
	for range p.depth {
		clock.At(0, ask, 0)
	}
	clock.Run(vtime.At(d))
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(math.Ceil(q*float64(len(took))))-1] }
	iops := float64(len(took)) / d.Seconds()
	return measured{iops, iops * float64(p.block) / 1e6, at(.5), at(.99)}
}

// niceness is what brings a child of this process back to the priority of an ordinary program.
func niceness(t *testing.T) int {
	t.Helper()
	// The system call gives 20 less the niceness.
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n - 20
}
