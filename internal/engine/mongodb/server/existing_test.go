//go:build linux

package server

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/base/units"
	wiredtigermodel "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/engine/mongodb/mongotest"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const patience = time.Minute

const text = `
plimsoll: 1
volumes: {data: {type: gp3, size: 50GiB}}
engine: {mongodb: {cache: 256MiB}}
workload:
  arrivals: {poisson: 100/s}
  mix: {update: 100%}
  keys: {count: 1500}
  document: {size: 300B}
  connections: 4
`

// captures are responses from real mongods' diagnostic.data, if it exists next to the checkout.
func captures(t testing.TB, name string) []bson.Raw {
	t.Helper()
	answers, err := mongotest.Answers(filepath.Join("../../../../../shared/data/ftdc", name))
	if err != nil {
		t.Skip("no captures of a real mongod next to the checkout: ", err)
	}
	return answers
}

// serve starts a test server, and returns its address.
func serve(t testing.TB, s *mongotest.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func parse(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	sc, err := language.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// calls are the commands that a server received.
type calls struct {
	mu  sync.Mutex
	all map[string][]bson.Raw
}

func (c *calls) saw(name string, d bson.Raw) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string][]bson.Raw{}
	}
	c.all[name] = append(c.all[name], append(bson.Raw(nil), d...))
}

func (c *calls) of(name string) []bson.Raw {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[name]
}

// inspected prepares and inspects a scenario's run on a server. It is removed at the end of the
// test.
func inspected(t *testing.T, s *mongotest.Server, text string) (*Existing, *existing.Inspection) {
	t.Helper()
	sc := parse(t, text)
	address, err := existing.Kinds{Addresses}.Parse("mongodb://"+serve(t, s)+"/?directConnection=true", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}

	v, err := NewExisting(*scenario.ConfigOf[*wiredtigermodel.Config](sc), existing.Options{Address: address, Name: "plimsoll_lab_test"})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	inspection, err := v.Inspect(ctx, sc)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		for range 2 { // a second call must do no harm
			if err := v.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})

	if err := v.Start(ctx, &lab.Machine{Scenario: sc}, nil); err != nil {
		t.Fatal(err)
	}

	return v, inspection
}

func do(t *testing.T, v lab.Server, kind workload.Kind, key, seq uint64, size, document units.Size) {
	t.Helper()
	if err := v.Do(t.Context(), 0, &lab.Op{Op: workload.Op{Kind: kind, Key: key, Size: size, Document: document}, Seq: seq}); err != nil {
		t.Errorf("%v of %d: %v", kind, key, err)
	}
}

func reads(t *testing.T, v lab.Server, key, want uint64, there bool) {
	t.Helper()
	seq, found, err := v.Read(t.Context(), key)
	if err != nil || seq != want || found != there {
		t.Errorf("document %d: write %d, found %v, %v; not write %d, %v", key, seq, found, err, want, there)
	}
}

const space = "plimsoll_lab_test.documents"

// The real driver stores documents in a separate database and removes them.
func TestExisting(t *testing.T) {
	var seen calls
	s := &mongotest.Server{Version: "8.2.1", Set: "rs0", Saw: seen.saw}
	v, inspection := inspected(t, s, text)
	if inspection.Server != "MongoDB 8.2.1" || !strings.Contains(strings.Join(inspection.Notes, "; "), "replica set rs0") ||
		!strings.Contains(strings.Join(inspection.Notes, "; "), "no clusterMonitor") {
		t.Errorf("%+v", inspection)
	}

	if n := s.Count(space); n != 1500 {
		t.Errorf("%d documents were loaded", n)
	}

	reads(t, v, 0, 0, true)
	reads(t, v, 1500, 0, false)
	do(t, v, workload.Update, 7, 11, 300, 300)
	do(t, v, workload.Insert, 1500, 12, 300, 300)
	do(t, v, workload.Push, 8, 13, 40, 340)
	do(t, v, workload.Push, 1700, 14, 40, 40) // before its insert
	do(t, v, workload.Insert, 1700, 15, 300, 300)
	do(t, v, workload.Read, 7, 0, 300, 300)
	do(t, v, workload.Read, 9999, 0, 300, 300)
	do(t, v, workload.Scan, 1000, 0, 60_000, 60_000) // 200 documents: more than a batch
	do(t, v, workload.Update, 9, 1<<63+5, 300, 300)

	for key, seq := range map[uint64]uint64{7: 11, 1500: 12, 8: 13, 1700: 15, 9: 1<<63 + 5, 10: 0} {
		reads(t, v, key, seq, true)
	}

	for _, c := range seen.of("update") {
		if w, _ := c.Lookup("writeConcern", "w").StringValueOK(); w != "majority" || !c.Lookup("writeConcern", "j").Boolean() {
			t.Fatalf("an update's write concern: %v", c)
		}
	}

	if n := len(seen.of("getMore")); n != 1 {
		t.Errorf("a scan of 200 documents sent %d getMores", n)
	}

	if src := v.Sources(); src != nil {
		t.Errorf("statistics despite missing privileges: %v", src)
	}

	if err := v.Crash(); !errors.Is(err, existing.ErrNotOurs) {
		t.Errorf("killing a foreign server: %v", err)
	}

	if err := v.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	if left := s.Spaces(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	if err := v.Do(t.Context(), 0, &lab.Op{}); !errors.Is(err, errNotRunning) {
		t.Errorf("an operation after the end: %v", err)
	}
}

// Documents have the workload's sizes, in BSON bytes.
func TestSizes(t *testing.T) {
	for name, c := range map[string]struct {
		document     string
		whole, after int
	}{
		"whole":   {"{size: 300B}", 300, 300},
		"part":    {"{size: 900B, change: 100B}", 900, 900},
		"growing": {"{size: 900B, change: 100B, growth: 50B}", 900, 950},
	} {
		t.Run(name, func(t *testing.T) {
			s := &mongotest.Server{Version: "8.2.1"}
			v, _ := inspected(t, s, strings.Replace(text, "{size: 300B}", c.document, 1))
			before := len(marshal(t, s.Document(space, 5)))
			op := &lab.Op{Op: workload.Op{Kind: workload.Update, Key: 5, Size: units.Size(c.after), Document: units.Size(c.after)}, Seq: 3}

			if strings.Contains(c.document, "change") {
				op.Size = 100 + units.Size(c.after-c.whole)
			}

			if err := v.Do(t.Context(), 0, op); err != nil {
				t.Fatal(err)
			}

			if after := len(marshal(t, s.Document(space, 5))); before != c.whole || after != c.after {
				t.Errorf("%d bytes, and %d after an update; not %d and %d", before, after, c.whole, c.after)
			}

			do(t, v, workload.Push, 6, 4, 40, 340)
			with := len(marshal(t, s.Document(space, 6)))
			do(t, v, workload.Push, 6, 5, 40, 380)

			// The growth depends on the digits of the entry's index.
			if grew := len(marshal(t, s.Document(space, 6))) - with; grew < 36 || grew > 40 {
				t.Errorf("an entry of 40 bytes made it grow by %d", grew)
			}
		})
	}
}

func marshal(t *testing.T, d bson.D) []byte {
	t.Helper()
	b, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The write concern is the scenario's, whatever the address says.
func TestWriteConcern(t *testing.T) {
	var seen calls
	v, inspection := inspected(t, &mongotest.Server{Version: "8.2.1", Saw: seen.saw}, strings.Replace(text, "256MiB", "256MiB, journal_each_write: false", 1))
	do(t, v, workload.Update, 1, 2, 300, 300)
	c := seen.of("update")[0].Lookup("writeConcern").Document()
	if w, _ := c.Lookup("w").Int32OK(); w != 1 || c.Lookup("j").Boolean() {
		t.Errorf("%v", c)
	}
	if !strings.Contains(inspection.Notes[0], "{w: 1, j: false}") {
		t.Errorf("%q", inspection.Notes)
	}
}

// A user without the necessary privileges gets an error before anything is written.
func TestLeastPrivilege(t *testing.T) {
	sc := parse(t, text)
	may := func(db string, actions ...string) bson.A {
		list := bson.A{}
		for _, a := range actions {
			list = append(list, a)
		}
		return bson.A{bson.D{{Key: "resource", Value: bson.D{{Key: "db", Value: db}, {Key: "collection", Value: ""}}}, {Key: "actions", Value: list}}}
	}

	for name, c := range map[string]struct {
		privileges bson.A
		want       string
	}{
		"anything":      {bson.A{bson.D{{Key: "resource", Value: bson.D{{Key: "anyResource", Value: true}}}, {Key: "actions", Value: bson.A{"anyAction"}}}}, ""},
		"this database": {may("plimsoll_lab_test", "find", "insert", "update", "remove", "dropDatabase"), ""},
		"another":       {may("shop", "find", "insert", "update", "dropDatabase"), "the user may not find in database plimsoll_lab_test: the user needs readWrite and dbAdmin"},
		"no drop":       {may("", "find", "insert", "update"), "the user may not dropDatabase in database plimsoll_lab_test"},
		"nothing":       {bson.A{}, "the user may not find"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &mongotest.Server{Version: "8.2.1", Privileges: c.privileges}
			address, err := existing.Kinds{Addresses}.Parse("mongodb://"+serve(t, s)+"/?directConnection=true", func(string) string { return "" })
			if err != nil {
				t.Fatal(err)
			}

			v, err := NewExisting(*scenario.ConfigOf[*wiredtigermodel.Config](sc), existing.Options{Address: address, Name: "plimsoll_lab_test"})
			if err != nil {
				t.Fatal(err)
			}

			_, err = v.Inspect(t.Context(), sc)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, not %q", err, c.want)
			}

			if left := s.Spaces(); len(left) > 0 {
				t.Errorf("inspecting wrote %v", left)
			}
		})
	}
}

// A database with the run's name belongs to someone else and is kept.
func TestNameIsTaken(t *testing.T) {
	s := &mongotest.Server{Version: "8.2.1"}
	at := serve(t, s)
	sc := parse(t, text)

	address, err := existing.Kinds{Addresses}.Parse("mongodb://"+at+"/?directConnection=true", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}

	opt := existing.Options{Address: address, Name: "plimsoll_lab_test", Keep: true}
	first, err := NewExisting(*scenario.ConfigOf[*wiredtigermodel.Config](sc), opt)
	if err != nil {
		t.Fatal(err)
	}

	if err := first.Start(t.Context(), &lab.Machine{Scenario: sc}, nil); err != nil {
		t.Fatal(err)
	}

	if err := first.Stop(t.Context()); err != nil || s.Count(space) != 1500 {
		t.Errorf("kept: %d documents, %v", s.Count(space), err)
	}

	opt.Keep = false
	second, err := NewExisting(*scenario.ConfigOf[*wiredtigermodel.Config](sc), opt)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := second.Inspect(t.Context(), sc); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a name in use: %v", err)
	}

	if err := second.Stop(t.Context()); err != nil || s.Count(space) != 1500 {
		t.Errorf("a foreign database: %d documents are left, %v", s.Count(space), err)
	}
}

// page is a recording of one sample.
type page struct {
	values map[string]float64
	enough context.CancelFunc
}

func (p *page) Append(_ context.Context, b *recording.Batch) error {
	for _, c := range b.Columns {
		p.values[c.Labels.String()] = c.Values[0]
	}
	p.enough()
	return nil
}
func (*page) Source(recording.Source) {}
func (*page) Note(recording.Note)     {}

// The responses of a real mongod become series with the same names as those from diagnostic.data.
func TestStatistics(t *testing.T) {
	for file, wants := range map[string][]string{
		"v8.2.1/metrics.interim": {`{__name__="mongodb_ss_wt_cache_bytes_currently_in_the_cache"}`, `{__name__="mongodb_ss_opLatencies_latency", op_type="writes"}`,
			`{__name__="mongodb_ss_wt_checkpoint_most_recent_time_msecs"}`},
		"v3.6.3/metrics.interim.0c2fdde": {`{__name__="mongodb_ss_wt_txn_transaction_checkpoints"}`, `{__name__="mongodb_ss_connections", conn_type="current"}`},
	} {
		t.Run(file, func(t *testing.T) {
			v, _ := inspected(t, &mongotest.Server{Version: "8.2.1", Answers: captures(t, file)}, text)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p := &page{values: map[string]float64{}, enough: cancel}
			src := v.Sources()[0]

			if err := src.Read(ctx, p, source.Options{}); err != nil {
				t.Fatal(err)
			}

			if d := src.Describe(); d.Engine != "mongodb" || d.Version != "8.2.1" || d.Samples != 1 || len(p.values) < 300 {
				t.Errorf("%+v, %d series", d, len(p.values))
			}

			for _, series := range wants {
				if _, ok := p.values[series]; !ok {
					t.Errorf("there is no %s", series)
				}
			}
		})
	}
}
