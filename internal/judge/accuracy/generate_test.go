package accuracy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// An incident is a scenario with its counterfactuals: for each rule, the assignments that remove its
// cause, or that grant the resource that it says would not help.
type incident struct {
	seed    uint64
	family  string
	trouble trouble
	text    string
	// instance is set if the machine's size is that of an instance type, so that adding more is not a
	// small change.
	instance bool
	// without removes the cause that a rule names.
	without map[string][]string
	// granted adds the resource that a refutation says would not help.
	granted map[string][]string
	// needs is the resource that must help instead, for a refutation that also says what would.
	needs map[string][]string
	// everything grants all resources, if operations may be long by themselves; otherwise it is nil.
	everything []string
}

// A trouble is the kind of problem that an incident is generated to contain. The first 500 seeds target none,
// so their problems are left to chance.
type trouble int

const (
	anyTrouble trouble = iota
	instanceTooSmall
	tooFewCores
	slowMembers
	nothingWrong
	quotaTooSmall
	longOperations
)

// A chance draws figures; the same seed draws the same ones.
type chance struct{ *rand.Rand }

// among draws an integer from a range, uniformly by its logarithm, so that small and large caps are
// equally frequent.
func (c chance) among(least, most float64) int {
	return int(math.Exp(math.Log(least) + c.Float64()*math.Log(most/least)))
}

func (c chance) yes(p float64) bool { return c.Float64() < p }

func pick[T any](c chance, of ...T) T { return of[c.IntN(len(of))] }

// ample is a volume on which nothing waits.
const ample = "{type: custom, size: 500GiB, iops: 1000000, throughput: 100GB/s, queue_slots: 1024, latency: {like: nvme}}"

// A drawn volume, and the assignments that remove each of its limits.
type drawn struct {
	text              string
	iops, bytes       []string
	burst             []string // nil if it has none
	perfect, moreIOPS []string
	quick             []string // the same limits at a twentieth of the latency
	steady            []string // without its bad episodes; nil if it has none
}

// volume draws a volume: usually one with headroom, sometimes one with a low cap, credits that run out,
// or bad episodes. If the incident targets something else, the volume has headroom.
func (c chance) volume(in *incident, name string) drawn {
	iops, mib := c.among(300, 16000), c.among(20, 1000)
	if in.trouble != anyTrouble {
		iops, mib = 16000, 1000
	}

	at := "volumes." + name + "."
	d := drawn{
		iops: []string{at + "iops=1000000"}, bytes: []string{at + "throughput=100GB/s"},
		perfect: []string{"volumes." + name + "=" + ample}, moreIOPS: []string{at + "iops=1000000"},
		quick: []string{at + "latency={like: gp3, scale: 5%}"},
	}

	more := ""
	switch {
	case in.trouble != anyTrouble:
	case c.yes(0.15):
		low, full := c.among(100, 600), 3000
		iops = low
		more = fmt.Sprintf(", burst: {iops: %d, for: 30min, left: %d%%}", full, c.among(1, 12))
		d.burst = []string{at + "burst=", fmt.Sprintf("%siops=%d", at, full)}
		d.iops = []string{at + "burst=", at + "iops=1000000"}
		d.moreIOPS = d.iops
	case c.yes(0.1):
		d.steady = []string{at + "episodes="}
		more = fmt.Sprintf(", episodes: {every: 80s, lasts: {from: 15s, to: 40s}, latency: {from: 100ms, to: 300ms}, reads: %v}", c.yes(0.5))
	}

	d.text = fmt.Sprintf("{type: custom, size: 500GiB, iops: %d, throughput: %dMiB/s, latency: {like: gp3}%s}", iops, mib, more)
	return d
}

// ofChance is the number of seeds that target no particular trouble. Chance alone hardly ever makes an
// instance's limit or the CPUs the cause.
const ofChance = 500

// ofTroubles is the number of seeds before those for a container's quota and for long operations, which
// were added later. The incidents of earlier seeds must not change.
const ofTroubles = 600

// generate makes the incident of a seed.
func generate(seed uint64) incident {
	c := chance{rand.New(rand.NewPCG(seed, 14))}
	in := incident{seed: seed, without: map[string][]string{}, granted: map[string][]string{}, needs: map[string][]string{}}
	draw := pick(c, wiredtiger, wiredtiger, postgres, postgres, etcd)

	if seed >= ofTroubles {
		switch in.trouble = pick(c, quotaTooSmall, quotaTooSmall, longOperations); in.trouble {
		case quotaTooSmall:
			draw = pick(c, wiredtiger, postgres)
		case longOperations:
			draw = longQueries
		}
	} else if seed >= ofChance {
		switch in.trouble = pick(c, instanceTooSmall, tooFewCores, slowMembers, nothingWrong); in.trouble {
		case instanceTooSmall, tooFewCores:
			draw = pick(c, wiredtiger, postgres)
		case slowMembers:
			draw = etcd
		}
	}

	body := draw(c, &in)
	in.text = fmt.Sprintf("plimsoll: 1\nname: seed %d\nseed: %d\nrun: {duration: 4min, warmup: 20s}\n%s", seed, seed, body)
	return in
}

// host draws a machine. An instance's limit is shared by its volumes.
func (c chance) host(in *incident) string {
	cores, memory := pick(c, 2, 4, 8), pick(c, 8, 16, 32)
	in.without["host/writeback-backlog"] = []string{"host.dirty_background_bytes=1MB"}

	words := []string{"filesystem: " + pick(c, "xfs", "ext4")}
	switch {
	case in.trouble == instanceTooSmall: // these have one limit, and no burst
		words = append(words, "cores: 2, memory: 7GiB, instance: "+pick(c, "m4.large", "m4.xlarge", "c4.xlarge"))
		in.without["disk/instance-capped"] = []string{"host.instance="}
		in.instance = true
	case in.trouble == tooFewCores:
		words = append(words, fmt.Sprintf("cores: %d, memory: %dGiB", pick(c, 1, 2), memory))
		in.without["host/cpu-saturated"] = []string{"host.cores=64"}
	case in.trouble == quotaTooSmall:
		words = append(words, c.underQuota(in))
	case c.yes(0.15) && in.trouble != longOperations:
		words = append(words, "cores: 2, memory: 8GiB, instance: "+pick(c, "m5.large", "m6i.large", "c5.xlarge"))
		in.without["disk/instance-capped"] = []string{"host.instance="}
		in.instance = true
	default:
		words = append(words, fmt.Sprintf("cores: %d, memory: %dGiB", cores, memory))
		in.without["host/cpu-saturated"] = []string{"host.cores=64"}
	}

	if c.yes(0.2) {
		words = append(words, fmt.Sprintf("dirty_background_bytes: %dMB", c.among(4, 512)))
	}

	return "host: {" + strings.Join(words, ", ") + "}\n"
}

// disks adds the claims about volumes; a rule may name each of them.
func (in *incident) disks(volumes ...drawn) {
	var iops, bytes, burst, perfect, more, quick, steady []string
	for _, v := range volumes {
		iops, bytes, perfect, more = append(iops, v.iops...), append(bytes, v.bytes...), append(perfect, v.perfect...), append(more, v.moreIOPS...)
		burst, quick, steady = append(burst, v.burst...), append(quick, v.quick...), append(steady, v.steady...)
	}

	if steady != nil {
		in.without["disk/degraded"] = steady
	}

	in.without["disk/iops-capped"], in.without["disk/throughput-capped"] = iops, bytes
	if burst != nil {
		in.without["disk/burst-exhausted"] = burst
	}

	in.granted["disk/latency-bound"], in.needs["disk/latency-bound"] = more, quick
	in.granted["disk/not-the-cause"] = perfect
	if in.instance { // its limit also applies to the volumes
		in.granted["disk/not-the-cause"] = append(slices.Clone(perfect), "host.instance=")
	}
}

// arrivals draws how requests arrive at a rate: evenly, with a rise, or, for two of five seeds, with a
// demand that varies like that of real applications. The kind of demand has its own random stream, so
// that it does not change the rest of an incident.
func (c chance) arrivals(seed uint64, rate int) string {
	rises := c.yes(0.3)

	demand := chance{rand.New(rand.NewPCG(seed, 15))}
	if demand.yes(0.4) {
		return demand.varying(rate)
	}

	if rises {
		return fmt.Sprintf("{steps: [{rate: %d/s, for: 100s}, {rate: %d/s, for: 60s}, {rate: %d/s, for: 200s}]}", rate/3, rate, rate/3)
	}
	return fmt.Sprintf("{poisson: %d/s}", rate)
}

// varying draws one of four kinds of varying demand, whose peak rate is near the given one.
func (c chance) varying(rate int) string {
	const seconds = 260 // of a run, including its warm-up
	type step struct{ rate, seconds int }
	var steps []step

	switch c.IntN(4) {
	case 0: // a slow cycle, like a day's load
		return fmt.Sprintf("{daily: {low: %d/s, high: %d/s, period: %ds}}", rate/pick(c, 10, 3), rate, pick(c, 60, 120, 240))
	case 1: // dips: 15 % of the seconds have 5 to 60 % of the rate
		for t := 0; t < seconds; t++ {
			at := rate
			if c.yes(0.15) {
				at = int(float64(rate) * (0.05 + 0.55*c.Float64()))
			}
			steps = append(steps, step{at, 1})
		}
	case 2: // idle phases
		for t := 0; t < seconds; {
			busy, idle := 10+c.IntN(40), 5+c.IntN(30)
			steps = append(steps, step{rate, busy}, step{0, idle})
			t += busy + idle
		}
	default: // batches on top of a low rate
		every, takes := pick(c, 20, 30, 60), 2+c.IntN(10)
		for t := 0; t < seconds; t += every {
			steps = append(steps, step{rate / 4, every - takes}, step{rate * 3 / 2, takes})
		}
	}

	var b strings.Builder
	for i, s := range steps {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{rate: %d/s, for: %ds}", s.rate, s.seconds)
	}

	return "{steps: [" + b.String() + "]}"
}

func wiredtiger(c chance, in *incident) string {
	in.family = "wiredtiger"
	data := c.volume(in, "data")
	all := []drawn{data}
	text := c.host(in) + "volumes:\n  data: " + data.text + "\n"

	if c.yes(0.3) {
		journal := c.volume(in, "journal")
		all = append(all, journal)
		text += "  journal: " + journal.text + "\n"
		in.without["wiredtiger/journal-stall"] = journal.perfect
	} else {
		in.without["wiredtiger/journal-stall"] = []string{"volumes.journal=" + ample}
	}

	in.disks(all...)
	if roomy := []string{"host.memory=512GiB", "engine.mongodb.cache=200GB"}; !in.instance {
		in.without["wiredtiger/cache-pressure"], in.without["wiredtiger/app-eviction"] = roomy, roomy
	}

	in.without["wiredtiger/checkpoint-stall"] = []string{"engine.mongodb.checkpoint=2h"}
	rate, updates := c.among(60, 1500), pick(c, 30, 60, 95)
	cpu, takes := "", 0

	if in.trouble == tooFewCores || in.trouble == quotaTooSmall {
		takes = c.among(500, 3000)
		cpu = fmt.Sprintf(", cpu: {operation: %dus}", takes)
	}

	text += fmt.Sprintf("engine:\n  mongodb: {cache: %dMB, checkpoint: %ds%s}\n", c.among(256, 4000), pick(c, 20, 40, 60), cpu) +
		fmt.Sprintf("workload:\n  arrivals: %s\n  mix: {update: %d%%, read: %d%%}\n  keys: {count: %d}\n  document: {size: %dB}\n  connections: %d\n",
			c.arrivals(in.seed, rate), updates, 100-updates, c.among(1e5, 3e6), pick(c, 500, 1000, 4000), pick(c, 32, 64, 128))
	return c.withQuota(text, rate, takes+requestTakes)
}

// requestTakes is how long a MongoDB server takes for a request in addition to its engine, in
// microseconds, as in the model.
const requestTakes = 1200

func postgres(c chance, in *incident) string {
	in.family = "postgres"
	data := c.volume(in, "data")
	all := []drawn{data}
	text := c.host(in) + "volumes:\n  data: " + data.text + "\n"

	if c.yes(0.3) {
		wal := c.volume(in, "wal")
		all = append(all, wal)
		text += "  wal: " + wal.text + "\n"
	}

	in.disks(all...)
	in.without["postgres/checkpoint-burst"] = []string{"engine.postgres.checkpoint_timeout=1h", "engine.postgres.max_wal_size=1000GB"}
	in.without["postgres/checkpoint-requested"] = []string{"engine.postgres.max_wal_size=1000GB"}
	in.without["postgres/backend-writes"] = []string{"engine.postgres.bgwriter_delay=10ms", "engine.postgres.bgwriter_lru_maxpages=1000", "engine.postgres.bgwriter_lru_multiplier=1000%"}
	paced, flush := pick(c, "0", "0.5", "0.9"), pick(c, "0B", "256kB")
	rows := c.among(2e5, 2e7)
	cpu, takes := "", 0

	if in.trouble == tooFewCores || in.trouble == quotaTooSmall {
		takes = c.among(500, 3000)
		cpu = fmt.Sprintf(", cpu: %dus", takes)
	}

	text += fmt.Sprintf("engine:\n  postgres: {shared_buffers: %dMiB, max_wal_size: %dMiB, checkpoint_timeout: %ds, checkpoint_completion_target: %s, checkpoint_flush_after: %s, rows: %d%s}\n",
		c.among(128, 4000), c.among(256, 8000), pick(c, 30, 60, 90), paced, flush, rows, cpu)
	rate := c.among(60, 2000)
	text += fmt.Sprintf("workload:\n  arrivals: %s\n  mix: {update: 100%%}\n  keys: {count: %d}\n  document: {size: 100B}\n  connections: %d\n", c.arrivals(in.seed, rate), rows, pick(c, 16, 32, 64))

	return c.withQuota(text, rate, takes)
}

func etcd(c chance, in *incident) string {
	in.family = "etcd"
	wal, data := c.volume(in, "wal"), c.volume(in, "data")
	text := c.host(in) + "volumes:\n  wal: " + wal.text + "\n  data: " + data.text + "\n"
	in.disks(wal, data)
	in.without["etcd/wal-fsync-slow"], in.without["etcd/backend-commit-slow"] = wal.perfect, data.perfect
	members := pick(c, 1, 3)
	if in.trouble == slowMembers {
		members = 3
		text += c.slowMembers(in, wal, data)
	}
	return text + fmt.Sprintf("engine:\n  etcd: {members: %d, rtt: 500us}\nworkload:\n  arrivals: %s\n  mix: {insert: 100%%}\n  document: {size: %dB}\n",
		members, c.arrivals(in.seed, c.among(50, 1500)), pick(c, 256, 1024, 8192))
}

// slowMembers makes the logs of two of three members slow. A counterfactual that grants something to a volume
// also grants it to these members' volumes.
func (c chance) slowMembers(in *incident, wal, data drawn) string {
	slow := fmt.Sprintf("{volumes: {wal: {type: custom, size: 100GiB, iops: %d, throughput: 100MiB/s, latency: {like: gp3, scale: %d%%}}}}", c.among(100, 3000), c.among(3000, 20000))
	all := []drawn{wal, data}
	for _, member := range []string{"2", "3"} {
		at := "members." + member + ".volumes.wal"
		all = append(all, drawn{
			iops: []string{at + ".iops=1000000"}, bytes: []string{at + ".throughput=100GB/s"}, moreIOPS: []string{at + ".iops=1000000"},
			perfect: []string{at + "=" + ample}, quick: []string{at + ".latency={like: gp3, scale: 5%}"},
		})
	}
	in.disks(all...)
	in.without["etcd/slow-member"] = []string{"members="}
	in.without["etcd/wal-fsync-slow"] = append(in.without["etcd/wal-fsync-slow"], "members=")
	return "members: {2: " + slow + ", 3: " + slow + "}\n"
}
