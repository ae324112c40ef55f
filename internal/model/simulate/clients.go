package simulate

import (
	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
)

// clientLatency is the histogram of latencies from the intended start. The engine's own counters
// exclude the wait for a connection, and are sums only.
const clientLatency = "plimsoll_client_latency_seconds"

// felt holds the clients' latencies since the run's beginning by kind of operation, including the
// warm-up. It is used for recordings only.
type felt struct{ reads, writes latency.Buckets }

func (f *felt) add(write bool, ns int64) {
	if write {
		f.writes.Add(ns)
		return
	}
	f.reads.Add(ns)
}

// clients adds the columns of a histogram for each kind of operation in the workload.
func (p *sampler) clients(f *felt, writes units.Ratio) {
	kind := func(name string, b *latency.Buckets) {
		p.felt = append(p.felt, feltRow{at: len(p.batch.Columns), of: b})
		for _, le := range latency.BucketEdges() {
			p.column(clientLatency+"_bucket", []string{"kind", name, "le", le}, nil)
		}
		p.column(clientLatency+"_sum", []string{"kind", name}, nil)
		p.column(clientLatency+"_count", []string{"kind", name}, nil)
	}
	if writes < 1 {
		kind("read", &f.reads)
	}
	if writes > 0 {
		kind("write", &f.writes)
	}
}

// A feltRow is a histogram's position in the row.
type feltRow struct {
	at int
	of *latency.Buckets
}

func (r *feltRow) sample(row []float64) {
	row = row[r.at:]
	r.of.Cumulative(row[:latency.BucketCount])
	row[latency.BucketCount] = r.of.SumSeconds()
	// The last cumulative bucket is +Inf, which counts everything.
	row[latency.BucketCount+1] = row[latency.BucketCount-1]
}
