//go:build linux

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/lab/process"
	"plimsoll/internal/record/httpclient"
)

// startWithin is how long a member may take to start. After a crash it reads its whole log from the
// volume.
const startWithin = 5 * time.Minute

// lay determines the members' folders and ports, and makes the user the owner of the folders.
func lay(m *lab.Machine, count int, user *process.User) ([]place, error) {
	out := make([]place, count)
	for k := range out {
		p := &out[k]
		p.name = fmt.Sprintf("m%d", k+1)
		data, wal := m.Dir(p.name+"/data", "data"), m.Dir(p.name+"/wal", "wal")
		if data == "" {
			return nil, fmt.Errorf("member %d of etcd has no volume: add one named data to the scenario", k+1)
		}

		p.data = filepath.Join(data, "etcd-"+p.name)
		owned := []string{p.data}
		if wal != "" && wal != data {
			// etcd creates the log's folder itself by renaming a sibling, so it must own the
			// parent.
			above := filepath.Join(wal, "etcd-"+p.name)
			p.wal = filepath.Join(above, "wal")
			owned = append(owned, above)
		}

		// The members run as an unprivileged user, which must own its folders and be able to reach them.
		for _, dir := range owned {
			if err := user.Own(dir); err != nil {
				return nil, err
			}
			if err := user.Admit(dir); err != nil {
				return nil, err
			}
		}
	}

	// A member listens on two ports: for clients and for its peers.
	ports, err := freePorts(2 * count)
	if err != nil {
		return nil, err
	}

	for k := range out {
		out[k].client, out[k].peer = ports[2*k], ports[2*k+1]
	}

	return out, nil
}

// Candidate ports are below the range for outgoing connections (32768 and up by default,
// ip_local_port_range), because a member that restarts must find its own port free.
const (
	portFirst = 20_000
	portLast  = 32_000
)

// freePorts finds free ports on the loopback. The first candidate depends on the process id, so
// that concurrent runs rarely compete.
func freePorts(n int) ([]int, error) {
	var out []int
	span := portLast - portFirst

	from := os.Getpid() * 37 % span
	for i := 0; i < span && len(out) < n; i++ {
		port := portFirst + (from+i)%span
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		defer l.Close() // hold all until all are found
		out = append(out, port)
	}

	if len(out) < n {
		return nil, fmt.Errorf("cannot find %d free ports between %d and %d on 127.0.0.1", n,
			portFirst, portLast)
	}

	return out, nil
}

// healthy waits until a member reports that it has a leader.
func healthy(ctx context.Context, p *place, proc *process.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	client := httpclient.New(httpclient.Options{Base: httpclient.Direct(nil),
		Most: httpclient.Bounds{Bytes: healthBytesMax}})
	client.Timeout = 10 * time.Second
	err := proc.Await(ctx, 20*time.Millisecond, "member "+p.name+" does not serve",
		func(ctx context.Context) error { return health(ctx, client, "http://"+address(p.client)+"/health") })
	if err != nil && proc.Err() != nil {
		return fmt.Errorf("member %s: %w", p.name, err)
	}
	return err
}

// healthBytesMax bounds a member's health report: {"health":"true"}.
const healthBytesMax = 4096

func health(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}

	resp, err := client.Do(req)
	if err != nil {
		return err
	}

	defer resp.Body.Close()
	var answer struct {
		Health string `json:"health"`
		Reason string `json:"reason"`
	}

	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Health != "true" {
		return fmt.Errorf("its health is %q %s", answer.Health, answer.Reason)
	}

	return nil
}
