//go:build linux

package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/target"
)

// fio's job definitions.
const (
	fioSyncs  = "--name=syncs --rw=write --bs=4k --size=64m --fdatasync=1 --ioengine=sync --numjobs=4 --rate_iops=1250"
	fioWrites = "--name=writes --rw=randwrite --bs=4k --size=256m --direct=1 --ioengine=libaio --iodepth=16 --rate_iops=50000"
	fioMixed  = "--name=mixed --rw=randrw --bs=4k --size=256m --direct=1 --ioengine=libaio --iodepth=16 --rate_iops=25000,25000"
)

// fioRunner is a fio that runs until the test ends. It reports its operations so far on request.
type fioRunner struct {
	dir    string
	jobs   []string
	cmd    *exec.Cmd
	output *json.Decoder
	last   map[string]latencies
}

func (f *fioRunner) target() target.Choice { return target.Choice{Path: f.dir} }

// lasts implements runner.
func (*fioRunner) lasts() time.Duration { return 600 * time.Millisecond }

// took implements runner. Only direct writes count as writes. The others are copies into memory; their
// syncs are counted instead.
func (f *fioRunner) took() map[string]latencies { return f.last }

// fioTimes is fio's latency histogram: the number of operations by nanoseconds.
type fioTimes struct {
	Bins map[string]int `json:"bins"`
}

// fioClasses is the number of fio's histogram bins for each factor of 2.
const fioClasses = 64

// latencies converts fio's bins, each of which spans three of ours, by spreading them evenly.
func (x fioTimes) latencies() latencies {
	l := latencies{}
	for text, n := range x.Bins {
		ns, err := strconv.ParseFloat(text, 64)
		if err != nil || ns <= 0 {
			continue
		}

		width := math.Exp2(math.Floor(math.Log2(ns))) / fioClasses
		const parts = 3
		for i := range parts {
			share := (n + i) / parts // adds up to n
			if share > 0 {
				l[classOf((ns+width*(float64(i)-1)/parts)*1e-9)] += share
			}
		}
	}

	return l
}

// start starts fio and waits until it runs its jobs.
func (f *fioRunner) start(t testing.TB) {
	t.Helper()
	args := []string{"--directory=" + f.dir, "--time_based", "--runtime=1d", "--thread", "--output-format=json+"}
	for _, job := range f.jobs {
		args = append(args, strings.Fields(job)...)
	}

	f.cmd = exec.CommandContext(context.Background(), "fio", args...)
	f.cmd.Stderr = os.Stderr
	out, err := f.cmd.StdoutPipe()
	if err := errors.Join(err, f.cmd.Start()); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait() // killed
	})

	f.output = json.NewDecoder(out)

	// fio creates its files after its signal handlers are installed.
	until(t, "fio creates no files", func() bool {
		files, err := filepath.Glob(filepath.Join(f.dir, "*.0"))
		return err == nil && len(files) > 0
	})

	until(t, "fio runs no operations", func() bool {
		n, _ := f.done(t)
		return n > 0
	})
}

// done returns fio's operations so far, and their latencies by kind.
func (f *fioRunner) done(t testing.TB) (operations float64, times map[string]fioTimes) {
	t.Helper()
	if err := f.cmd.Process.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}

	type direction struct {
		Total float64  `json:"total_ios"`
		Clat  fioTimes `json:"clat_ns"`
	}

	var r struct {
		Jobs []struct {
			Read  direction `json:"read"`
			Write direction `json:"write"`
			Sync  struct {
				Lat fioTimes `json:"lat_ns"`
			} `json:"sync"`
		} `json:"jobs"`
	}

	if err := f.output.Decode(&r); err != nil {
		t.Fatal("fio: ", err)
	}

	times = map[string]fioTimes{"syncs": {map[string]int{}}, "reads": {map[string]int{}}, "writes": {map[string]int{}}}
	for _, j := range r.Jobs {
		operations += j.Read.Total + j.Write.Total
		times["syncs"].add(j.Sync.Lat, 1)
		times["reads"].add(j.Read.Clat, 1)
		if len(j.Sync.Lat.Bins) == 0 {
			times["writes"].add(j.Write.Clat, 1)
		}
	}

	return operations, times
}

func (x fioTimes) add(o fioTimes, times int) {
	for bin, n := range o.Bins {
		x.Bins[bin] += times * n
	}
}

// run implements runner. fio keeps running between runs.
func (f *fioRunner) run(t testing.TB, lasts time.Duration) (float64, time.Duration) {
	t.Helper()
	if f.cmd == nil {
		f.start(t)
	}

	began, before := f.done(t)
	time.Sleep(lasts)
	ended, after := f.done(t)
	every := latencies{}
	f.last = map[string]latencies{}

	for kind, x := range after {
		x.add(before[kind], -1)
		if l := x.latencies(); len(l) > 0 {
			f.last[kind] = l
			every.add(l)
		}
	}

	return ended - began, time.Duration(every.quantile(0.99) * 1e9)
}

// fio's counts are spread over our classes without losing any.
func TestFioClasses(t *testing.T) {
	l := fioTimes{map[string]int{"1000": 1, "2000": 98, "99840": 1, "?": 7}}.latencies()
	if n := l.count(); n != 100 {
		t.Errorf("%d operations, want 100", n)
	}
	for q, want := range map[float64]float64{0: 1000e-9, 0.5: 2000e-9, 0.995: 99840e-9} {
		if got := l.quantile(q); math.Abs(got/want-1) > 0.01 {
			t.Errorf("%g: %g, want %g", q, got, want)
		}
	}
}

// fio is a load that consists of fio jobs.
func fio(jobs ...string) func(testing.TB, string) runner {
	return func(t testing.TB, dir string) runner {
		t.Helper()
		need(t, "fio")
		return &fioRunner{dir: dir, jobs: jobs}
	}
}
