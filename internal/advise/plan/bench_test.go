package plan

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/model/scenario"
)

// examples are the scenarios of the examples that are planned for.
var examples = []string{"telemetry", "etcd", "postgres", "iris"}

// BenchmarkExamples makes a plan of each example for 25 ms, in pairs: with every run at its full
// length, and with runs that the bounds shorten. It reports the processor time of both, which is
// comparable even on a busy machine, the simulated virtual time, and the number of concurrent runs.
func BenchmarkExamples(b *testing.B) {
	want, err := ParseObjective("write_p99 < 25ms")
	if err != nil {
		b.Fatal(err)
	}

	for _, name := range examples {
		now, err := language.Load("../../../examples/scenarios/"+name+".yaml", nil)
		if err != nil {
			b.Fatal(err)
		}

		b.Run(name, func(b *testing.B) {
			var cpu, wall, virtual, took [2]float64
			for b.Loop() {
				for i, unbounded := range []bool{true, false} {
					var mu sync.Mutex
					opt := Options{Engines: every.Engines, Objectives: []scenario.Bound{want}, unbounded: unbounded}
					opt.ran = func(t, v time.Duration) {
						mu.Lock()
						defer mu.Unlock()
						took[i], virtual[i] = took[i]+t.Seconds(), virtual[i]+v.Seconds()
					}

					before, began := processorSeconds(), time.Now()
					p, err := Make(b.Context(), now, name, opt)
					if err != nil {
						b.Fatal(err)
					}

					cpu[i] += processorSeconds() - before
					wall[i] += time.Since(began).Seconds()
					b.ReportMetric(float64(p.Searched.Simulated), "layouts")
				}
			}

			b.ReportMetric(virtual[0]/float64(b.N), "virtual-s/unbounded")
			b.ReportMetric(virtual[1]/float64(b.N), "virtual-s/bounded")
			b.ReportMetric(took[1]/wall[1], "runs-at-once/bounded")
			b.ReportMetric(cpu[0]/float64(b.N), "cpu-s/unbounded")
			b.ReportMetric(cpu[1]/float64(b.N), "cpu-s/bounded")
		})
	}
}

// processorSeconds is the processor time that the process has used.
func processorSeconds() float64 {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	seconds := func(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(used.Utime) + seconds(used.Stime)
}
