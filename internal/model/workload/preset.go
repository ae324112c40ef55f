package workload

import (
	"plimsoll/internal/base/units"
)

// A Preset is a workload that is known by a name.
type Preset struct {
	Name   string
	About  string // one line: what it is
	Source string // where its figures come from, and which are assumed
	Spec   Spec
}

func rate(f units.Frequency) *units.Frequency { return &f }

const (
	second = units.Duration(1e9)
	minute = 60 * second
)

// Presets are the workloads known by name, in the order in which they are listed.
func Presets() []Preset {
	out := []Preset{
		{
			Name:  "telemetry",
			About: "a telemetry platform on MongoDB: 2,000 inserts a second of 3 kB",
			// 850 MB dirty at the end of a cycle of 60 s and a checkpoint of some 5 s are 6.5 kB a write.
			// A member of a replica set writes an insert twice, into the collection and into the
			// oplog: 3 kB each and a little for pages and the index.
			Source: "published cache-pressure case: 2,000 inserts/s, 18 GB working set; 3 kB derived from its 850 MB dirty a cycle of 65 s, " +
				"written to collection and oplog. (Its working set of 24 h would make 104 B a document, which its dirty bytes contradict.)",
			Spec: Spec{
				Arrivals: &Arrivals{Poisson: rate(2000)}, Mix: &Mix{Insert: 1}, WorkingSet: 18 * units.GB,
				Document: &Document{Size: 3 * units.KB},
			},
		},
		{
			Name:  "telemetry-buckets",
			About: "10,000 sensors, a reading each 5 s pushed into a bucket document of 5 minutes",
			Source: "published bucket-granularity case: sensors, interval, 40 B a reading; set buckets.span to 1min, 15min or 1h for its others. " +
				"A document is its readings alone, as the published sizes are (2.4 kB at 60)",
			Spec: Spec{
				Mix:     &Mix{Push: 1},
				Buckets: &Buckets{Span: 5 * minute, Sensors: 10_000, Interval: 5 * second, Entry: 40},
			},
		},
		{
			Name: "wiredtiger-lab", About: "800 updates a second of 150,000 documents of 4 KB, 64 threads",
			Source: "measured: the WiredTiger runs on 3,000 IOPS and 48 MB/s, open loop, keys uniform",
			Spec: Spec{
				Arrivals: &Arrivals{Poisson: rate(800)}, Mix: &Mix{Update: 1}, Keys: &Keys{Count: 150_000},
				Document: &Document{Size: 4 * units.KiB}, Connections: 64,
			},
		},
		{
			Name: "pgbench", About: "pgbench -N (simple update) at 600 transactions a second, scale 100",
			Source: "PostgreSQL 15 documentation, pgbench: 100,000 accounts a unit of scale, uniform; rows of 97 B data (filler of 84 characters); " +
				"rate as measured, 64 clients and scale 100 assumed",
			Spec: Spec{
				Arrivals: &Arrivals{Poisson: rate(600)}, Mix: &Mix{Update: 1}, Keys: &Keys{Count: 10_000_000},
				Document: &Document{Size: 97}, Connections: 64,
			},
		},
		{
			Name: "ranread", About: "InterSystems RANREAD: processes that read random 8 KB blocks, 5 -> 10 and 10 -> 50 in steps",
			Source: "published LVM-stripe case: block and numbers of processes; the steps between, 60 s each, and 100 GiB of data assumed",
			Spec: Spec{
				Arrivals: &Arrivals{Steps: clientSteps(minute, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50)},
				Mix:      &Mix{Read: 1}, WorkingSet: 100 * units.GiB, Document: &Document{Size: 8 * units.KiB},
			},
		},
		{
			Name: "ranwrite", About: "InterSystems RANWRITE: processes that change random 8 KB blocks, 8,000 a second at most",
			Source: "published LVM-stripe case, run A.006: 8,000 writes/s; 10 processes and 100 GiB of data assumed",
			Spec: Spec{
				Arrivals: &Arrivals{Clients: 10, Rate: rate(8000)},
				Mix:      &Mix{Update: 1}, WorkingSet: 100 * units.GiB, Document: &Document{Size: 8 * units.KiB},
			},
		},
	}
	return append(append(out, checkPerf()...), ycsb()...)
}

func clientSteps(each units.Duration, clients ...int) []Step {
	steps := make([]Step, len(clients))
	for i, n := range clients {
		steps[i] = Step{Clients: n, For: each}
	}
	return steps
}

// checkPerf are the loads of etcdctl's check perf.
func checkPerf() []Preset {
	var out []Preset
	for _, p := range []struct {
		name    string
		about   string
		clients int
		rate    units.Frequency
	}{
		{"s", "small: 150 puts a second of 50 clients", 50, 150},
		{"m", "medium: 1,000 puts a second of 200 clients", 200, 1000},
		{"l", "large: 8,000 puts a second of 500 clients", 500, 8000},
		{"xl", "extra large: 15,000 puts a second of 1,000 clients", 1000, 15000},
	} {
		out = append(out, Preset{
			Name: "etcd-check-perf-" + p.name, About: "etcdctl check perf, " + p.about,
			Source: "etcd's etcdctl check perf, 3.5: keys of 256 B, values of 1,024 B, 60 s; a closed loop",
			Spec: Spec{
				Arrivals: &Arrivals{Clients: p.clients, Rate: rate(p.rate)}, Mix: &Mix{Insert: 1},
				Keys: &Keys{}, Document: &Document{Size: 256 + 1024}, Duration: minute,
			},
		})
	}
	return out
}

// ycsb are the core workloads of YCSB.
func ycsb() []Preset {
	const zipf = "zipf"
	var out []Preset
	for _, p := range []struct {
		name, about, keys string
		mix               Mix
	}{
		{"a", "half reads, half updates", zipf, Mix{Read: 0.5, Update: 0.5}},
		{"b", "95 % reads, 5 % updates", zipf, Mix{Read: 0.95, Update: 0.05}},
		{"c", "reads only", zipf, Mix{Read: 1}},
		{"d", "95 % reads of what was inserted last, 5 % inserts", "latest", Mix{Read: 0.95, Insert: 0.05}},
		{"e", "95 % short scans, 5 % inserts", zipf, Mix{Scan: 0.95, Insert: 0.05, ScanDocuments: 100}},
		{"f", "half reads, half read-modify-writes (an update reads what it changes)", zipf, Mix{Read: 0.5, Update: 0.5}},
	} {
		mix := p.mix
		out = append(out, Preset{
			Name: "ycsb-" + p.name, About: "YCSB workload " + p.name + ": " + p.about,
			Source: "Cooper et al., SoCC 2010: mix, zipf 0.99, 10 fields of 100 B; 10 million documents and 1,000 operations a second, open loop, assumed",
			Spec: Spec{
				Arrivals: &Arrivals{Poisson: rate(1000)}, Mix: &mix, Keys: &Keys{Distribution: p.keys, Count: 10_000_000, Theta: 0.99},
				Document: &Document{Size: units.KB, Change: 100},
			},
		})
	}
	return out
}
