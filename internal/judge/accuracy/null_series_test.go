package accuracy_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// nullBegan is when the recordings of the null tests begin.
var nullBegan = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// A nullRecording collects the series of one recording, second by second.
type nullRecording struct {
	t     testing.TB
	rng   *rand.Rand
	n     int // seconds
	mem   *recording.Memory
	facts map[string]string
}

func newNullRecording(t testing.TB, seed uint64, n int) *nullRecording {
	return &nullRecording{t: t, rng: rand.New(rand.NewPCG(seed, 0x706c696d)), n: n, mem: recording.NewMemory(recording.MemoryOptions{}), facts: map[string]string{}}
}

// counter writes the running sum of a rate per second.
func (r *nullRecording) counter(every int, rate func(s int) float64, names ...string) {
	sums := make([]float64, r.n)
	for s := range sums {
		sums[s] = rate(s)
		if s > 0 {
			sums[s] += sums[s-1]
		}
	}
	r.gauge(every, func(s int) float64 { return sums[s] }, names...)
}

// gauge writes a series with one sample every so many seconds.
func (r *nullRecording) gauge(every int, of func(s int) float64, names ...string) {
	r.t.Helper()
	b := &recording.Batch{}
	col := recording.Column{Labels: labels.FromStrings(append([]string{"__name__"}, names...)...)}
	for s := every - 1; s < r.n; s += every {
		b.TimesMs = append(b.TimesMs, nullBegan.Add(time.Duration(s)*time.Second).UnixMilli())
		col.Values = append(col.Values, of(s))
	}
	b.Columns = []recording.Column{col}
	if err := r.mem.Append(r.t.Context(), b); err != nil {
		r.t.Fatal(err)
	}
}

// episodes returns a mask of random stretches. They begin independently of everything else, last
// between least and most seconds, and cover about the given share of the time.
func (r *nullRecording) episodes(share float64, least, most int) []bool {
	out := make([]bool, r.n)
	mean := float64(least+most) / 2
	gap := mean * (1 - share) / share

	for s := int(r.rng.ExpFloat64() * gap); s < r.n; {
		length := least + r.rng.IntN(most-least+1)
		for k := s; k < min(r.n, s+length); k++ {
			out[k] = true
		}
		s += length + 1 + int(r.rng.ExpFloat64()*gap)
	}
	return out
}

// around returns a normally distributed factor around 1, never below a tenth.
func (r *nullRecording) around(cv float64) float64 { return math.Max(0.1, 1+cv*r.rng.NormFloat64()) }

// noise returns a series of such factors. In half of the recordings it is autocorrelated, as real load
// is.
func (r *nullRecording) noise(cv float64) []float64 {
	follow := 0.0
	if r.rng.IntN(2) == 0 {
		follow = 0.7
	}
	out := make([]float64, r.n)
	x := 0.0
	for s := range out {
		x = follow*x + math.Sqrt(1-follow*follow)*r.rng.NormFloat64()
		out[s] = math.Max(0.1, 1+cv*x)
	}
	return out
}

// A disk describes a device second by second.
type disk struct {
	reads, writes, readKiB, writeKiB []float64
	readS, writeS                    []float64
	busy                             []float64
}

// flat returns a constant series with some noise.
func (r *nullRecording) flat(value, cv float64) []float64 {
	out := r.noise(cv)
	for s := range out {
		out[s] *= value
	}
	return out
}

// idleDisk returns a device with little to do.
func (r *nullRecording) idleDisk() disk {
	return disk{reads: r.flat(60, 0.2), writes: r.flat(300, 0.2), readKiB: r.flat(16, 0.05), writeKiB: r.flat(12, 0.1), readS: r.flat(0.0008, 0.1), writeS: r.flat(0.001, 0.1), busy: r.flat(0.25, 0.1)}
}

// disk writes a device under node_exporter's names.
func (r *nullRecording) disk(device string, every int, d disk) {
	for name, of := range map[string]func(s int) float64{
		"reads_completed_total":          func(s int) float64 { return d.reads[s] },
		"writes_completed_total":         func(s int) float64 { return d.writes[s] },
		"read_bytes_total":               func(s int) float64 { return d.reads[s] * d.readKiB[s] * 1024 },
		"written_bytes_total":            func(s int) float64 { return d.writes[s] * d.writeKiB[s] * 1024 },
		"read_time_seconds_total":        func(s int) float64 { return d.reads[s] * d.readS[s] },
		"write_time_seconds_total":       func(s int) float64 { return d.writes[s] * d.writeS[s] },
		"io_time_seconds_total":          func(s int) float64 { return math.Min(1, d.busy[s]) },
		"io_time_weighted_seconds_total": func(s int) float64 { return d.reads[s]*d.readS[s] + d.writes[s]*d.writeS[s] },
	} {
		r.counter(every, of, "node_disk_"+name, "device", device)
	}
}

// writesOf writes clients' writes: 3 ms each, and the given number of seconds in stalled time.
func (r *nullRecording) writesOf(every int, stalled []bool, stalledS float64) {
	ops, each := r.flat(800, 0.1), r.flat(0.003, 0.15)
	for s := range ops {
		if stalled[s] {
			ops[s] *= 0.4
			each[s] = stalledS * r.around(0.3)
		}
	}
	r.counter(every, func(s int) float64 { return ops[s] }, "mongodb_ss_opLatencies_ops", "op_type", "writes")
	r.counter(every, func(s int) float64 { return ops[s] * each[s] * 1e6 }, "mongodb_ss_opLatencies_latency", "op_type", "writes")
}

// cpu writes CPU time with the given busy and stolen shares.
func (r *nullRecording) cpu(busy []float64) {
	for _, core := range []string{"0", "1"} {
		r.counter(1, func(s int) float64 { return busy[s] }, "node_cpu_seconds_total", "cpu", core, "mode", "user")
		r.counter(1, func(s int) float64 { return 1 - busy[s] }, "node_cpu_seconds_total", "cpu", core, "mode", "idle")
	}
}

// either picks one of two values by a mask.
func (r *nullRecording) either(on []bool, yes, no, cv float64) []float64 {
	out := make([]float64, r.n)
	for s := range out {
		out[s] = no * r.around(cv)
		if on[s] {
			out[s] = yes * r.around(cv)
		}
	}
	return out
}
