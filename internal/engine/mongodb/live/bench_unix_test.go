//go:build unix

package live

import (
	"net"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/engine/mongodb/mongotest"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// nowhere is a recording that drops its samples.
type nowhere struct{ *recording.Memory }

// BenchmarkSample measures the client side of a sample of MongoDB 8.2, including decoding, the
// driver and its connections. The CPU time includes the test server, so it is an upper bound.
func BenchmarkSample(b *testing.B) {
	for name, without := range map[string]string{"getDiagnosticData": "", "serverStatus": "getDiagnosticData"} {
		for kind, want := range map[string]func(string) bool{"all": nil, "wanted": diagnose.Wants(pack)} {
			b.Run(name+"/"+kind, func(b *testing.B) { sample(b, without, want) })
		}
	}
}

func sample(b *testing.B, without string, want func(string) bool) {
	r := capture(b, "v8.2.1/metrics.interim", 81)
	at, bytes := 0, 0
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}

	defer l.Close()
	reply := r.Answer(func() time.Time { at++; return r.Times[at%len(r.Times)] })
	go (&mongotest.Server{Version: "8.2.1", Refuse: map[string]bool{without: true}, Reply: reply}).Serve(l)

	src, err := Open(b.Context(), "mongodb://"+l.Addr().String(), Options{})
	if err != nil {
		b.Fatal(err)
	}

	m := src.(*server)
	link, err := connect(b.Context(), m.address, m.opt, againWithin)
	if err != nil {
		b.Fatal(err)
	}

	defer link.close()
	s := newSampler(m, link, nowhere{recording.NewMemory(recording.MemoryOptions{})}, source.Options{Want: want, Period: time.Second})
	var before, after syscall.Rusage
	columns := 0
	b.ReportAllocs()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)

	for b.Loop() {
		// Reset the clock state, so that the repeated capture looks new.
		s.phase, s.last, s.start = 0, time.Time{}, time.Time{}
		batches, err := s.Sample(b.Context(), time.Now())
		if err != nil {
			b.Fatal(err)
		}
		columns = len(batches[0].Columns)
	}

	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	for _, name := range []string{"getDiagnosticData", "serverStatus"} {
		if d, err := bson.Marshal(reply(name, nil)); err == nil && name != without {
			bytes = len(d)
			break
		}
	}

	used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-us/op")
	b.ReportMetric(float64(bytes), "wire-bytes/op")
	b.ReportMetric(float64(columns), "series")
}
