//go:build linux

package blockdev

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

// A pattern is a fio workload.
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
	{"1M write, 8 in flight", "randwrite", units.MiB, 8},
}

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

// lent returns a gp2 volume of 100 GiB with credits for only a few seconds.
func lent() volume.Config {
	c := ssd("gp2, 10,000 credits", 300, 128, &volume.GP2)
	c.Burst = &volume.Burst{At: volume.Rate{IOPS: 3000}, Capacity: 5_400_000, Initial: 10_000}
	return c
}

func measuredVolumes() []volume.Config {
	return []volume.Config{
		ssd("3,000 IOPS, 125 MiB/s", 3000, 125, nil),
		ssd("gp3 3,000", 3000, 125, &volume.GP3),
		ssd("gp3 16,000, 1,000 MiB/s", 16000, 1000, &volume.GP3),
		lent(),
		ssd("200 IOPS", 200, 125, nil),
		ssd("32,000 IOPS", 32000, 1000, nil),
		ssd("64,000 IOPS", 64000, 1000, nil),
	}
}

// fidelityLasts is how long fio runs each pattern.
const fidelityLasts = 5 * time.Second

// BenchmarkFidelity prints how a device compares with the model of its volume under fio, with and
// without a file system, and how the kernel's own throttle behaves with the same limits.
//
//	go test ./internal/lab/blockdev -run '^$' -bench Fidelity -benchtime 1x
func BenchmarkFidelity(b *testing.B) {
	if testing.Short() {
		b.Skip("a measurement of an otherwise idle machine")
	}

	available(b, "fio", "dd")
	Prioritize()
	fmt.Printf("%-24s %-23s %-7s|%8s %8s %7s |%7s %7s |%8s %8s |%8s %8s | late p99, saturated\n",
		"volume", "pattern", "on", "IOPS", "model", "error", "MB/s", "model", "p50 ms", "model", "p99 ms", "model")

	for _, cfg := range measuredVolumes() {
		for _, p := range patterns {
			for _, on := range []string{"device", "ext4", "kernel"} {
				// A separate benchmark for each, so that its image's memory is freed before the next one.
				b.Run(cfg.Name+"/"+p.name+"/"+on, func(b *testing.B) {
					for b.Loop() {
						measure(b, cfg, p, on, fidelityLasts)
					}
				})
			}
		}
	}
}

// measure prints one row.
func measure(t testing.TB, cfg volume.Config, p pattern, on string, lasts time.Duration) {
	t.Helper()
	m := modelled(cfg, p, lasts)
	var actual sample
	var remark string

	if on == "kernel" {
		if cfg.Burst != nil || p.block > 16*units.KiB {
			// The kernel's throttle has no credits, and counts a request once regardless of its
			// size.
			return
		}
		actual = throttled(t, cfg, p, lasts)
	} else {
		d, v := attach(t, disk.Config{Name: cfg.Name, Size: cfg.Size, Volume: volume.MustNew(cfg, 1, nil)}, Options{MaxRequest: 256 * units.KiB})
		d.Pace(false, nil)
		path := v.Path()

		if on == "ext4" {
			path = filepath.Join(formatted(t, v.Path()), "file")
		}

		fill(t, path)
		d.Pace(true, volume.MustNew(cfg, 1, nil))
		d.ResetStats()
		actual = fio(t, path, p, lasts)
		s := d.Stats()
		remark = fmt.Sprintf("%.0f us, %v; path %v", float64(s.LateP99)/1000, s.Saturated, d.Path().Fixed)

		if cfg.Burst != nil && p.depth > 1 {
			remark += "; each second: " + actual.perSecond(lasts) + " | " + m.perSecond(lasts)
		}
	}

	iops, model := actual.iops(lasts), m.iops(lasts)
	mb := float64(p.block) / 1e6
	fmt.Printf("%-24s %-23s %-7s|%8.0f %8.0f %6.1f%% |%7.1f %7.1f |%8.2f %8.2f |%8.2f %8.2f | %s\n", cfg.Name, p.name, on, iops, model,
		100*(iops/model-1), iops*mb, model*mb, actual.at(.5), m.at(.5), actual.at(.99), m.at(.99), remark)
}

// formatted creates a file system on a device and returns its folder; it is unmounted when the test
// ends.
func formatted(t testing.TB, device string) string {
	t.Helper()
	run(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
	dir := t.TempDir()
	run(t, "mount", device, dir)
	t.Cleanup(func() { run(t, "umount", dir) })
	return dir
}

// fill writes the file that fio is going to use, so that its pages and blocks are allocated.
func fill(t testing.TB, path string) {
	t.Helper()
	run(t, "dd", "if=/dev/zero", "of="+path, "bs=1M", "count=1024", "oflag=direct", "conv=notrunc,fsync", "status=none")
}

// throttled runs a pattern on a plain loop device in memory, limited by the kernel's block throttle
// (in the root cgroup of cgroup v1, as examples/make/volume.sh explains).
func throttled(t testing.TB, cfg volume.Config, p pattern, lasts time.Duration) sample {
	t.Helper()
	const group = "/sys/fs/cgroup/blkio"
	if _, err := os.Stat(group + "/blkio.throttle.write_iops_device"); err != nil {
		return nil
	}

	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-fidelity-")
	if err != nil {
		t.Fatal(err)
	}

	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "image")
	fill(t, file)

	l, err := attachLoop(file)
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = l.detach() }()
	number := "7:" + strings.TrimPrefix(l.name, "loop")
	limit := func(iops, bps int64) {
		for _, op := range []string{"read", "write"} {
			for what, n := range map[string]int64{"iops": iops, "bps": bps} {
				if err := os.WriteFile(group+"/blkio.throttle."+op+"_"+what+"_device", fmt.Appendf(nil, "%s %d", number, n), 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}

	limit(int64(cfg.Sustained.IOPS), int64(cfg.Sustained.Throughput))
	defer limit(0, 0)
	return fio(t, "/dev/"+l.name, p, lasts)
}

// A sample holds the requests of a closed loop: completion times since the start, and latencies, in
// ms.
type sample []struct{ done, took float64 }

func (s sample) iops(d time.Duration) float64 { return float64(len(s)) / d.Seconds() }

func (s sample) at(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	took := make([]float64, len(s))
	for i := range s {
		took[i] = s[i].took
	}
	slices.Sort(took)
	return took[int(math.Ceil(q*float64(len(took))))-1]
}

func (s sample) perSecond(d time.Duration) string {
	n := make([]int, int(d/time.Second))
	for _, r := range s {
		n[min(int(r.done/1000), len(n)-1)]++
	}
	return fmt.Sprint(n)
}

// fio runs a pattern. Requests that end after the run time are dropped, because fio reaps them
// together and late.
func fio(t testing.TB, path string, p pattern, lasts time.Duration) sample {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	run(t, "nice", "-n", strconv.Itoa(niceness(t)), "fio", "--name=x", "--filename="+path, "--ioengine=libaio", "--direct=1", "--rw="+p.rw,
		"--randrepeat=1", "--size=1g", "--bs="+strconv.FormatInt(int64(p.block), 10), "--iodepth="+strconv.Itoa(p.depth), "--time_based",
		"--runtime="+strconv.Itoa(int(lasts/time.Second)), "--write_lat_log="+log)

	text, err := os.ReadFile(log + "_lat.1.log")
	if err != nil {
		t.Fatal(err)
	}

	var out sample
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Split(lines.Text(), ", ") // milliseconds, nanoseconds, ...
		ms, err := strconv.ParseFloat(f[0], 64)
		if err != nil || len(f) < 2 {
			t.Fatalf("fio's log: %q", lines.Text())
		}

		ns, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			t.Fatalf("fio's log: %q", lines.Text())
		}

		if ms < float64(lasts.Milliseconds()) {
			out = append(out, struct{ done, took float64 }{ms, ns / 1e6})
		}
	}

	return out
}

// niceness returns the value that brings a child of this process back to normal priority.
func niceness(t testing.TB) int {
	t.Helper()
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 minus the niceness
	if err != nil {
		t.Fatal(err)
	}
	return n - 20
}

// modelled runs the same closed loop in virtual time, splitting requests as the block layer does.
func modelled(cfg volume.Config, p pattern, lasts time.Duration) sample {
	v := volume.MustNew(cfg, 1, nil)
	op := volume.Write
	if p.rw == "randread" {
		op = volume.Read
	}

	s := random.Seed(1).Stream("fio")
	var clock vtime.Clock
	var out sample
	var ask vtime.HandlerFunc
	ask = func(now vtime.Instant, began uint64) {
		if began > 0 {
			out = append(out, struct{ done, took float64 }{now.Seconds() * 1e3, float64(now-vtime.Instant(began-1)) / 1e6})
		}
		at := units.Size(s.Below(1<<30/uint64(p.block))) * p.block
		var done vtime.Instant
		for part := units.Size(0); part < p.block; part += 256 * units.KiB {
			c := v.Submit(now, volume.Request{Op: op, Offset: at + part, Length: min(p.block-part, 256*units.KiB)})
			done = max(done, c.Done)
		}
		clock.At(done, ask, uint64(now)+1)
	}

	for range p.depth {
		clock.At(0, ask, 0)
	}

	clock.Run(vtime.At(lasts))
	return out
}
