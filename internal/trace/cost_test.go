//go:build linux

package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

var cost = flag.Int("cost", 0, "measure what a trace costs in so many pairs of runs, and print the table of docs/trace.md")

// A load is what fio does while it is measured.
type load struct {
	name string
	args []string
}

// loads: syncs one after the other at a fixed rate and as fast as they go, and direct writes.
var loads = []load{
	{"2,000 fdatasyncs/s", []string{"--rw=write", "--bs=4k", "--size=64m", "--fdatasync=1", "--ioengine=sync", "--numjobs=2", "--rate_iops=1000"}},
	{"fdatasyncs, as many as go", []string{"--rw=write", "--bs=4k", "--size=64m", "--fdatasync=1", "--ioengine=sync", "--numjobs=4"}},
	{"direct writes, 16 in flight", []string{"--rw=randwrite", "--bs=4k", "--size=256m", "--direct=1", "--ioengine=libaio", "--iodepth=16"}},
}

// TestCost prints what a trace of fio costs fio: runs with and without in turns, on an emulated volume
// that does not wait. The programs' own time comes from the kernel (bpf_stats_enabled), and does not
// depend on what else the machine does.
//
//	sudo go test ./internal/trace -run Cost -cost 5 -v
func TestCost(t *testing.T) {
	if *cost == 0 {
		t.Skip("a measurement, not a test: -cost PAIRS")
	}
	need(t, "fio")
	e := emulate(t, "ext4", 0)
	e.disk.Pace(false, nil)
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Close()
	fmt.Printf("%-28s | %10s %10s %8s | %9s %9s %8s | of the programs, a call and in all\n", "load", "calls/s", "traced", "change", "p99 us", "traced", "change")
	for _, l := range loads {
		var rates, p99s [2][]float64
		var perCall, share, own []float64
		for range *cost {
			for traced := range 2 {
				m := measured(t, e.dir, l, traced == 1)
				rates[traced] = append(rates[traced], m.rate)
				p99s[traced] = append(p99s[traced], m.p99us)
				if traced == 1 {
					own = append(own, m.tracer.Seconds())
					perCall = append(perCall, m.programs.Seconds()*1e6/(m.rate*m.seconds))
					share = append(share, m.programs.Seconds()/m.seconds)
				}
			}
		}
		fmt.Printf("%-28s | %10.0f %10.0f %7.1f%% | %9.0f %9.0f %7.1f%% | %.2f us, %.2f %% of a processor; tracing process %.2f s\n", l.name,
			middle(rates[0]), middle(rates[1]), 100*(middle(rates[1])/middle(rates[0])-1),
			middle(p99s[0]), middle(p99s[1]), 100*(middle(p99s[1])/middle(p99s[0])-1), middle(perCall), 100*middle(share), middle(own))
	}
}

func middle(xs []float64) float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	return s[len(s)/2]
}

type measurement struct {
	rate, p99us, seconds float64
	programs             time.Duration
	tracer               time.Duration // processor time of the tracing process
}

// measured runs a load for some seconds.
func measured(t *testing.T, dir string, l load, traced bool) measurement {
	t.Helper()
	const seconds = 6
	args := append([]string{"--name=cost", "--directory=" + dir, "--time_based", "--runtime=" + strconv.Itoa(seconds), "--group_reporting",
		"--thread", "--output-format=json"}, l.args...)
	cmd := exec.CommandContext(context.Background(), "fio", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var tracer *exec.Cmd
	if traced {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		tracer = exec.CommandContext(context.Background(), self)
		tracer.Env = append(os.Environ(), "PLIMSOLL_TEST_TRACER="+strconv.Itoa(cmd.Process.Pid))
		tracer.Stderr = os.Stderr
		if err := tracer.Start(); err != nil {
			t.Fatal(err)
		}
	}
	// The programs are gone when the trace has seen that fio ended: their times are read before.
	spent := make(chan time.Duration, 1)
	go func() {
		time.Sleep((seconds - 1) * time.Second)
		spent <- programsTime()
	}()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	m := parsed(t, out.Bytes())
	if traced {
		if err := tracer.Wait(); err != nil { // it ends with its target
			t.Fatal(err)
		}
		m.tracer = tracer.ProcessState.UserTime() + tracer.ProcessState.SystemTime()
	}
	m.programs, m.seconds = <-spent, seconds-1
	if err := os.RemoveAll(filepath.Join(dir, "cost.0.0")); err != nil {
		t.Fatal(err)
	}
	return m
}

// programsTime is what all attached programs of this kind took.
func programsTime() (sum time.Duration) {
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			return sum
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue
		}
		if s, err := p.Stats(); err == nil && p.Type() == ebpf.Tracing {
			sum += s.Runtime
		}
		_ = p.Close()
	}
}

func parsed(t *testing.T, text []byte) measurement {
	t.Helper()
	type latencies struct {
		Percentile map[string]float64 `json:"percentile"`
	}
	var r struct {
		Jobs []struct {
			Write struct {
				IOPS float64   `json:"iops"`
				Clat latencies `json:"clat_ns"`
			} `json:"write"`
			Sync struct {
				Lat latencies `json:"lat_ns"`
			} `json:"sync"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(text[bytes.IndexByte(text, '{'):], &r); err != nil || len(r.Jobs) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	j := r.Jobs[0]
	p99 := j.Sync.Lat.Percentile["99.000000"]
	if p99 == 0 {
		p99 = j.Write.Clat.Percentile["99.000000"]
	}
	return measurement{rate: j.Write.IOPS, p99us: p99 / 1000}
}
