//go:build linux

package trace_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/trace/target"
)

// The jobs of fio's loads.
const (
	fioSyncs  = "--name=syncs --rw=write --bs=4k --size=64m --fdatasync=1 --ioengine=sync --numjobs=4 --rate_iops=1250"
	fioWrites = "--name=writes --rw=randwrite --bs=4k --size=256m --direct=1 --ioengine=libaio --iodepth=16 --rate_iops=50000"
	fioMixed  = "--name=mixed --rw=randrw --bs=4k --size=256m --direct=1 --ioengine=libaio --iodepth=16 --rate_iops=25000,25000"
)

// fioRunner is a fio that is started anew for each run.
type fioRunner struct {
	dir  string
	jobs []string
	last map[string]latencies
}

func (f *fioRunner) target() target.Choice { return target.Choice{Path: f.dir} }

// lasts implements runner.
func (*fioRunner) lasts() time.Duration { return 2 * time.Second }

// took implements runner. Writes are the direct ones: others are copies into memory, and their syncs count.
func (f *fioRunner) took() map[string]latencies { return f.last }

// fioTimes are how many operations took so many nanoseconds, in fio's classes.
type fioTimes struct {
	Bins map[string]int `json:"bins"`
}

// fioClasses is into how many classes fio divides a factor of 2.
const fioClasses = 64

// latencies spreads each of fio's classes, which are three of ours wide, evenly over them.
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
			share := (n + i) / parts // n in all
			if share > 0 {
				l[classOf((ns+width*(float64(i)-1)/parts)*1e-9)] += share
			}
		}
	}
	return l
}

func (f *fioRunner) run(t *testing.T, lasts time.Duration) (float64, time.Duration) {
	t.Helper()
	args := []string{"--directory=" + f.dir, "--time_based", "--runtime=" + strconv.Itoa(int(lasts.Seconds())), "--thread", "--output-format=json+"}
	for _, job := range f.jobs {
		args = append(args, strings.Fields(job)...)
	}
	cmd := exec.CommandContext(t.Context(), "fio", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
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
	text := out.Bytes()
	if err := json.Unmarshal(text[max(bytes.IndexByte(text, '{'), 0):], &r); err != nil || len(r.Jobs) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	operations, every := 0.0, latencies{}
	f.last = map[string]latencies{}
	for _, j := range r.Jobs {
		operations += j.Read.Total + j.Write.Total
		kinds := map[string]latencies{"syncs": j.Sync.Lat.latencies(), "reads": j.Read.Clat.latencies()}
		if len(kinds["syncs"]) == 0 {
			kinds["writes"] = j.Write.Clat.latencies()
		}
		for kind, l := range kinds {
			if len(l) == 0 {
				continue
			}
			if f.last[kind] == nil {
				f.last[kind] = latencies{}
			}
			f.last[kind].add(l)
			every.add(l)
		}
	}
	return operations, time.Duration(every.quantile(0.99) * 1e9)
}

// What fio counted is spread over our classes, and none of it is lost.
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

// fio is a load of fio's jobs.
func fio(jobs ...string) func(*testing.T, string) runner {
	return func(t *testing.T, dir string) runner {
		t.Helper()
		need(t, "fio")
		return &fioRunner{dir: dir, jobs: slices.Clone(jobs)}
	}
}
