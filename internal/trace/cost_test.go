//go:build linux

package trace_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/target"
)

// countedFor is how long the programs' own counters are sampled.
const countedFor = 3 * time.Second

// A load is measured with and without a trace.
type load struct {
	name string
	// start creates the load's files on a file system and starts its processes.
	start func(t testing.TB, dir string) runner
	// warm is how long it runs before the first measurement; 0 means one second.
	warm time.Duration
}

// A runner is a started load.
type runner interface {
	target() target.Choice
	// lasts returns the duration of a run. Short alternating runs are more comparable than long
	// ones.
	lasts() time.Duration
	// run runs the load for some time, and returns the number of operations and their p99.
	run(t testing.TB, lasts time.Duration) (operations float64, p99 time.Duration)
	// took returns the latencies of the last run by kind ("operations", "syncs").
	took() map[string]latencies
}

// loads covers syncs and direct writes at the rates for which the documentation makes promises, and
// real engines.
var loads = []load{
	{"fio, 5,000 fdatasyncs/s", fio(fioSyncs), 0},
	{"fio, 50,000 direct writes/s", fio(fioWrites), 0},
	{"fio, 50,000 direct reads and writes/s with 5,000 fdatasyncs/s", fio(fioMixed, fioSyncs), 0},
	{"PostgreSQL", databaseLoad(costPostgreSQL, costClients, 0), 0},
	{"etcd", databaseLoad(costEtcd, costEtcdClients, 0), 0},
	{"WiredTiger", databaseLoad(costWiredTiger, costDocuments, 0), 0},
	{"PostgreSQL at 5000/s", databaseLoad(costRecycling, connected(costClients), offered), 70 * time.Second},
	{"etcd at 5000/s", databaseLoad(costEtcd, connected(costEtcdClients), offered), 0},
	{"WiredTiger at 5000/s", databaseLoad(costWiredTiger, connected(costDocuments), offered), 0},
	{"one sync after the other", syncs(false), 0},
	{"one commit after the other", syncs(true), 0},
}

const (
	costPostgreSQL = "{postgres: {rows: 20000, shared_buffers: 64MiB}}"
	// After a checkpoint or two, WAL segments are recycled, as on any server that has run for a
	// while. Until then each new segment is 16 MB of zeros, written and synced while commits wait.
	costRecycling   = "{postgres: {rows: 20000, shared_buffers: 64MiB, checkpoint_timeout: 30s}}"
	costClients     = "{arrivals: {poisson: 300/s}, mix: {update: 100%}, keys: {count: 20000}, document: {size: 100B}, connections: 16}"
	costEtcd        = "{etcd: {members: 1, rtt: 100us, quota: 3GiB}}" // grows by 3 MB/s
	costEtcdClients = "{arrivals: {poisson: 300/s}, mix: {update: 100%}, keys: {count: 2000}, document: {size: 512B}}"
	costWiredTiger  = "{mongodb: {cache: 256MB, log_bytes: 1200B, oplog: false}}"
	costDocuments   = "{arrivals: {poisson: 300/s}, mix: {update: 100%}, keys: {count: 20000}, document: {size: 1KiB}, connections: 16}"
	offered         = 5000
)

// offering is the number of clients and connections of a load at a fixed rate: enough that operations
// hardly ever wait for a free one. With 32 on a volume with 0.4 ms latency, they were busy five sixths
// of the time, and queueing multiplied any additional latency of a sync.
const offering = 128

// connected gives a workload one connection for each of these clients.
func connected(load string) string {
	load = strings.Replace(load, ", connections: 16}", "}", 1)
	return strings.TrimSuffix(load, "}") + fmt.Sprintf(", connections: %d}", offering)
}

// A measurement is one run.
type measurement struct {
	rate, p99 float64
	latencies map[string]latencies         // by kind
	cpu       float64                      // CPU seconds per operation, of all processes involved
	writes    float64                      // completed by the disk, per second
	syncs     float64                      // seen by the trace, per second
	programs  map[string]ebpf.ProgramStats // the trace's programs, by name
	tracer    time.Duration                // CPU time of the tracing process
	lasts     time.Duration                // duration of the run
}

// BenchmarkCost prints what a trace costs: throughput and p99 of pairs of runs with and without a trace,
// in the order ABBA; and then, in a separate run, the time of each eBPF program as counted by the kernel
// (bpf_stats_enabled). Counting costs as much as most programs, so it is off during the pairs. An iteration is a
// pair. The benchmark asserts nothing.
//
// Databases keep serving their clients while the trace is attached and detached. Their speed, and
// that of the machine, changes by a fifth within seconds, so runs one second apart are comparable
// and those several seconds apart are not.
//
// \tsudo go test ./internal/trace -run '^$' -bench Cost/memory -benchtime 100s -timeout 1h
func BenchmarkCost(b *testing.B) {
	if testing.Short() {
		b.Skip("a measurement of an otherwise idle machine")
	}

	for _, on := range costVolumes {
		for _, l := range loads {
			b.Run(on.name+"/"+l.name, func(b *testing.B) { costOf(b, l, on.make(b)) })
		}
	}
}

// costOf measures a load with its files in a folder.
func costOf(b *testing.B, l load, dir string) {
	b.Helper()
	r := l.start(b, dir)
	r.run(b, cmp.Or(l.warm, time.Second))
	tracer := tracing(b, r.target())

	var with, without []measurement
	for b.Loop() {
		i, pair := len(with), [2]measurement{}
		for k := range 2 {
			traced := (i+k)%2 == 1
			tracer.attach(traced)
			pair[(i+k)%2] = measured(b, r, tracer, r.lasts())
		}
		without, with = append(without, pair[0]), append(with, pair[1])
	}

	printPairs(l.name, without, with)
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		b.Fatal(err)
	}

	defer stats.Close()
	counting(b)
	tracer.attach(true)
	m := measured(b, r, tracer, countedFor)
	printPrograms(&m)
}

// counting attaches a program that does nothing: its time is the overhead of counting.
func counting(t testing.TB) {
	t.Helper()
	spec := &ebpf.ProgramSpec{Name: "nothing", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "block_rq_issue",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}, License: "Dual BSD/GPL"}
	p, err := ebpf.NewProgram(spec)
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.AttachTracing(link.TracingOptions{Program: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(l.Close(), p.Close()) }) // removed when the process exits anyway
}

// measured runs a load once and returns its measurements.
func measured(t testing.TB, r runner, tracer *switched, lasts time.Duration) (m measurement) {
	t.Helper()
	m.lasts = lasts
	before, done, busy, own := programs(), written(t, r.target().Path), processorTime(t), cpuOf(t, tracer.cmd.Process.Pid)
	n, p99 := r.run(t, lasts)
	m.latencies = r.took()
	m.rate, m.p99, m.cpu = n/lasts.Seconds(), p99.Seconds(), (processorTime(t)-busy).Seconds()/n
	m.writes = (written(t, r.target().Path) - done) / lasts.Seconds()
	m.syncs, m.tracer = tracer.rate, cpuOf(t, tracer.cmd.Process.Pid)-own
	m.programs = programs()

	for name, s := range before {
		x := m.programs[name]
		x.Runtime -= s.Runtime
		x.RunCount -= s.RunCount
		m.programs[name] = x
	}

	return m
}

// written returns the number of writes that the disk below a folder has completed.
func written(t testing.TB, dir string) float64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		t.Fatal(err)
	}

	const writes = 4 // Documentation/block/stat.rst
	n, err := strconv.ParseFloat(strings.Fields(string(text))[writes], 64)
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// processorTime returns the CPU time of this process and all its descendants. With other work on
// the machine, it is more reliable than throughput. (Kernel threads are excluded because they work
// for others too.)
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	parent, children := map[int]int{}, map[int]time.Duration{} // time of children that have ended
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}

		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // the process has ended
		}

		// "1 (name) S 0 ...": the name may contain spaces and parentheses. Times are in hundredths
		// of a second.
		const above, user, system = 1, 13, 14
		var n [system + 1]int
		for i, field := range strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) {
			if i < len(n) {
				n[i], _ = strconv.Atoi(field)
			}
		}

		parent[pid], children[pid] = n[above], time.Duration(n[user]+n[system])*10*time.Millisecond
	}

	var sum time.Duration
	for pid := range parent {
		for p := pid; p != 0; p = parent[p] {
			if p == os.Getpid() {
				sum += cpuOf(t, pid) + children[pid]
				break
			}
		}
	}

	return sum
}

// cpuOf returns a process's CPU time.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0 // the process has ended
	}

	var sum time.Duration
	for _, e := range entries {
		var ns int64
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, e.Name()))
		if err != nil {
			continue // the process has ended
		}
		if _, err := fmt.Sscan(string(text), &ns); err == nil {
			sum += time.Duration(ns)
		}
	}

	return sum
}

// programs returns the statistics of all attached tracing programs by name.
func programs() map[string]ebpf.ProgramStats {
	out := map[string]ebpf.ProgramStats{}
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			return out
		}

		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue
		}

		i, err1 := p.Info()
		s, err2 := p.Stats()
		if err1 == nil && err2 == nil && p.Type() == ebpf.Tracing {
			x := out[i.Name]
			x.Runtime += s.Runtime
			x.RunCount += s.RunCount
			out[i.Name] = x
		}

		_ = p.Close()
	}
}

// printPairs prints the rates of syncs that the trace saw and of the disk's writes without it. Then it
// prints the medians of throughput, p99 and CPU time per operation, and their change with its interval.
func printPairs(name string, without, with []measurement) {
	var rate, p99, cpu, syncs, writes, written, tracer []float64
	var rates, p99s, cpus [2][]float64
	for i := range with {
		syncs, writes = append(syncs, with[i].syncs), append(writes, without[i].writes)
		rate = append(rate, with[i].rate/without[i].rate)
		written = append(written, with[i].writes/without[i].writes)
		tracer = append(tracer, 100*with[i].tracer.Seconds()/with[i].lasts.Seconds())
		p99 = append(p99, with[i].p99/without[i].p99)
		cpu = append(cpu, with[i].cpu/without[i].cpu)
		cpus[0], cpus[1] = append(cpus[0], without[i].cpu*1e6), append(cpus[1], with[i].cpu*1e6)
		rates[0], rates[1] = append(rates[0], without[i].rate), append(rates[1], with[i].rate)
		p99s[0], p99s[1] = append(p99s[0], without[i].p99*1e6), append(p99s[1], with[i].p99*1e6)
	}

	fmt.Printf("| %s | %.0f | %.0f | %d | %.0f | %.0f | %s | %.0f us | %.0f us | %s | %.1f us | %.1f us | %s |\n", name, middle(syncs), middle(writes), len(with),
		middle(rates[0]), middle(rates[1]), change(rate), middle(p99s[0]), middle(p99s[1]), change(p99), middle(cpus[0]), middle(cpus[1]), change(cpu))
	fmt.Printf("    the disk's writes %s; the tracing process %.2f %% of a CPU\n", change(written), mean(tracer))

	for _, kind := range slices.Sorted(maps.Keys(with[0].latencies)) {
		fmt.Println(pooled(kind, without, with))
	}
}

// change returns by how many percent ratios differ from 1, with a 95 % confidence interval: the
// Hodges-Lehmann estimate, which is the median of the means of all pairs, and the interval of
// Wilcoxon's signed-rank test. It is robust to outliers, and needs half as many runs as the median
// for the same interval.
func change(ratios []float64) string {
	var means []float64
	for i, x := range ratios {
		for _, y := range ratios[:i+1] {
			means = append(means, (math.Log(x)+math.Log(y))/2)
		}
	}
	slices.Sort(means)
	n, all := float64(len(ratios)), float64(len(means))
	low := max(int(all/2-1.96*math.Sqrt(n*(n+1)*(2*n+1)/24)), 0)
	percent := func(x float64) float64 { return 100 * math.Expm1(x) }
	return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", percent(middle(means)), percent(means[low]), percent(means[len(means)-1-low]))
}

func mean(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x / float64(len(xs))
	}
	return sum
}

func middle(xs []float64) float64 {
	s := slices.Clone(xs)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// printPrograms prints the time of each program in a run.
func printPrograms(m *measurement) {
	var names []string
	for name := range m.programs {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(m.programs[b].Runtime, m.programs[a].Runtime) })
	for _, name := range names {
		if s := m.programs[name]; s.RunCount > 0 {
			fmt.Printf("    %-16s %8.0f/s %6.0f ns %6.2f %%\n", name, float64(s.RunCount)/countedFor.Seconds(),
				float64(s.Runtime.Nanoseconds())/float64(s.RunCount), 100*s.Runtime.Seconds()/countedFor.Seconds())
		}
	}
	fmt.Printf("    all programs %.2f %% of a CPU; the tracing process %.2f %%\n", 100*total(m).Seconds()/countedFor.Seconds(), 100*m.tracer.Seconds()/countedFor.Seconds())
}

func total(m *measurement) (sum time.Duration) {
	for name, s := range m.programs {
		if name != "nothing" {
			sum += s.Runtime
		}
	}
	return sum
}
