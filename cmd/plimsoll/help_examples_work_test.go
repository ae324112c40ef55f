package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// exampleWork holds the inputs of examples: recordings of a small platform before and after its
// journal moved to another volume, a log, a plan, scenarios, servers.
type exampleWork struct {
	shared string // a folder that no example writes to
	env    []string
	// exporter is the address of a page of metrics, receiver that of a remote-write endpoint, and absent
	// an address that does not answer.
	exporter, receiver, absent string
	received                   *atomic.Int64
}

func newExampleWork(t *testing.T) *exampleWork {
	t.Helper()
	w := &exampleWork{shared: t.TempDir()}
	w.serve(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	write := func(name, text string) {
		t.Helper()
		must(os.WriteFile(filepath.Join(w.shared, name), []byte(text), 0o600))
	}

	must(os.CopyFS(filepath.Join(w.shared, "examples/scenarios"), os.DirFS("../../examples/scenarios")))
	must(os.CopyFS(filepath.Join(w.shared, "examples/lab"), os.DirFS("../../examples/lab")))

	for _, name := range []string{"lab-etcd.yaml", "lab-postgres.yaml", "lab-wiredtiger.yaml", "telemetry.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../examples/scenarios", name))
		must(err)
		write(name, string(text))
		if name == "telemetry.yaml" {
			write("my-scenario.yaml", string(text))
			// Two checkpoints are enough here: a plan simulates dozens of layouts.
			short := regexp.MustCompile(`(?m)^run: .*`).ReplaceAllString(string(text), "run: {duration: 45s, warmup: 15s}")
			if !strings.Contains(short, "checkpoint: 60s") {
				t.Fatal("the scenario has no checkpoint each 60 s")
			}
			short = strings.Replace(short, "checkpoint: 60s", "checkpoint: 20s", 1)
			write(name, short)
			write("examples/scenarios/telemetry.yaml", short)
		}
	}

	write("gp3.yaml", "type: gp3\nsize: 100GiB\niops: 3000\n")
	write("site.yaml", "members:\n  - {data: /nonexistent/db, volumes: {journal: /nonexistent/journal}, unit: mongod}\n")
	write("web.yml", "http_server_config: {http2: false}\n")
	write("iostat.log", cappedVolume(3, 15))

	for _, name := range []string{"db-1.prom", "db-2.prom"} {
		write(name, exporterPage(name))
	}

	for archive, names := range map[string][]string{"emit.txtar": {"mongo.yaml"}, "catalog_import.txtar": {"types.json", "prices.csv"}} {
		a, err := txtar.ParseFile(filepath.Join("testdata/script", archive))
		must(err)
		for _, f := range a.Files {
			for _, name := range names {
				if f.Name == name {
					write(name, string(f.Data))
				}
			}
		}
	}

	f, err := pack().Script("disk/iops-capped")
	must(err)
	script, err := io.ReadAll(f)
	must(err)
	must(f.Close())
	write("disk-iops-capped.test", string(script))
	w.programs(t)

	for _, line := range []string{
		"plimsoll simulate my-scenario.yaml --set run.duration=20min --out before",
		"plimsoll simulate my-scenario.yaml --seed 2 --set 'volumes.journal={type: gp3, size: 10GiB}' --out after",
		"plimsoll plan telemetry.yaml --objective 'write_p99 < 25ms' -o json > plan.json",
	} {
		if r := w.run(t, w.shared, line); r.code != exitFine {
			t.Fatalf("%s: exit code %d\n%s", line, r.code, r.stderr)
		}
	}

	for _, name := range []string{"incident", "diagnostic.data"} {
		must(os.CopyFS(filepath.Join(w.shared, name), os.DirFS(filepath.Join(w.shared, "before"))))
	}

	return w
}

// examplePrices is the output of the cloud's own program about prices: JSON within strings.
const (
	exampleRetail = `{"Items": [{"currencyCode": "USD", "retailPrice": 0.0001, "armRegionName": "westeurope", "meterName": "Premium LRS Provisioned Capacity",
  "productName": "Azure Premium SSD v2", "unitOfMeasure": "1 GiB/Hour", "type": "Consumption"}], "NextPageLink": null}`
	exampleSKUs = `{"skus": [{"description": "SSD backed PD Capacity in Frankfurt", "serviceRegions": ["europe-west3"], "pricingInfo": [{"pricingExpression":
  {"usageUnit": "GiBy.mo", "tieredRates": [{"unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 204000000}}]}}]}]}`
)

const examplePrices = `{"FormatVersion": "aws_v1", "PriceList": [
"{\"product\":{\"attributes\":{\"volumeApiName\":\"gp3\",\"regionCode\":\"eu-west-1\",\"usagetype\":\"EU-EBS:VolumeUsage.gp3\"}},\"terms\":{\"OnDemand\":{\"a\":{\"priceDimensions\":{\"b\":{\"unit\":\"GB-Mo\",\"pricePerUnit\":{\"USD\":\"0.088\"}}}}}}}"
]}`

// programs are stand-ins for other programs that examples call.
func (w *exampleWork) programs(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}

	types := filepath.Join(w.shared, "types.json")
	prices := filepath.Join(w.shared, "prices.json")
	write(w.shared, "prices.json", examplePrices)
	azure, google := filepath.Join(w.shared, "retail.json"), filepath.Join(w.shared, "skus.json")
	write(w.shared, "retail.json", exampleRetail)
	write(w.shared, "skus.json", exampleSKUs)
	write(bin, "curl", "#!/bin/sh\ncase $1 in *prices.azure.com*) exec cat '"+azure+"' ;; *googleapis.com*) exec cat '"+google+"' ;; esac\nexit 2\n")
	write(bin, "aws", "#!/bin/sh\ncase $1 in ec2) exec cat '"+types+"' ;; pricing) exec cat '"+prices+"' ;; esac\nexit 2\n")
	write(bin, "mongod", "#!/bin/sh\n")
	write(bin, "fio", "#!/bin/sh\n")
	w.env = append(os.Environ(), "TZ=UTC", "NO_COLOR=1", "LC_ALL=C.UTF-8", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// serve starts an exporter of an etcd's fsyncs, and a receiver of remote writes.
func (w *exampleWork) serve(t *testing.T) {
	t.Helper()
	var n atomic.Int64
	exporter := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		n := n.Add(1)
		fmt.Fprintf(rw, "# TYPE etcd_disk_wal_fsync_duration_seconds histogram\n")
		for _, le := range []string{"0.001", "0.01", "0.1", "+Inf"} {
			fmt.Fprintf(rw, "etcd_disk_wal_fsync_duration_seconds_bucket{le=%q} %d\n", le, 100*n)
		}
		fmt.Fprintf(rw, "etcd_disk_wal_fsync_duration_seconds_sum %f\netcd_disk_wal_fsync_duration_seconds_count %d\n", float64(n)/10, 100*n)
	}))

	t.Cleanup(exporter.Close)
	w.received = new(atomic.Int64)
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/api/v1/write" || req.Header.Get("Content-Encoding") != "snappy" {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		size, _ := io.Copy(io.Discard, req.Body)
		w.received.Add(size)
		rw.WriteHeader(http.StatusNoContent)
	}))

	t.Cleanup(receiver.Close)
	w.exporter, w.receiver, w.absent = exporter.URL+"/metrics", receiver.URL+"/api/v1/write", "http://127.0.0.1:1"
}

// fill links the missing parts of the shared work into a folder.
func (w *exampleWork) fill(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(w.shared)
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		if err := os.Symlink(filepath.Join(w.shared, e.Name()), filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"data", "mnt"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A ran is the result of a line.
type ran struct {
	code           int
	stdout, stderr string
	cpu            time.Duration // of all the processes it started
}

// stuckAfter ends a command that does not end by itself.
const stuckAfter = 5 * time.Minute

// run runs a line in a folder, as a shell does. A watch is stopped, as by systemd, once it has a
// diagnosis.
func (w *exampleWork) run(t *testing.T, dir, line string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stuckAfter)
	defer cancel()
	var stdout, stderr safeBuffer

	watches := strings.HasPrefix(line, "plimsoll watch")
	if watches {
		line = "exec " + line // signals go to it, not to the shell
	}

	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.WaitDelay, cmd.Stdout, cmd.Stderr = dir, time.Second, &stdout, &stderr
	cmd.Env = append(w.env, "HOME="+dir, "PLIMSOLL_CATALOG="+filepath.Join(dir, "catalog.json"))

	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", line, err)
	}

	ended := make(chan struct{})
	var ending sync.WaitGroup
	if watches {
		ending.Go(func() {
			if diagnosed(&stderr, ended) {
				_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			}
		})
	}

	err := cmd.Wait()
	close(ended)
	ending.Wait()

	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", line, err)
	}

	p := cmd.ProcessState
	return ran{code: p.ExitCode(), stdout: stdout.String(), stderr: stderr.String(), cpu: p.UserTime() + p.SystemTime()}
}

// diagnosed waits until a watch, which prints its address on stderr, has a diagnosis. It returns false
// if the watch ends first.
func diagnosed(stderr *safeBuffer, ended <-chan struct{}) bool {
	for {
		select {
		case <-ended:
			return false
		case <-time.After(50 * time.Millisecond):
		}
		at := listening.FindStringSubmatch(strings.ReplaceAll(stderr.String(), `"address":"`, "address="))
		if at == nil {
			continue
		}
		if status, _, err := fetch("http://" + at[1] + "/-/ready"); err == nil && status == http.StatusOK {
			return true
		}
	}
}

// A safeBuffer can be read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// exporterPage returns a minute of a mongod's page, scraped every second.
func exporterPage(instance string) string {
	var b strings.Builder
	for k := range 60 {
		fmt.Fprintf(&b, "# scraped %d\n", time.Date(2026, 1, 1, 0, 0, k, 0, time.UTC).UnixMilli())
		fmt.Fprintf(&b, "mongodb_ss_opLatencies_ops{instance=%q,op_type=\"writes\"} %d\n", instance, 100*k)
		fmt.Fprintf(&b, "mongodb_ss_opLatencies_latency{instance=%q,op_type=\"writes\"} %d\n", instance, 200_000*k)
	}
	return b.String()
}
