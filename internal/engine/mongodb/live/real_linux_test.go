package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// These tests run against a real mongod, the one that PLIMSOLL_MONGOD names.
const envMongod = "PLIMSOLL_MONGOD"

// realPatience is how long a busy machine may take to start a mongod or elect a primary.
const realPatience = 2 * time.Minute

// A mongod is a real server in a test.
type mongod struct {
	t    *testing.T
	path string
	dir  string
	port string
	args []string
	cmd  *exec.Cmd
}

// startMongod starts a member of a replica set that is not yet initiated.
func startMongod(t *testing.T, args ...string) *mongod {
	t.Helper()
	path := os.Getenv(envMongod)
	if path == "" {
		t.Skip(envMongod + " names no mongod")
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	m := &mongod{t: t, path: path, dir: t.TempDir(), port: port, args: args}
	m.start()
	t.Cleanup(func() { m.end(syscall.SIGKILL) })

	return m
}

func (m *mongod) start(more ...string) {
	m.t.Helper()
	args := append([]string{"--dbpath", m.dir, "--port", m.port, "--bind_ip", "127.0.0.1", "--nounixsocket", "--replSet", "rs0",
		"--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "50", "--logpath", filepath.Join(m.dir, "log"), "--logappend"}, m.args...)
	m.cmd = exec.Command(m.path, append(args, more...)...) //nolint:gosec,noctx // the test's own server, ended by end
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
}

// end sends a signal and waits until the server is gone.
func (m *mongod) end(signal os.Signal) {
	if m.cmd.ProcessState != nil {
		return
	}
	_ = m.cmd.Process.Signal(signal)
	_ = m.cmd.Wait() // the signal ends it
}

func (m *mongod) address() string { return "127.0.0.1:" + m.port }

// client connects to this server alone.
func (m *mongod) client() *mongo.Client {
	m.t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + m.address() + "/?directConnection=true").SetServerSelectionTimeout(realPatience))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Disconnect(context.Background()) })
	return c
}

// run runs a command on the admin database until it succeeds.
func run(t *testing.T, c *mongo.Client, command bson.D) bson.Raw {
	t.Helper()
	for end := time.Now().Add(realPatience); ; time.Sleep(200 * time.Millisecond) {
		answer, err := c.Database("admin").RunCommand(t.Context(), command).Raw()
		switch {
		case err == nil:
			return answer
		case time.Now().After(end):
			t.Fatalf("%v: %v", command[0], err)
		}
	}
}

// initiate makes a replica set of some servers and waits until the first is primary.
func initiate(t *testing.T, servers ...*mongod) *mongo.Client {
	t.Helper()
	var members bson.A
	for i, m := range servers {
		priority := 0
		if i == 0 {
			priority = 1
		}
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: m.address()}, {Key: "priority", Value: priority}})
	}
	c := servers[0].client()
	run(t, c, bson.D{{Key: "replSetInitiate", Value: bson.D{{Key: "_id", Value: "rs0"}, {Key: "members", Value: members}}}})
	primary(t, c)
	return c
}

// primary waits until a server accepts writes.
func primary(t *testing.T, c *mongo.Client) {
	t.Helper()
	for end := time.Now().Add(realPatience); ; time.Sleep(200 * time.Millisecond) {
		if is, _ := run(t, c, bson.D{{Key: "hello", Value: 1}}).Lookup("isWritablePrimary").BooleanOK(); is {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no primary")
		}
	}
}

// openReal opens an address of a real server.
func openReal(t *testing.T, address string) source.Source {
	t.Helper()
	src, err := Open(t.Context(), address, Options{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// points returns the samples of a metric that has exactly one series.
func points(t *testing.T, m *recording.Memory, metric string) []promql.FPoint {
	t.Helper()
	series, err := m.Samples(t.Context(), recording.MustSelector(metric), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(series) != 1 {
		return nil
	}
	return series[0].Points
}

// A user with clusterMonitor sees everything. The error for a user without roles names the role it
// needs, and a wrong password is reported as such (with SCRAM-SHA-256 and the older SCRAM-SHA-1).
func TestRealLeastPrivilege(t *testing.T) {
	m := startMongod(t)
	c := initiate(t, m)
	for user, roles := range map[string]bson.A{"monitor": {"clusterMonitor"}, "nobody": {}, "status": {"only"}} {
		if user == "status" {
			run(t, c, bson.D{{Key: "createRole", Value: "only"}, {Key: "roles", Value: bson.A{}}, {Key: "privileges", Value: bson.A{
				bson.D{{Key: "resource", Value: bson.D{{Key: "cluster", Value: true}}}, {Key: "actions", Value: bson.A{"serverStatus"}}},
			}}})
		}
		run(t, c, bson.D{{Key: "createUser", Value: user}, {Key: "pwd", Value: "s3cret"}, {Key: "roles", Value: roles}})
	}

	m.end(syscall.SIGTERM)
	key := filepath.Join(m.dir, "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("key", 20)), 0o600); err != nil {
		t.Fatal(err)
	}

	m.start("--auth", "--keyFile", key)
	primary(t, m.client())

	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-1"} {
		seen := read(t, openReal(t, "mongodb://monitor:s3cret@"+m.address()+"/?authMechanism="+mechanism), source.Options{For: 4 * time.Second})
		metrics, err := seen.Metrics(t.Context())
		if err != nil || len(metrics) < 500 || notes(seen) != "" {
			t.Errorf("%s: %d metrics, %v, notes:\n%s", mechanism, len(metrics), err, notes(seen))
		}
		t.Logf("%s: %d metrics of %s", mechanism, len(metrics), seen.Sources()[0].Version)
	}

	seen := read(t, openReal(t, "mongodb://status:s3cret@"+m.address()), source.Options{For: 4 * time.Second})
	if n := notes(seen); !strings.Contains(n, "the role clusterMonitor grants it") || len(points(t, seen, "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache")) < 2 {
		t.Errorf("with serverStatus alone:\n%s", n)
	}

	for user, want := range map[string]string{
		"nobody:s3cret@": "grant it the role clusterMonitor", "monitor:wrong@": "rejects the user or password", "": "requires authentication",
	} {
		if _, err := Open(t.Context(), "mongodb://"+user+m.address(), Options{Getenv: func(string) string { return "" }}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", user, err)
		}
	}
}

// The states of a set's members are recorded: a killed member is down (8).
func TestRealMembers(t *testing.T) {
	first, second, third := startMongod(t), startMongod(t), startMongod(t)
	c := initiate(t, first, second, third)
	settled(t, c, 1, "SECONDARY")
	settled(t, c, 2, "SECONDARY")
	src := openReal(t, "mongodb://"+first.address()+","+second.address()+"/?replicaSet=rs0")

	seen := read(t, src, source.Options{For: 3 * time.Second})
	for i, want := range []float64{1, 2, 2} {
		p := points(t, seen, fmt.Sprintf(`mongodb_rs_members_state{member_idx="%d"}`, i))
		if len(p) == 0 || p[len(p)-1].F != want {
			t.Errorf("member %d: %v, not %v; notes:\n%s", i, p, want, notes(seen))
		}
	}

	third.end(syscall.SIGKILL)
	settled(t, c, 2, "(not reachable/healthy)")
	seen = read(t, src, source.Options{For: 3 * time.Second})

	if p := points(t, seen, `mongodb_rs_members_state{member_idx="2"}`); len(p) == 0 || p[len(p)-1].F != 8 {
		t.Errorf("a member that was killed: %v", p)
	}

	second.end(syscall.SIGKILL) // the majority
	for end := time.Now().Add(realPatience); ; time.Sleep(time.Second) {
		if _, err := Open(t.Context(), "mongodb://"+first.address()+","+second.address()+"/?replicaSet=rs0", Options{}); err != nil {
			if !strings.Contains(err.Error(), "currently has no primary") {
				t.Error(err)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("a primary without a majority")
		}
	}

	openReal(t, "mongodb://"+first.address()) // one member alone can be read
}

// settled waits until a member is in a state.
func settled(t *testing.T, c *mongo.Client, member int, want string) {
	t.Helper()
	for end := time.Now().Add(realPatience); ; time.Sleep(200 * time.Millisecond) {
		state, _ := run(t, c, bson.D{{Key: "replSetGetStatus", Value: 1}}).Lookup("members", strconv.Itoa(member), "stateStr").StringValueOK()
		if state == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("member %d is %s, not %s", member, state, want)
		}
	}
}

// While it is read, a server is stopped for a while (SIGSTOP), killed and restarted, and shut down
// and restarted. Reading resumes after each, with a note of what happened.
func TestRealInterrupted(t *testing.T) {
	m := startMongod(t)
	c := initiate(t, m)
	src := openReal(t, "mongodb://"+m.address())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := recording.NewMemory(recording.MemoryOptions{})
	ended := make(chan error, 1)
	go func() { ended <- src.Read(ctx, seen, source.Options{For: time.Hour}) }()
	const metric = "mongodb_ss_uptime"

	// after returns once samples have arrived that are later than now.
	after := func(what string) time.Time {
		t.Helper()
		since := time.Now()
		for end := since.Add(realPatience); ; time.Sleep(100 * time.Millisecond) {
			if p := points(t, seen, metric); len(p) > 1 && p[len(p)-2].T > since.UnixMilli() {
				return since
			}
			select {
			case err := <-ended:
				t.Fatalf("%s: reading ended: %v", what, err)
			default:
			}
			if time.Now().After(end) {
				t.Fatalf("%s: no samples since %s; notes:\n%s", what, since, notes(seen))
			}
		}
	}

	after("at first")
	if err := m.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	time.Sleep(5 * time.Second)
	if err := m.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}

	after("SIGSTOP")
	if n := notes(seen); strings.Contains(n, "restarted") {
		t.Errorf("a stopped server is not a restarted one:\n%s", n)
	}

	longest := time.Duration(0)
	for p, i := points(t, seen, metric), 1; i < len(p); i++ {
		longest = max(longest, time.Duration(p[i].T-p[i-1].T)*time.Millisecond)
	}

	if longest < 4*time.Second {
		t.Errorf("no gap of five seconds: the longest interval is %s", longest)
	}

	for i, signal := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		m.end(signal)
		time.Sleep(2 * time.Second)
		m.start()
		primary(t, c)
		after(signal.String())
		if n := strings.Count(notes(seen), "the server restarted in between"); n != i+1 {
			t.Errorf("%s: %d restarts noted, not %d:\n%s", signal, n, i+1, notes(seen))
		}
	}

	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	t.Logf("the longest interval at SIGSTOP: %s; notes:\n%s", longest, notes(seen))
}

// What sampling costs the server, in CPU.
func TestRealCost(t *testing.T) {
	m := startMongod(t)
	initiate(t, m)
	src := openReal(t, "mongodb://"+m.address())
	const period = 15 * time.Second
	time.Sleep(2 * time.Second)
	before := m.cpu()
	time.Sleep(period)
	idle := m.cpu() - before
	before = m.cpu()
	seen := read(t, src, source.Options{For: period})
	sampled := m.cpu() - before
	n := len(points(t, seen, "mongodb_ss_uptime"))
	each := (sampled - idle) / time.Duration(max(n, 1))
	t.Logf("%d samples: %s of the server's CPU each (%s in %s without, %s with)", n, each, idle, period, sampled)

	if n < 5 || each > 50*time.Millisecond {
		t.Errorf("%d samples cost %s each", n, each)
	}
}

// cpu returns the CPU time that the server has used.
func (m *mongod) cpu() time.Duration {
	m.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
	if err != nil {
		m.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest) // from the third on: proc_pid_stat(5)
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err, err2); err != nil {
		m.t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100
}
