package ftdctest

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// A Server simulates a busy mongod 8.0. It makes chunks of its metrics, some under their real names
// and with a plausible course, the others with the mix of constant and changing values measured on
// a real capture (a write-heavy 8.0.0-rc18, 3,479 metrics, 600 samples):
//
//   - 79 % of the columns of a chunk are constant;
//   - of the others 18 % are gauges, whose decreases take ten bytes each, and the rest counters;
//   - of the deltas of columns that change 41 % are zero, unevenly: a third of the columns has none, a
//     tenth almost only zeros;
//   - of the other deltas 31 % take one byte, 37 % two, 14 % three, 10 % more.
type Server struct {
	// Metrics is the number of metrics per sample, 3,400 if 0; at least 64 are made.
	Metrics int
	// Samples is the number of samples per chunk, 300 if 0.
	Samples int
	// PeriodMs is the time between two samples, 1,000 if 0.
	PeriodMs int64
	// StartMs is the time of the next sample; it advances with each chunk.
	StartMs int64

	rng     *rand.Rand
	doc     Doc
	metrics []*course
	columns [][]int64
}

// A course defines how one metric changes.
type course struct {
	value  int64
	zeros  float64 // share of samples without a change
	bits   [2]int  // least and most bits of a change
	gauge  bool
	isTime bool
}

// NewServer makes a server whose captures depend only on the seed.
func NewServer(seed uint64) *Server {
	return &Server{rng: rand.New(rand.NewPCG(seed, 0x6674_6463)), StartMs: 1_700_000_000_000}
}

// Metadata writes a document of type 0, with which a server's files begin.
func (s *Server) Metadata(w io.Writer) error {
	return NewEncoder(w, 1).Metadata(Date(s.StartMs), Doc{
		{Key: "start", Value: Date(s.StartMs)},
		{Key: "buildInfo", Value: Doc{{Key: "version", Value: "8.0.4"}}},
		{Key: "getCmdLineOpts", Value: Doc{{Key: "parsed", Value: Doc{
			{Key: "replication", Value: Doc{{Key: "replSetName", Value: "rs0"}}},
			{Key: "storage", Value: Doc{{Key: "dbPath", Value: "/data/db"}, {Key: "wiredTiger",
				Value: Doc{{Key: "engineConfig", Value: Doc{{Key: "cacheSizeGB", Value: 8.0}}}}}}},
		}}}},
		{Key: "hostInfo", Value: Doc{
			{Key: "system", Value: Doc{{Key: "hostname", Value: "db0.example"},
				{Key: "memSizeMB", Value: int64(32768)}, {Key: "numCores", Value: int32(8)},
				{Key: "cpuArch", Value: "x86_64"}}},
			{Key: "os", Value: Doc{{Key: "type", Value: "Linux"}, {Key: "name", Value: "Ubuntu"},
				{Key: "version", Value: "24.04"}}},
			{Key: "extra", Value: Doc{{Key: "kernelVersion", Value: "6.8.0"}, {Key: "pageSize", Value: int64(4096)}}},
		}},
		{Key: "end", Value: Date(s.StartMs)},
	})
}

// Chunk writes the next chunk.
func (s *Server) Chunk(w io.Writer) error {
	s.defaults()
	if s.doc == nil {
		s.layOut()
	}
	start := s.StartMs
	for i, c := range s.metrics {
		s.advance(c, s.columns[i])
	}
	at := 0
	ref := s.stamp(s.doc, &at)
	_, err := w.Write(Chunk(Date(start), ref.Marshal(), s.columns))
	s.StartMs += int64(s.Samples) * s.PeriodMs
	return err
}

func (s *Server) defaults() {
	if s.Metrics == 0 {
		s.Metrics = 3400
	}
	if s.Samples == 0 {
		s.Samples = 300
	}
	if s.PeriodMs == 0 {
		s.PeriodMs = 1000
	}
}

// advance fills a column with a chunk's worth of a course. Whether a column changes at all is a
// property of the chunk, as in real captures.
func (s *Server) advance(c *course, column []int64) {
	if c.isTime {
		for i := range column {
			column[i] = s.StartMs + int64(i)*s.PeriodMs
		}
		return
	}

	for i := range column {
		column[i] = c.value
		if c.zeros == 1 || s.rng.Float64() < c.zeros {
			continue
		}
		bits := c.bits[0] + s.rng.IntN(c.bits[1]-c.bits[0]+1)
		d := int64(1)<<(bits-1) | s.rng.Int64()&(int64(1)<<(bits-1)-1)
		if c.gauge && c.value > d && s.rng.IntN(2) == 0 {
			d = -d
		}
		c.value += d
	}
}

// stamp returns the document with the first values of the columns.
func (s *Server) stamp(d Doc, at *int) Doc {
	out := make(Doc, len(d))
	for i, f := range d {
		switch v := f.Value.(type) {
		case Doc:
			out[i] = Field{Key: f.Key, Value: s.stamp(v, at)}
		case string:
			out[i] = f
		case Date:
			out[i] = Field{Key: f.Key, Value: Date(s.columns[*at][0])}
			*at++
		default:
			out[i] = Field{Key: f.Key, Value: s.columns[*at][0]}
			*at++
		}
	}

	return out
}

// layOut chooses the metrics: their names, nested as a server's, and courses.
func (s *Server) layOut() {
	names := append(make([][]string, 0, s.Metrics), realMetrics...)
	things := []string{"pages read", "bytes written", "time (usecs)", "calls",
		"cursor operations", "eviction walks"}
	for i := len(names); i < s.Metrics; i++ {
		group := fmt.Sprintf("subsystem %02d", i/64)
		names = append(names, []string{"serverStatus", "metrics", group,
			fmt.Sprintf("%s %04d", things[i%len(things)], i)})
	}

	s.doc = Doc{{Key: "start", Value: Date(0)}}
	s.metrics = []*course{{isTime: true}}

	for _, path := range names {
		s.doc = insert(s.doc, path)
	}

	s.doc = append(s.doc, Field{Key: "end", Value: Date(0)})
	for _, path := range names {
		c := s.draw()
		if path[len(path)-1] == "uptimeMillis" { // a decrease would be reported as a restart
			c = &course{value: 1e9, bits: [2]int{10, 10}}
		}
		s.metrics = append(s.metrics, c)
	}

	s.metrics = append(s.metrics, &course{isTime: true})
	s.columns = make([][]int64, len(s.metrics))

	for i := range s.columns {
		s.columns[i] = make([]int64, s.Samples)
	}
}

// draw chooses a course according to the measured mix.
func (s *Server) draw() *course {
	c := &course{value: s.rng.Int64N(1 << 30), zeros: 1, bits: [2]int{1, 7}}
	if s.rng.Float64() >= 0.21 {
		return c
	}

	switch q := s.rng.Float64(); {
	case q < 0.3:
		c.zeros = 0
	case q < 0.6:
		c.zeros = 0.1 + 0.3*s.rng.Float64()
	case q < 0.8:
		c.zeros = 0.4 + 0.4*s.rng.Float64()
	default:
		c.zeros = 0.87 + 0.12*s.rng.Float64()
	}

	c.gauge = s.rng.Float64() < 0.18
	switch q := s.rng.Float64(); {
	case q < 0.32:
		c.bits = [2]int{1, 6}
	case q < 0.72:
		c.bits = [2]int{7, 14}
	case q < 0.88:
		c.bits = [2]int{14, 21}
	default:
		c.bits = [2]int{20, 29}
	}

	return c
}

func insert(d Doc, path []string) Doc {
	if len(path) == 1 {
		return append(d, Field{Key: path[0], Value: int64(0)})
	}
	if n := len(d); n > 0 && d[n-1].Key == path[0] {
		d[n-1].Value = insert(d[n-1].Value.(Doc), path[1:])
		return d
	}
	return append(d, Field{Key: path[0], Value: insert(nil, path[1:])})
}

// realMetrics are paths of MongoDB 8.0 with names that other packages use. Paths of one document
// are adjacent, so that they have the document's order.
var realMetrics = [][]string{
	{"systemMetrics", "disks", "nvme0n1", "reads"},
	{"systemMetrics", "disks", "nvme0n1", "writes"},
	{"systemMetrics", "disks", "nvme0n1", "write_sectors"},
	{"systemMetrics", "disks", "nvme0n1", "write_time_ms"},
	{"systemMetrics", "disks", "nvme0n1", "io_time_ms"},
	{"systemMetrics", "disks", "nvme0n1", "io_queued_ms"},
	{"systemMetrics", "mounts", "/", "capacity"},
	{"systemMetrics", "mounts", "/", "free"},
	{"systemMetrics", "memory", "Dirty_kb"},
	{"systemMetrics", "memory", "Writeback_kb"},
	{"serverStatus", "uptimeMillis"},
	{"serverStatus", "opLatencies", "reads", "latency"},
	{"serverStatus", "opLatencies", "reads", "ops"},
	{"serverStatus", "opLatencies", "writes", "latency"},
	{"serverStatus", "opLatencies", "writes", "ops"},
	{"serverStatus", "opcounters", "insert"},
	{"serverStatus", "opcounters", "update"},
	{"serverStatus", "queues", "execution", "write", "out"},
	{"serverStatus", "queues", "execution", "write", "available"},
	{"serverStatus", "queues", "execution", "write", "totalTickets"},
	{"serverStatus", "queues", "execution", "write", "normalPriority", "totalTimeQueuedMicros"},
	{"serverStatus", "queues", "execution", "write", "normalPriority", "totalTimeProcessingMicros"},
	{"serverStatus", "wiredTiger", "cache", "application thread time evicting (usecs)"},
	{"serverStatus", "wiredTiger", "cache", "bytes allocated for updates"},
	{"serverStatus", "wiredTiger", "cache", "bytes currently in the cache"},
	{"serverStatus", "wiredTiger", "cache", "maximum bytes configured"},
	{"serverStatus", "wiredTiger", "cache", "pages evicted by application threads"},
	{"serverStatus", "wiredTiger", "cache", "tracked dirty bytes in the cache"},
	{"serverStatus", "wiredTiger", "checkpoint", "most recent time (msecs)"},
	{"serverStatus", "wiredTiger", "checkpoint", "progress state"},
	{"serverStatus", "wiredTiger", "log", "log sync operations"},
	{"serverStatus", "wiredTiger", "log", "log sync time duration (usecs)"},
	{"serverStatus", "wiredTiger", "thread-yield", "application thread time waiting for cache (usecs)"},
}
