package live

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/engine/mongodb/mongotest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// read samples a source for a while.
func read(t *testing.T, src source.Source, opt source.Options) *recording.Memory {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(t.Context(), m, opt); err != nil {
		t.Fatal(err)
	}
	return m
}

// times returns the times of a metric's samples as text, in seconds since an instant.
func times(t *testing.T, m *recording.Memory, metric string, since time.Time) string {
	t.Helper()
	series, err := m.Samples(t.Context(), recording.MustSelector(metric), since.Add(-time.Hour), since.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, s := range series {
		out += s.Labels.Get("instance") + ":"
		for _, p := range s.Points {
			out += fmt.Sprintf(" %v", float64(p.T-since.UnixMilli())/1000)
		}
	}
	return out
}

func notes(m *recording.Memory) string {
	out := ""
	for _, n := range m.Notes() {
		out += fmt.Sprintf("%s: %s\n", n.Kind, n.Text)
	}
	return out
}

// A user without getDiagnosticData gets serverStatus and the members. A note says what is missing and
// which role grants it.
func TestLeastPrivilege(t *testing.T) {
	r := capture(t, busy, 40)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Times[0]))
		begin := time.Now()
		var w mongotest.Wire
		defer w.Start("db:27017", &mongotest.Server{Version: "8.0.0", Reply: r.Answer(time.Now),
			Refuse: map[string]bool{"getDiagnosticData": true, "hostInfo": true, "getParameter": true, "getCmdLineOpts": true}})()
		m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 12 * time.Second})

		if got := times(t, m, "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", begin); got != "db: 0 1 2 3 4 5 6 7 8 9 10 11 12" {
			t.Errorf("serverStatus at %s", got)
		}

		if got := times(t, m, `mongodb_rs_members_state{member_idx="0"}`, begin); got != "db: 0 10" {
			t.Errorf("replSetGetStatus at %s", got)
		}

		if got := times(t, m, "mongodb_sys_disks_io_time_ms", begin); got != "" {
			t.Errorf("disks, which serverStatus does not report: %s", got)
		}

		for _, want := range []string{"limit: this user may not run getDiagnosticData: disks, memory and pressure", "limit: this user may not run hostInfo, getCmdLineOpts, getParameter", "the role clusterMonitor grants it"} {
			if !strings.Contains(notes(m), want) {
				t.Errorf("notes without %q:\n%s", want, notes(m))
			}
		}
	})
}

// At periods below a second, serverStatus itself is called, and the rest is read once a second.
func TestFinePeriod(t *testing.T) {
	r := capture(t, busy, 40)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Times[0]))
		begin := time.Now()
		var w mongotest.Wire
		defer w.Start("db:27017", &mongotest.Server{Version: "8.0.0", Reply: r.Answer(time.Now)})()
		m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 2 * time.Second, Period: 500 * time.Millisecond})

		if got := times(t, m, "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", begin); got != "db: 0 0.5 1 1.5 2" {
			t.Errorf("serverStatus at %s", got)
		}

		if got := times(t, m, `mongodb_sys_vmstat_pgfault`, begin); got != "db: 0 1 2" {
			t.Errorf("the rest at %s", got)
		}

		if notes(m) != "" {
			t.Error(notes(m))
		}
	})
}

// serverStatus replaces the document of a server that stops collecting, until it resumes.
func TestStale(t *testing.T) {
	r := capture(t, busy, 60)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Times[0]))
		begin := time.Now()
		stops, resumes := begin.Add(3*time.Second), begin.Add(14*time.Second)
		now, frozen := r.Answer(time.Now), r.Answer(func() time.Time { return stops })
		s := &mongotest.Server{Version: "8.0.0", Reply: func(name string, c bson.Raw) any {
			if at := time.Now(); name == "getDiagnosticData" && at.After(stops) && at.Before(resumes) {
				return frozen(name, c)
			}
			return now(name, c)
		}}

		var w mongotest.Wire
		defer w.Start("db:27017", s)()
		m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 18 * time.Second})

		// This happens after five seconds without a new document. The document is requested first,
		// between two seconds.
		if got := times(t, m, "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", begin); got != "db: 0 1 2 3 8.75 9.75 10.75 11.75 12.75 13.75 14 15 16 17 18" {
			t.Errorf("serverStatus at %s", got)
		}

		if got := times(t, m, `mongodb_sys_vmstat_pgfault`, begin); got != "db: 0 1 2 3 14 15 16 17 18" {
			t.Errorf("the rest at %s", got)
		}

		if n := notes(m); !strings.Contains(n, "limit: the server has collected no diagnostic data for more than 5s (diagnosticDataCollectionEnabled") {
			t.Errorf("notes:\n%s", n)
		}
	})
}

// A server that restarts leaves a gap; reading resumes once it is back.
func TestRestart(t *testing.T) {
	r := capture(t, busy, 60)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Times[0]))
		begin := time.Now()
		var w mongotest.Wire
		stop := w.Start("db:27017", &mongotest.Server{Version: "8.0.0", Reply: r.Answer(time.Now)})
		src := open(t, &w, "mongodb://db")
		go func() {
			time.Sleep(5200 * time.Millisecond)
			stop()
			time.Sleep(6 * time.Second)
			// Its uptime restarts at the one from the capture's beginning.
			stop = w.Start("db:27017", &mongotest.Server{Version: "8.0.1", Reply: again(r, begin)})
		}()

		m := read(t, src, source.Options{For: 20 * time.Second})
		stop()
		if got := times(t, m, "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", begin); !strings.HasPrefix(got, "db: 0 1 2 3 4 12") && !strings.HasPrefix(got, "db: 0 1 2 3 4 11") {
			t.Errorf("samples at %s", got)
		}

		for _, want := range []string{"gap: ", "connection refused", "gap: the server restarted in between, and its counters were reset"} {
			if !strings.Contains(notes(m), want) {
				t.Errorf("notes without %q:\n%s", want, notes(m))
			}
		}

		if v := m.Sources()[0].Version; v != "8.0.1" {
			t.Errorf("after the restart it is %s", v)
		}
	})
}

// A server that restarts soon after it was started may have been up for just as long before.
func TestRestartOfAYoungServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w mongotest.Wire
		started := time.Now()
		up := func() func() {
			begin := time.Now()
			return w.Start("db:27017", &mongotest.Server{Version: "8.0.4", Refuse: map[string]bool{"getDiagnosticData": true}, Reply: func(name string, _ bson.Raw) any {
				if name != "serverStatus" {
					return nil
				}
				return bson.D{{Key: "host", Value: "db"}, {Key: "version", Value: "8.0.4"}, {Key: "uptimeMillis", Value: time.Since(begin).Milliseconds() + 1}, {Key: "ok", Value: 1.0}}
			}})
		}

		stop := up()
		src := open(t, &w, "mongodb://db")
		go func() {
			for range 3 { // the first time it is up for only seconds
				time.Sleep(2200 * time.Millisecond)
				stop()
				time.Sleep(3 * time.Second)
				stop = up()
			}
		}()

		m := read(t, src, source.Options{For: 40 * time.Second})
		stop()
		if n := strings.Count(notes(m), "the server restarted in between"); n != 3 {
			t.Errorf("%d restarts noted in %s:\n%s", n, time.Since(started), notes(m))
		}
	})
}

// again responds as the server did at the start of the capture, with times that continue.
func again(r *mongotest.Replay, begin time.Time) func(string, bson.Raw) any {
	restarted := time.Now()
	answer := r.Answer(func() time.Time { return begin.Add(time.Since(restarted)) })
	return func(name string, c bson.Raw) any {
		a := answer(name, c)
		if d, ok := a.(bson.D); ok && name == "getDiagnosticData" {
			var data bson.D
			if err := bson.Unmarshal(d[0].Value.(bson.Raw), &data); err != nil {
				return err
			}
			for i := range data {
				if data[i].Key == "start" {
					data[i].Value = bson.NewDateTimeFromTime(time.Now().Truncate(time.Second))
				}
			}
			return bson.D{{Key: "data", Value: data}, {Key: "ok", Value: 1.0}}
		}

		return a
	}
}

// If a server's clock is an hour off, or is set while it is read, samples have this machine's time,
// and a note says so.
func TestSkew(t *testing.T) {
	r := capture(t, busy, 60)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Times[0].Add(time.Hour)))
		begin := time.Now()
		clock := func() time.Time {
			if time.Since(begin) > 4500*time.Millisecond && time.Since(begin) < 9*time.Second {
				return time.Now().Add(-time.Hour).Add(20 * time.Second)
			}
			return time.Now().Add(-time.Hour)
		}

		s := &mongotest.Server{Version: "8.0.0", Reply: r.Answer(clock), Clock: clock}
		var w mongotest.Wire
		defer w.Start("db:27017", s)()
		m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 14 * time.Second})

		got := times(t, m, "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", begin)
		if got != "db: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14" {
			t.Errorf("samples at %s", got)
		}

		if n := notes(m); !strings.Contains(n, "clock: the server's clock is 1h0m0s behind this machine's") || !strings.Contains(n, "clock: the server's clock is 59m40s behind") {
			t.Errorf("notes:\n%s", n)
		}
	})
}

// TestSlowHello: a response that took 5 s at the start, as in a stall, does not shift the samples, and
// no note says that the clock is off. A clock that is off is measured again with a fast response.
func TestSlowHello(t *testing.T) {
	r := capture(t, busy, 60)
	for _, off := range []time.Duration{0, -2 * time.Second, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(r.Times[0].Add(-off)))
			begin := time.Now()
			clock := func() time.Time { return time.Now().Add(off) }
			answer := r.Answer(clock)
			var hellos atomic.Int32 // each connection has its own goroutine
			s := &mongotest.Server{Version: "8.0.0", Clock: clock, Reply: func(name string, c bson.Raw) any {
				switch {
				case name == "getDiagnosticData" && hellos.CompareAndSwap(0, 1): // the next hello is ours, not the driver's
				case name == "hello" && hellos.CompareAndSwap(1, 2):
					time.Sleep(5 * time.Second)
				}
				return answer(name, c)
			}}

			var w mongotest.Wire
			defer w.Start("db:27017", s)()
			m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 40 * time.Second})

			if hellos.Load() != 2 {
				t.Fatal("no answer was slow")
			}

			series, err := m.Samples(t.Context(), recording.MetricSelector("mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache"), begin.Add(-time.Hour), begin.Add(time.Hour))
			if err != nil || len(series) != 1 {
				t.Fatal(series, err)
			}

			points := series[0].Points
			if at := time.UnixMilli(points[len(points)-1].T).Sub(begin); at < 38*time.Second || at > 41*time.Second {
				t.Errorf("clock off by %v: the last sample is at %v, want 40 s", off, at)
			}

			if n := notes(m); strings.Contains(n, "clock") != (off != 0) {
				t.Errorf("clock off by %v: notes:\n%s", off, n)
			}
		})
	}
}

// A set is read at its primary, and after an election at the new one, with the new one's label.
func TestElection(t *testing.T) {
	r := capture(t, busy, 60)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Times[0]))
		begin := time.Now()
		moved := func() bool { return time.Since(begin) > 4200*time.Millisecond }
		member := func(address string, primary func() bool) *mongotest.Server {
			reply := r.Answer(time.Now)
			return &mongotest.Server{Version: "8.0.0", Reply: func(name string, c bson.Raw) any {
				switch name {
				case "hello", "isMaster", "ismaster":
					d := bson.D{{Key: "isWritablePrimary", Value: primary()}, {Key: "ismaster", Value: primary()}, {Key: "secondary", Value: !primary()}, {Key: "helloOk", Value: true},
						{Key: "hosts", Value: bson.A{"a:27017", "b:27017"}}, {Key: "setName", Value: "rs0"}, {Key: "setVersion", Value: int32(1)}, {Key: "me", Value: address},
						{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "maxMessageSizeBytes", Value: int32(48_000_000)}, {Key: "minWireVersion", Value: int32(0)},
						{Key: "maxWireVersion", Value: int32(25)}, {Key: "localTime", Value: bson.NewDateTimeFromTime(time.Now())}, {Key: "ok", Value: 1.0}}
					return d
				case "getDiagnosticData":
					if !primary() {
						return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(13435)}, {Key: "errmsg", Value: "not primary and secondaryOk=false"}}
					}
					return named(r.At(time.Now()), address)
				}
				return reply(name, c)
			}}
		}

		var w mongotest.Wire
		defer w.Start("a:27017", member("a:27017", func() bool { return !moved() }))()
		defer w.Start("b:27017", member("b:27017", moved))()
		m := read(t, open(t, &w, "mongodb://a,b/?replicaSet=rs0"), source.Options{For: 20 * time.Second})

		got := times(t, m, "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache", begin)
		if !strings.HasPrefix(got, "a:27017: 0 1 2 3b:27017: ") || !strings.HasSuffix(got, " 18 19 20") {
			t.Errorf("samples at %s", got)
		}

		if n := notes(m); !strings.Contains(n, "gap: the primary was a:27017 and is now b:27017") {
			t.Errorf("notes:\n%s", n)
		}
	})
}

// named sets the server's name in a document.
func named(doc bson.Raw, host string) any {
	var data bson.D
	if err := bson.Unmarshal(doc, &data); err != nil {
		return err
	}

	for i, e := range data {
		if status, ok := e.Value.(bson.D); ok && e.Key == "serverStatus" {
			for k := range status {
				if status[k].Key == "host" {
					status[k].Value = host
				}
			}
			data[i].Value = status
		}
	}

	return bson.D{{Key: "data", Value: data}, {Key: "ok", Value: 1.0}}
}

// A mongos can be read, and a note names the members that report on storage.
func TestRouter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shards := bson.A{bson.D{{Key: "_id", Value: "rs0"}, {Key: "host", Value: "rs0/a:27018,b:27018"}}}
		s := answering(&mongotest.Server{Hello: bson.D{{Key: "msg", Value: "isdbgrid"}}})
		reply := s.Reply
		s.Reply = func(name string, c bson.Raw) any {
			if name == "listShards" {
				return bson.D{{Key: "shards", Value: shards}, {Key: "ok", Value: 1.0}}
			}
			return reply(name, c)
		}

		var w mongotest.Wire
		defer w.Start("db:27017", s)()
		m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 2 * time.Second})

		if n := notes(m); !strings.Contains(n, "it is a mongos, which has no storage: the shards' members report journal, cache, checkpoints and disks: rs0/a:27018,b:27018") {
			t.Errorf("notes:\n%s", n)
		}
	})
}

// The sizes of the largest databases are read concurrently with the samples.
func TestSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := answering(&mongotest.Server{})
		reply := s.Reply
		s.Reply = func(name string, c bson.Raw) any {
			switch name {
			case "listDatabases":
				list := bson.A{}
				for i := range databasesMax + 4 {
					list = append(list, bson.D{{Key: "name", Value: fmt.Sprintf("d%02d", i)}, {Key: "sizeOnDisk", Value: int64(i) << 30}})
				}
				return bson.D{{Key: "databases", Value: list}, {Key: "ok", Value: 1.0}}
			case "dbStats":
				db, _ := c.Lookup("$db").StringValueOK()
				if db == "d10" {
					return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(50)}, {Key: "errmsg", Value: "operation exceeded time limit"}}
				}
				return bson.D{{Key: "dataSize", Value: 1e9}, {Key: "indexSize", Value: int64(1e8)}, {Key: "ok", Value: 1.0}}
			}
			return reply(name, c)
		}

		var w mongotest.Wire
		defer w.Start("db:27017", s)()
		m := read(t, open(t, &w, "mongodb://db"), source.Options{For: 5 * time.Second})

		series, err := m.Samples(t.Context(), recording.MetricSelector("mongodb_dbstats_indexSize"), time.Now().Add(-time.Hour), time.Now())
		if err != nil || len(series) != databasesMax-1 || series[0].Labels.Get("database") != "d04" || series[0].Points[0].F != 1e8 {
			t.Errorf("%v, %v", series, err)
		}
	})
}
