package fit_test

import (
	"context"
	"math"
	"testing"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// near is the tolerance for values that the recording determines.
const near = 0.10

// A trip is a scenario with the values that its recording must show, in base units.
type trip struct {
	name, yaml string
	want       map[string]float64
	words      map[string]string
	// unreached are limits that the run does not reach, so that none may be set.
	unreached []string
}

var trips = []trip{
	{
		name: "WiredTiger on a capped volume",
		yaml: `plimsoll: 1
run: {duration: 80s, warmup: 40s}
host: {cores: 4, memory: 8GiB, dirty_background_bytes: 64MiB, wbt_lat_usec: 0}
volumes: {data: {type: custom, iops: 20000, throughput: 50MB/s, queue_slots: 48, latency: {like: gp3, scale: 200%}}}
engine: {mongodb: {cache: 1GiB, checkpoint: 20s}}
workload: {arrivals: {poisson: 700/s}, mix: {insert: 30%, update: 50%, read: 20%}, document: {size: 2kB}, keys: {count: 200k}}
`,
		want: map[string]float64{
			"host.cores": 4, "host.memory": 8 << 30, "host.dirty_background_bytes": 64 << 20, "host.wbt_lat_usec": 0,
			"volumes.data.throughput": 50e6, "volumes.data.queue_slots": 48, "volumes.data.latency.scale": 2,
			"engine.mongodb.cache": 1 << 30, "engine.mongodb.checkpoint": 20,
			"workload.arrivals.poisson": 700, "workload.mix.insert": 0.3, "workload.mix.update": 0.5, "workload.mix.read": 0.2,
			"workload.document.size": 2000,
		},
		words: map[string]string{"engine.mongodb.oplog": "true", "volumes.data.type": "custom", "host.filesystem": "xfs", "host.scheduler": "none"},
	},
	{
		name: "WiredTiger with its journal apart, on gp3",
		yaml: `plimsoll: 1
run: {duration: 200s, warmup: 70s}
host: {instance: m6i.xlarge}
volumes: {data: {type: gp3, size: 200GiB}, journal: {type: gp3, size: 10GiB}}
engine: {mongodb: {cache: 5GB, checkpoint: 50s, oplog: false}}
workload: {arrivals: {poisson: 3000/s}, mix: {insert: 100%}, document: {size: 3kB}, keys: {count: 100k}}
`,
		want: map[string]float64{
			"volumes.data.throughput": 125 << 20, "volumes.data.queue_slots": 32,
			"engine.mongodb.cache": 5e9, "engine.mongodb.checkpoint": 50,
			"workload.arrivals.poisson": 3000, "workload.mix.insert": 1, "workload.document.size": 3000,
		},
		words:     map[string]string{"host.instance": "m6i.xlarge", "engine.mongodb.oplog": "false", "volumes.data.type": "gp3", "volumes.journal.type": "gp3"},
		unreached: []string{"volumes.journal.iops", "volumes.journal.throughput"},
	},
	{
		name: "etcd",
		yaml: `plimsoll: 1
run: {duration: 65s, warmup: 5s}
host: {cores: 2, memory: 4GiB}
volumes: {wal: {type: custom, latency: {like: gp3, scale: 150%}}, data: {type: gp3, size: 50GiB}}
engine: {etcd: {members: 3, leader: 2, quota: 8GiB}}
workload: {arrivals: {poisson: 300/s}, mix: {insert: 100%}, document: {size: 1500B}}
`,
		want: map[string]float64{
			"host.cores": 2, "host.memory": 4 << 30, "volumes.wal.latency.scale": 1.5,
			"engine.etcd.members": 3, "engine.etcd.leader": 2, "engine.etcd.quota": 8 << 30,
			"workload.arrivals.poisson": 300, "workload.document.size": 1500,
		},
		unreached: []string{"volumes.wal.iops", "volumes.wal.throughput", "volumes.data.iops"},
	},
	{
		name: "PostgreSQL",
		yaml: `plimsoll: 1
run: {duration: 130s, warmup: 60s}
host: {cores: 4, memory: 16GiB}
volumes: {data: {type: custom, iops: 1500, queue_slots: 32, latency: {like: gp3}}}
engine: {postgres: {shared_buffers: 1GiB, max_wal_size: 4GiB, checkpoint_timeout: 40s, checkpoint_completion_target: 0%, checkpoint_flush_after: 0B, rows: 2000000}}
workload: {arrivals: {poisson: 400/s}, mix: {update: 70%, read: 30%}, document: {size: 97B}}
`,
		want: map[string]float64{
			"volumes.data.iops": 1500, "volumes.data.queue_slots": 32, "volumes.data.latency.scale": 1,
			"engine.postgres.shared_buffers": 1 << 30, "engine.postgres.max_wal_size": 4 << 30, "engine.postgres.checkpoint_timeout": 40,
			"engine.postgres.checkpoint_completion_target": 0, "engine.postgres.checkpoint_flush_after": 0,
			"workload.arrivals.poisson": 400, "workload.mix.update": 0.7, "workload.mix.read": 0.3,
		},
	},
	{
		name: "IRIS",
		yaml: `plimsoll: 1
run: {duration: 130s, warmup: 60s}
host: {cores: 8, memory: 64GiB}
volumes: {data: {type: gp3, size: 200GiB, iops: 6000, throughput: 250MiB/s}, wij: {type: gp3, size: 50GiB}, journal: {type: gp3, size: 50GiB}}
engine: {iris: {database: 20GiB, buffers: 4GiB, cycle: 30s}}
workload: {arrivals: {poisson: 3000/s}, mix: {read: 60%, update: 40%}}
`,
		want: map[string]float64{
			"volumes.data.iops": 6000, "volumes.data.size": 200 << 30, "engine.iris.cycle": 30,
			"workload.arrivals.poisson": 3000, "workload.mix.read": 0.6, "workload.mix.update": 0.4,
		},
		words: map[string]string{"volumes.data.type": "gp3", "volumes.wij.type": "gp3", "volumes.journal.type": "gp3"},
	},
	{
		// When throughput is the limit, writeback has a constant rate of requests, far below the
		// volume's IOPS. That rate is not a limit.
		name: "WiredTiger behind the kernel's writeback",
		yaml: `plimsoll: 1
run: {duration: 5min, warmup: 2min}
host: {cores: 2, memory: 24GiB}
volumes: {data: {type: custom, size: 100GiB, iops: 3000, throughput: 48MB/s, latency: {read: {p50: 200us}, write: {p50: 200us}}}}
engine: {mongodb: {cache: 1GB, checkpoint: 60s, log_bytes: 300B, oplog: false}}
workload: {preset: wiredtiger-lab}
`,
		want:      map[string]float64{"volumes.data.throughput": 48e6, "engine.mongodb.cache": 1e9, "engine.mongodb.checkpoint": 60, "workload.arrivals.poisson": 800},
		unreached: []string{"volumes.data.iops"},
	},
}

// run simulates a scenario and records what exporters would have reported.
func run(t *testing.T, name string, yaml []byte) (*simulate.Result, *recording.Memory) {
	t.Helper()
	sc, err := language.Parse(name, yaml, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	mem := recording.NewMemory(recording.MemoryOptions{})
	r, err := simulate.Run(context.Background(), sc, simulate.Options{Record: mem})
	if err != nil {
		t.Fatal(err)
	}
	return r, mem
}

// Everything knowable about a simulated scenario is found in its recording, and the fitted scenario
// has the same rate of writes. Its latencies are printed, not asserted: they depend on things that
// no recording contains.
func TestRoundTrip(t *testing.T) {
	for _, tt := range trips {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			was, mem := run(t, tt.name, []byte(tt.yaml))
			fitted, err := fit.Fit(context.Background(), []recording.Reader{mem}, fit.Options{Pack: testkit.Pack(), Engines: engine.All().Fits(), Name: tt.name})
			if err != nil {
				t.Fatal(err)
			}

			tt.check(t, fitted)
			if _, err := fitted.Scenario(language); err != nil {
				t.Errorf("as a value: %v", err)
			}

			is, _ := run(t, "fitted.yaml", fitted.YAML())
			if math.Abs(is.DonePerSec/was.DonePerSec-1) > near {
				t.Errorf("simulated again: %.1f operations/s, want %.1f", is.DonePerSec, was.DonePerSec)
			}

			t.Logf("p99 of writes %s then, %s now; checkpoint %s then, %s now", number(was.Writes.All.P99Seconds), number(is.Writes.All.P99Seconds),
				number(was.Checkpoints.MedianSeconds), number(is.Checkpoints.MedianSeconds))
			if t.Failed() {
				t.Logf("fitted:\n%s", fitted.YAML())
			}
		})
	}
}

func (tt *trip) check(t *testing.T, fitted *fit.Fitted) {
	t.Helper()
	for key, want := range tt.want {
		v := fitted.Value(key)
		switch {
		case v == nil || v.Number == nil || v.Default:
			t.Errorf("%s: not found, want %v", key, want)
		case math.Abs(*v.Number-want) > near*math.Abs(want):
			t.Errorf("%s is %v (%s), want %v", key, *v.Number, v.Evidence, want)
		case v.Known == fit.Assumed && key != "volumes.data.queue_slots":
			t.Errorf("%s is assumed: %s", key, v.Evidence)
		}
	}

	for key, want := range tt.words {
		if v := fitted.Value(key); v == nil || v.Text != want {
			t.Errorf("%s is %+v, want %s", key, v, want)
		}
	}

	for _, key := range tt.unreached {
		if v := fitted.Value(key); v == nil || !v.Default || v.Low == nil || v.Known != fit.Assumed {
			t.Errorf("%s was never reached, yet: %+v", key, v)
		}
	}
}

func number(x *float64) string {
	if x == nil {
		return "none"
	}
	return units.Seconds(*x)
}
