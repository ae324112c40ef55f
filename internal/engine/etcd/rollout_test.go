//go:build linux

package etcd_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/advise/rollout/rollouttest"
	"plimsoll/internal/engine/etcd"
)

func TestMain(m *testing.M) { os.Exit(rollouttest.Main(m, &etcd.Engine)) }

// plan moves the WAL of three members to separate volumes.
const plan = `{"version": 1, "scenario": {"file": "etcd.yaml", "text": "plimsoll: 1\nname: etcd\nhost: {cores: 4, memory: 8GiB}\nvolumes: {data: {type: gp3, size: 20GiB}}\nengine: {etcd: {members: 3}}\nworkload: {preset: etcd-check-perf-s}\n"},
 "chosen": {"sets": ["volumes.wal={type: gp3, size: 10GiB}"]}}`

// The WALs of a cluster of three are moved, member by member, while a client puts keys. The rollout is
// killed at each step, and is then resumed or undone. No acknowledged key is lost.
func TestRolloutKilled(t *testing.T) {
	binary, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("etcd is not installed: apt-get install etcd-server")
	}

	dir, err := os.MkdirTemp("", "etcd-rollout")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const members = 3

	var ports []string
	for range 2 * members {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().String())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}

	var initial []string
	for k := range members {
		initial = append(initial, fmt.Sprintf("m%d=http://%s", k+1, ports[2*k+1]))
	}

	on, real := rollouttest.Volume(t, dir, "data", "ext4")
	c := &rollouttest.Case{Dir: dir, Plan: plan, Configures: true, Seed: rand.Uint64()}
	w := &writer{}

	site := "members:\n"
	for k := range members {
		name := fmt.Sprintf("m%d", k+1)
		data, pid, config := filepath.Join(on, name), filepath.Join(dir, name+".pid"), filepath.Join(dir, name+".env")
		wal, _ := rollouttest.Volume(t, dir, name+"-wal", []string{"xfs", "ext4"}[k%2])
		env := "ETCD_NAME=" + name + "\nETCD_DATA_DIR=" + data + "\nETCD_LISTEN_CLIENT_URLS=http://" + ports[2*k] + "\nETCD_ADVERTISE_CLIENT_URLS=http://" + ports[2*k] +
			"\nETCD_LISTEN_PEER_URLS=http://" + ports[2*k+1] + "\nETCD_INITIAL_ADVERTISE_PEER_URLS=http://" + ports[2*k+1] +
			"\nETCD_INITIAL_CLUSTER=" + strings.Join(initial, ",") + "\nETCD_LOG_LEVEL=error\n"

		if err := os.WriteFile(config, []byte(env), 0o600); err != nil {
			t.Fatal(err)
		}

		start, stop := filepath.Join(dir, name+"-start.sh"), filepath.Join(dir, name+"-stop.sh")
		for path, text := range map[string]string{
			start: fmt.Sprintf("set -a; . %s; set +a\nsetsid %s < /dev/null > %s/%s.log 2>&1 &\necho $! > %s\n", config, binary, dir, name, pid),
			stop:  fmt.Sprintf("kill $(cat %s)\n", pid),
		} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		if out, err := exec.Command("sh", start).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}

		t.Cleanup(func() {
			_ = exec.Command("sh", stop).Run()
			_ = rollouttest.Unused(data)
		})

		site += fmt.Sprintf("  - {name: %s, data: %s, volumes: {wal: %s}, start: 'sh %s', stop: 'sh %s', address: 'http://%s', config: %s, patience: 60s}\n",
			name, data, wal, start, stop, ports[2*k], config)
		c.Members = append(c.Members, name)
		c.Logs = append(c.Logs, filepath.Join(data, "member", "wal"))
		w.endpoints = append(w.endpoints, "http://"+ports[2*k])
	}

	c.Site = site + fmt.Sprintf("trial: %v\n", !real)
	c.Check = w.check
	w.begin(t)
	c.Kill(t)
}

// A writer puts keys and remembers which were acknowledged.
type writer struct {
	endpoints []string

	mu    sync.Mutex
	acked []int
}

func (w *writer) call(ctx context.Context, endpoint, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}

	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}

	return answer, err
}

func key(id int) string { return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "k%08d", id)) }

// begin writes until the test ends, through whichever member answers. It returns when each member has
// acknowledged a key, because two of three acknowledge before the third has created its directory.
func (w *writer) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	there := make(chan struct{})
	answered := map[string]bool{}
	all.Go(func() {
		for id := 0; ctx.Err() == nil; id++ {
			endpoint := w.endpoints[id%len(w.endpoints)]
			value := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{'x'}, 1000))
			if _, err := w.call(ctx, endpoint, "/v3/kv/put", map[string]string{"key": key(id), "value": value}); err != nil {
				time.Sleep(10 * time.Millisecond) // the member is stopped
				continue
			}

			w.mu.Lock()
			w.acked = append(w.acked, id)
			w.mu.Unlock()

			if !answered[endpoint] {
				if answered[endpoint] = true; len(answered) == len(w.endpoints) {
					close(there)
				}
			}
		}
	})

	select {
	case <-there:
	case <-time.After(2 * time.Minute):
		t.Fatal("not every member acknowledged a key")
	}
}

// check reads from each member separately every key that was acknowledged before the call.
func (w *writer) check() (int, error) {
	w.mu.Lock()
	acked := append([]int{}, w.acked...)
	w.mu.Unlock()

	for _, e := range w.endpoints {
		there := map[string]bool{}
		from := key(0)
		for {
			text, err := w.call(context.Background(), e, "/v3/kv/range", map[string]any{"key": from, "range_end": base64.StdEncoding.EncodeToString([]byte("l")), "keys_only": true, "limit": "10000"})
			if err != nil {
				return 0, err
			}

			var page struct {
				KVs  []struct{ Key string } `json:"kvs"`
				More bool                   `json:"more"`
			}

			if err := json.Unmarshal(text, &page); err != nil {
				return 0, err
			}

			for _, kv := range page.KVs {
				there[kv.Key], from = true, kv.Key
			}

			if !page.More {
				break
			}
		}

		var lost []string
		for _, id := range acked {
			if !there[key(id)] {
				lost = append(lost, strconv.Itoa(id))
			}
		}

		if len(lost) > 0 {
			return 0, fmt.Errorf("%d acknowledged keys are lost at %s: %s", len(lost), e, strings.Join(lost, ", "))
		}
	}

	return len(acked), nil
}
