package accuracy_test

import (
	"math"
	"strings"

	"plimsoll/internal/judge/diagnose"
)

// A nullCase makes recordings in which some claims are false, whatever the seed.
type nullCase struct {
	name string
	make func(r *nullRecording, n int)
	// wrong reports whether a finding is a claim that is false here.
	wrong func(f diagnose.Finding) bool
}

// accuses matches a cause that the verdict would name.
func accuses(f diagnose.Finding) bool { return f.Kind == diagnose.Cause && f.Severity != diagnose.Info }

// anyOf matches a claim of one of these rules, as a fact or as a cause.
func anyOf(rules ...string) func(f diagnose.Finding) bool {
	return func(f diagnose.Finding) bool {
		for _, rule := range rules {
			if f.Rule == rule && f.Kind != diagnose.Symptom {
				return true
			}
		}
		return false
	}
}

// conditions happen on a host at times that have nothing to do with its stalls.
var conditions = []struct {
	name string
	add  func(r *nullRecording, on []bool)
}{
	{"busy CPUs", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		r.cpu(r.bounded(r.either(on, 0.97, 0.3, 0.02)))
	}},
	{"stolen CPUs", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		stolen := r.bounded(r.either(on, 0.6, 0.01, 0.05))
		r.counter(1, func(s int) float64 { return 0.2 }, "node_cpu_seconds_total", "cpu", "0", "mode", "user")
		r.counter(1, func(s int) float64 { return stolen[s] * 0.8 }, "node_cpu_seconds_total", "cpu", "0", "mode", "steal")
		r.counter(1, func(s int) float64 { return 0.8 * (1 - stolen[s]) }, "node_cpu_seconds_total", "cpu", "0", "mode", "idle")
	}},
	{"swapping", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		in := r.either(on, 800, 0, 0.2)
		r.counter(1, func(s int) float64 { return in[s] }, "node_vmstat_pswpin")
		r.counter(1, func(s int) float64 { return in[s] / 100 }, "node_vmstat_pswpout")
	}},
	{"short memory", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		full := r.either(on, 0.4, 0.001, 0.2)
		r.counter(1, func(s int) float64 { return full[s] }, "node_pressure_memory_stalled_seconds_total")
	}},
	{"I/O held above the device", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		full := r.either(on, 0.7, 0.02, 0.05)
		r.counter(1, func(s int) float64 { return full[s] }, "node_pressure_io_stalled_seconds_total")
	}},
	{"a container's CPU quota", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		throttled := r.either(on, 0.6, 0.02, 0.05)
		r.counter(1, func(s int) float64 { return 10 * throttled[s] }, "container_cpu_cfs_throttled_periods_total", "pod", "db-0", "container", "db")
		r.counter(1, func(int) float64 { return 10 }, "container_cpu_cfs_periods_total", "pod", "db-0", "container", "db")
	}},
	{"a container's memory limit", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		full := r.either(on, 0.4, 0.001, 0.2)
		r.counter(1, func(s int) float64 { return full[s] }, "container_pressure_memory_stalled_seconds_total", "pod", "db-0", "container", "db")
	}},
	{"a container's I/O limit", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		writes := r.either(on, 490, 100, 0.01)
		r.counter(1, func(s int) float64 { return writes[s] }, "container_fs_writes_total", "pod", "db-0", "container", "db", "device", "/dev/sda")
		r.gauge(1, func(int) float64 { return 500 }, "plimsoll_container_io_limit_writes_per_second", "pod", "db-0", "container", "db", "device", "/dev/sda")
	}},
	{"a slow layer", func(r *nullRecording, on []bool) {
		d := r.idleDisk()
		r.disk("sda", 1, d)
		d.writeS = r.either(on, 0.08, 0.0012, 0.1)
		r.disk("dm-0", 1, d)
		r.facts["below.dm-0"], r.facts["layer.dm-0"] = "sda", "crypt"
	}},
	{"a device that is slow at times", func(r *nullRecording, on []bool) {
		d := r.idleDisk()
		d.writeS = r.either(on, 0.012, 0.001, 0.2)
		d.readS = r.either(on, 0.010, 0.0008, 0.2)
		d.busy = r.bounded(r.either(on, 0.7, 0.25, 0.1))
		r.disk("sda", 1, d)
	}},
	{"a volume at its cap at times", func(r *nullRecording, on []bool) { r.disk("sda", 1, r.cappedDisk(on, 3000, 0.004)) }},
	{"an instance over its limit at times", func(r *nullRecording, on []bool) {
		r.disk("sda", 1, r.idleDisk())
		over := r.bounded(r.either(on, 0.6, 0, 0.1))
		for _, name := range []string{"exceeded_iops", "exceeded_tp"} {
			r.counter(1, func(int) float64 { return 0 }, "aws_ebs_csi_"+name+"_seconds_total", "volume_id", "vol-1")
			r.counter(1, func(s int) float64 { return over[s] }, "aws_ebs_csi_ec2_"+name+"_seconds_total", "volume_id", "vol-1")
		}
	}},
	{"bursts of dirty pages", func(r *nullRecording, on []bool) {
		d := r.idleDisk()
		d.writes, d.writeKiB = r.either(on, 2000, 300, 0.1), r.either(on, 64, 12, 0.1)
		d.busy = r.bounded(r.either(on, 0.8, 0.25, 0.05))
		r.disk("sda", 1, d)
		dirty := 1e8
		r.gauge(1, func(s int) float64 {
			if dirty += 12e6; on[s] {
				dirty = math.Max(1e8, dirty-1.3e8)
			}
			return dirty
		}, "node_memory_Dirty_bytes")
		wb := r.either(on, 5e7, 0, 0.1)
		r.gauge(1, func(s int) float64 { return wb[s] }, "node_memory_Writeback_bytes")
	}},
}

// bounded keeps a share between 0 and 1.
func (r *nullRecording) bounded(x []float64) []float64 {
	for s := range x {
		x[s] = math.Min(1, math.Max(0, x[s]))
	}
	return x
}

// cappedDisk reaches a limit of requests in the cells that are on, with a rate that varies by cv and a
// queue that varies more.
func (r *nullRecording) cappedDisk(on []bool, limit, cv float64) disk {
	d := r.idleDisk()
	ops, queue := r.flat(limit, cv), r.flat(30, 0.3)
	for s := range d.writes {
		if on[s] {
			d.writes[s], d.reads[s] = ops[s]*0.9, ops[s]*0.1
			d.busy[s] = 0.999
			d.writeS[s] = queue[s] / ops[s]
			d.readS[s] = d.writeS[s]
		}
	}
	return d
}

// cvs are the coefficients of variation of devices without a cap.
var cvs = []float64{0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5}

var capRules = []string{"disk/iops-capped", "disk/throughput-capped", "disk/machine-capped", "disk/burst-exhausted", "disk/instance-burst-exhausted"}

// nullCases are all the cases.
func nullCases() []nullCase {
	var out []nullCase
	for _, c := range conditions {
		out = append(out, nullCase{"stalls that are independent of " + c.name, func(r *nullRecording, _ int) {
			r.writesOf(1, r.episodes(0.02+0.08*r.rng.Float64(), 2, 10), 0.15)
			c.add(r, r.episodes(0.05+0.4*r.rng.Float64(), 3, 40))
		}, accuses})
	}

	out = append(out, nullCase{"a saturated device without any cap", func(r *nullRecording, n int) {
		on := r.episodes(0.05+0.25*r.rng.Float64(), 5, 60)
		r.disk("sda", 1, r.cappedDisk(on, 900+4000*r.rng.Float64(), cvs[n%len(cvs)]))
		if n/len(cvs)%2 == 0 {
			r.writesOf(1, on, 0.15)
		}
	}, anyOf(append([]string{"disk/not-the-cause", "disk/limits-unused", "disk/degraded", "disk/first-touch"}, capRules...)...)})

	out = append(out, nullCase{"a device without any cap that is never idle", func(r *nullRecording, n int) {
		on := make([]bool, r.n)
		for s := range on {
			on[s] = true
		}
		r.disk("sda", 1, r.cappedDisk(on, 900+4000*r.rng.Float64(), cvs[n%len(cvs)]))
	}, anyOf(append([]string{"disk/not-the-cause", "disk/limits-unused", "disk/degraded", "disk/first-touch"}, capRules...)...)})

	out = append(out, nullCase{"a load that varies, always quick", func(r *nullRecording, n int) {
		d := r.idleDisk()
		load := r.noise([]float64{0.1, 0.3, 0.6}[n%3])

		idle := r.episodes(0.2, 5, 60)
		for s := range load {
			if n%2 == 0 && idle[s] {
				load[s] *= 0.1
			}
			d.writes[s] *= load[s]
			d.reads[s] *= load[s]
			d.busy[s] = math.Min(0.9, d.busy[s]*load[s])
		}

		r.disk("sda", 1, d)
		each := r.flat(0.003, 0.1)
		r.counter(1, func(s int) float64 { return 800 * load[s] }, "mongodb_ss_opLatencies_ops", "op_type", "writes")
		r.counter(1, func(s int) float64 { return 800 * load[s] * each[s] * 1e6 }, "mongodb_ss_opLatencies_latency", "op_type", "writes")
		r.cpu(r.bounded(r.flat(0.4, 0.2)))
	}, func(f diagnose.Finding) bool { return accuses(f) || f.Severity == diagnose.Critical }})

	for _, every := range [][2]int{{1, 1}, {15, 1}, {60, 1}, {1, 15}, {15, 15}, {60, 60}} {
		out = append(out, nullCase{"clients wait for a volume at its cap (database every " + seconds(every[0]) + ", device every " + seconds(every[1]) + ")", func(r *nullRecording, n int) {
			on := r.episodes(0.02+0.1*r.rng.Float64(), 2, 20)
			r.disk("sda", every[1], r.cappedDisk(on, 3000, 0.004))
			r.writesOf(every[0], on, 0.4)
		}, anyOf("disk/not-the-cause", "disk/latency-bound", "disk/limits-unused")})
	}

	return out
}

func seconds(n int) string { return strings.TrimSpace(itoa(n)) + " s" }
