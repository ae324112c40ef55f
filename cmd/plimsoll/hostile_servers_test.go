//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/check/hostile"
	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/engine/mongodb/mongotest"
)

// A protocol is one of the program's clients, and a server that it understands.
type protocol struct {
	// start starts the server and returns its host and port.
	start func(t *testing.T) string
	// args returns the command that talks to a server at an address, and env its environment.
	args func(t *testing.T, address string) []string
	env  func(address string) []string
}

// protocols has a row for each client. A new one only needs a server whose answers can be damaged.
var protocols = map[string]protocol{
	"exposition": {start: serves(metricsPage()), args: reads("diagnose", "http://%s/metrics", "--for", "1s")},
	"Prometheus": {start: serves(http.HandlerFunc(answerAsPrometheus)), args: reads("diagnose", "http://%s", "--from", "2026-09-21T14:13:20Z", "--to", "2026-09-21T14:23:20Z")},
	"remote write": {start: serves(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})), args: func(t *testing.T, address string) []string {
		return []string{"record", pageFile(t), "--remote-write", "http://" + address + "/write"}
	}},
	"PostgreSQL": {start: startPostgres, args: reads("record", "postgres://monitor:m-s3cret@%s/postgres", "--for", "1s", "--out", "kept")},
	"MongoDB":    {start: startMongoDB, args: reads("record", "mongodb://me:s3cret@%s", "--for", "1s", "--out", "kept")},
	"etcd":       {start: startEtcd, args: reads("record", "etcd://%s", "--for", "1s", "--out", "kept")},
	"AWS": {start: serves(http.HandlerFunc(answerAsAWS)), args: reads("diagnose", "aws://vol-0123456789abcdef0"),
		env: func(address string) []string {
			return []string{"AWS_ENDPOINT_URL=http://" + address, "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
				"AWS_SECRET_ACCESS_KEY=s3cret", "AWS_EC2_METADATA_DISABLED=true"}
		}},
	"Kubernetes": {start: serves(http.HandlerFunc(answerAsKubernetes)), args: func(t *testing.T, address string) []string {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {token: t}}]\n"+
			"contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n", "http://"+address)
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"discover", "k8s://db/mongo", "--kubeconfig", file}
	}},
}

func reads(args ...string) func(*testing.T, string) []string {
	return func(_ *testing.T, address string) []string {
		out := make([]string, len(args))
		for i, a := range args {
			out[i] = strings.ReplaceAll(a, "%s", address)
		}
		return out
	}
}

func serves(h http.Handler) func(t *testing.T) string {
	return func(t *testing.T) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
}

func pageFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.prom")
	var page strings.Builder
	page.WriteString("# TYPE pg_stat_database_xact_commit counter\n")
	for k := range 60 {
		fmt.Fprintf(&page, "pg_stat_database_xact_commit{datname=\"shop\"} %d %d\n", k*100, 1_790_000_000_000+k*1000)
	}
	if err := os.WriteFile(file, []byte(page.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// answerAsPrometheus has one counter of an exporter, sampled every 15 s for ten minutes.
func answerAsPrometheus(w http.ResponseWriter, r *http.Request) {
	const from, step, n = 1790000000, 15, 40
	_ = r.ParseForm()
	metric := `{"__name__":"node_disk_writes_completed_total","device":"nvme0n1","instance":"db-1:9100","job":"node"}`
	data := ""
	switch {
	case strings.HasSuffix(r.URL.Path, "/values"):
		data = `["node_disk_writes_completed_total"]`
	case strings.HasSuffix(r.URL.Path, "/series"):
		data = "[" + metric + "]"
	case strings.HasSuffix(r.URL.Path, "/query_range"), strings.Contains(r.Form.Get("query"), "["):
		var values []string
		for k := range n {
			values = append(values, fmt.Sprintf(`[%d,"%d"]`, from+k*step, k*1000))
		}
		data = `{"resultType":"matrix","result":[{"metric":` + metric + `,"values":[` + strings.Join(values, ",") + `]}]}`
	case r.Form.Get("query") == "1" || strings.HasPrefix(r.Form.Get("query"), "time"):
		data = `{"resultType":"scalar","result":[1790000000,"1"]}`
	default:
		data = fmt.Sprintf(`{"resultType":"vector","result":[{"metric":%s,"value":[%d,"%d"]}]}`, metric, from+n*step, n*1000)
	}

	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"status":"success","data":`+data+`}`)
}

// answerAsKubernetes has a StatefulSet with one pod and one volume.
func answerAsKubernetes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	template := `"metadata":{"labels":{"app":"mongo"}},"spec":{"nodeName":"n","containers":[{"name":"mongod","image":"mongo:7","args":["--wiredTigerCacheSizeGB","1"],` +
		`"resources":{"limits":{"cpu":"2","memory":"4Gi"}},"volumeMounts":[{"name":"data","mountPath":"/data/db"}]}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-mongo-0"}}]}`
	set := `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"mongo","namespace":"db","uid":"u"},"spec":{"replicas":1,"serviceName":"mongo","selector":{"matchLabels":{"app":"mongo"}},"template":{` +
		template + `},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"storageClassName":"gp3","resources":{"requests":{"storage":"100Gi"}}}}]}}`

	text := ""
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/statefulsets/mongo"):
		text = set
	case strings.HasSuffix(path, "/statefulsets"):
		text = `{"items":[` + set + `]}`
	case strings.HasSuffix(path, "/pods/mongo-0"):
		text = `{"apiVersion":"v1","kind":"Pod",` + strings.Replace(template, `{"labels"`, `{"name":"mongo-0","namespace":"db","labels"`, 1) + `,"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	case strings.HasSuffix(path, "/persistentvolumeclaims/data-mongo-0"):
		text = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data-mongo-0","namespace":"db"},"spec":{"storageClassName":"gp3","volumeName":"pv","resources":{"requests":{"storage":"100Gi"}}},"status":{"phase":"Bound","capacity":{"storage":"100Gi"}}}`
	case strings.HasSuffix(path, "/persistentvolumes/pv"):
		text = `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{"capacity":{"storage":"100Gi"},"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-0123456789abcdef0"}}}`
	case strings.HasSuffix(path, "/storageclasses/gp3"):
		text = `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"gp3"},"provisioner":"ebs.csi.aws.com","parameters":{"type":"gp3","iops":"6000"}}`
	default:
		w.WriteHeader(http.StatusNotFound)
		text = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`
	}
	_, _ = io.WriteString(w, text)
}

func startPostgres(t *testing.T) string {
	s := realPostgres(t, "")
	if _, err := s.Exec("CREATE USER monitor PASSWORD 'm-s3cret' IN ROLE pg_monitor"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.Address("monitor", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func startMongoDB(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	status, err := bson.Marshal(bson.D{{Key: "ok", Value: 1.0}, {Key: "host", Value: "db-1"}, {Key: "version", Value: "8.0.0"}, {Key: "process", Value: "mongod"},
		{Key: "uptimeMillis", Value: int64(7_000_000)}, {Key: "localTime", Value: time.Now()}, {Key: "storageEngine", Value: bson.D{{Key: "name", Value: "wiredTiger"}}},
		{Key: "wiredTiger", Value: bson.D{{Key: "log", Value: bson.D{{Key: "log sync operations", Value: int64(100)}}}}}, {Key: "opLatencies", Value: bson.D{}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &mongotest.Server{Version: "8.0.0", User: "me", Password: "s3cret", Clock: time.Now, Answers: []bson.Raw{status}}
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func startEtcd(t *testing.T) string {
	if err := etcdtest.Available(); err != nil {
		t.Skip(err)
	}
	return etcdtest.Run(t, 1, false).Endpoints[0]
}

// TestHostileServers puts each client behind a man in the middle, in a conversation with a server that
// it understands. Whatever is sent, the program ends in time with an exit code and a message, within
// its memory limit.
func TestHostileServers(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := hostile.Rand(t)
			server := p.start(t)

			// The undamaged conversation works; otherwise the attacks would test nothing.
			if o := p.run(t, server); o.code != exitFine {
				t.Fatalf("undisturbed, it ends with %d: %s", o.code, o.text)
			}

			attack(t, p, server, r)
		})
	}
}

// attack tries plans for a server, several at a time, because most of them mainly wait.
func attack(t *testing.T, p protocol, server string, r *rand.Rand) {
	t.Helper()
	const together = 6
	tries := hostile.Tries(4, hostile.ProcessTries)
	first := r.IntN(int(hostile.Behaviours))

	var mu sync.Mutex
	var most outcome
	var wait sync.WaitGroup
	slots := make(chan struct{}, together)
	for n := range tries {
		plan := hostile.Plan{Behaviour: hostile.Behaviour((first + n) % int(hostile.Behaviours)), After: int64(r.IntN(1 << r.IntN(17))), Seed: r.Uint64()}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			o := p.run(t, hostile.Middle(t, server, plan))
			if why := o.wrong(); why != "" {
				t.Errorf("one who %s after %d bytes (seed %d): %s: exit code %d in %s with %d MB: %.2000s", plan.Behaviour, plan.After, plan.Seed, why,
					o.code, o.took, o.peak>>20, o.text)
			}

			mu.Lock()
			defer mu.Unlock()
			most.took, most.peak = max(most.took, o.took), max(most.peak, o.peak)
		})
	}

	wait.Wait()
	t.Logf("%d tries, at most %d MB and %s", tries, most.peak>>20, most.took)
}

// An outcome is how a run of the program ended.
type outcome struct {
	code   int
	text   string // of stdout and stderr
	errors string // of stderr
	took   time.Duration
	peak   int64 // bytes of resident memory
}

// crashed matches what only a crash prints.
var crashed = regexp.MustCompile(`(?m)^(panic|fatal error|runtime error): |^goroutine \d+ `)

// wrong describes a failure that no input and no server may cause; "" if there is none.
func (o *outcome) wrong() string {
	switch {
	case crashed.MatchString(o.text):
		return "it crashed"
	case hostile.Internal(o.errors) != "":
		return "a message says " + hostile.Internal(o.errors)
	case o.took >= hostile.Within:
		return "it does not end"
	case o.peak > hostile.MemoryMax:
		return "too much memory"
	case o.code != exitFine && strings.TrimSpace(o.text) == "":
		return "it fails without a message"
	case o.code != exitFine && o.code != exitFailure && o.code != exitUsage && o.code != exitFindings:
		return "an unknown exit code"
	}
	return ""
}

func (p *protocol) run(t *testing.T, address string) *outcome {
	t.Helper()
	var env []string
	if p.env != nil {
		env = p.env(address)
	}
	return tried(t, env, nil, p.args(t, address)...)
}

// tried runs the program in a new folder, for a minute at most.
func tried(t *testing.T, env []string, stdin io.Reader, args ...string) *outcome {
	t.Helper()
	return triedAs(t, env, stdin, "plimsoll", args...)
}

func triedAs(t *testing.T, env []string, stdin io.Reader, program string, args ...string) *outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hostile.Within)
	defer cancel()

	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	cmd.WaitDelay = time.Second

	began := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Error(err)
		return &outcome{text: err.Error()}
	}

	o := &outcome{code: cmd.ProcessState.ExitCode(), text: out.String() + errs.String(), errors: errs.String(), took: time.Since(began)}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		o.peak = usage.Maxrss << 10
	}
	return o
}
