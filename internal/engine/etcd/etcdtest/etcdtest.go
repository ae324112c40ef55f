// Package etcdtest starts real etcd clusters for tests: members on ports of this machine, with or
// without TLS.
//
// Some behaviour of a live source can only be tested against a real cluster: finding members
// through one of them, a member that dies, certificates that do not match. Such tests skip if
// [ErrMissing] reports that etcd is not installed.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"plimsoll/internal/lab/process"
)

// ErrMissing reports that etcd is not installed.
var ErrMissing = errors.New("etcd is not installed: apt-get install etcd-server")

const patience = time.Minute

// A Cluster is a set of running members.
type Cluster struct {
	Files     *Files // of TLS; nil: none
	Endpoints []string
	Metrics   []string // addresses of metrics alone, without TLS
	procs     []*process.Process
}

// Available returns the reason why no cluster can be started here; nil if one can.
func Available() error {
	if _, err := exec.LookPath("etcd"); err != nil {
		return ErrMissing
	}
	return nil
}

// Run starts a cluster for a test and stops it when the test ends. It skips the test if etcd is not
// installed.
func Run(t testing.TB, members int, sealed bool, flags ...string) *Cluster {
	t.Helper()
	c, err := Start(t.TempDir(), members, sealed, flags...)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Start starts a cluster in a folder, with certificates for servers and clients if sealed. Other
// programs may take free ports before the members listen; Start then tries other ports. flags are
// additional flags for etcd.
func Start(dir string, members int, sealed bool, flags ...string) (*Cluster, error) {
	const tries = 4
	for try := 1; ; try++ {
		c, err := start(filepath.Join(dir, fmt.Sprintf("try%d", try)), members, sealed, flags)
		if err == nil || try == tries || !strings.Contains(err.Error(), "address already in use") {
			return c, err
		}
	}
}

func start(dir string, members int, sealed bool, flags []string) (*Cluster, error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return nil, ErrMissing
	}

	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}

	cluster := &Cluster{}
	scheme := "http"
	if sealed {
		scheme = "https"
		if cluster.Files, err = newFiles(dir); err != nil {
			return nil, err
		}
	}

	// Each member has a port for clients, one for peers and one for metrics.
	ports, err := freePorts(3 * members)
	if err != nil {
		return nil, err
	}

	var initial []string
	for k := range members {
		initial = append(initial, fmt.Sprintf("m%d=http://%s", k+1, ports[3*k+1]))
	}

	for k := range members {
		client, peer, metrics := ports[3*k], "http://"+ports[3*k+1], ports[3*k+2]
		name := fmt.Sprintf("m%d", k+1)
		args := append(memberArgs(name, filepath.Join(dir, name), scheme+"://"+client, peer, initial),
			"--strict-reconfig-check=false", "--listen-metrics-urls=http://"+metrics, "--initial-cluster-token="+dir)

		if sealed {
			args = append(args, "--cert-file="+cluster.Files.ServerCert, "--key-file="+cluster.Files.ServerKey,
				"--client-cert-auth", "--trusted-ca-file="+cluster.Files.CA)
		}

		p, err := process.Start(process.Options{Path: path, Args: append(args, flags...)})
		if err != nil {
			return nil, errors.Join(err, cluster.Stop())
		}

		cluster.procs = append(cluster.procs, p)
		cluster.Endpoints, cluster.Metrics = append(cluster.Endpoints, client), append(cluster.Metrics, metrics)
	}

	if err := cluster.wait(); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}

	return cluster, nil
}

// memberArgs are the flags that each member has.
func memberArgs(name, data, client, peer string, initial []string) []string {
	return []string{"--name=" + name, "--data-dir=" + data, "--logger=zap", "--log-level=error",
		"--unsafe-no-fsync", "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + strings.Join(initial, ",")}
}

// wait waits until all members report that they are healthy, which requires a leader.
func (c *Cluster) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for k, at := range c.Metrics {
		err := c.procs[k].Await(ctx, 20*time.Millisecond, fmt.Sprintf("member %d has no leader", k+1),
			func(ctx context.Context) error { return healthy(ctx, at) })
		if err != nil {
			return err
		}
	}
	return nil
}

func healthy(ctx context.Context, at string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/health", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode == http.StatusOK {
		return err
	}
	return errors.New(resp.Status)
}

// Kill kills a member, counting from 0, without a shutdown.
func (c *Cluster) Kill(k int) error { return c.procs[k].Kill() }

// Replace removes a member of a cluster without TLS, counted from 0, and adds a new one with its data
// in a folder. It returns the new one's endpoint.
func (c *Cluster) Replace(dir string, k int) (endpoint string, err error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return "", ErrMissing
	}

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+c.Endpoints[0],
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}

	defer conn.Close()
	api := etcdserverpb.NewClusterClient(conn)
	at := func(url string) func(*etcdserverpb.Member) bool {
		return func(m *etcdserverpb.Member) bool {
			return slices.Contains(append(m.ClientURLs, m.PeerURLs...), url)
		}
	}

	old := at("http://" + c.Endpoints[k])
	left,
		err := change(ctx, api, func(list []*etcdserverpb.Member) bool { return !slices.ContainsFunc(list, old) },
		func(ctx context.Context, list []*etcdserverpb.Member) {
			id := list[slices.IndexFunc(list, old)].ID
			_, _ = api.MemberRemove(ctx, &etcdserverpb.MemberRemoveRequest{ID: id})
		})
	if err != nil {
		return "", err
	}

	var initial []string
	// The new member must be started with exactly the members that the cluster has, or it
	// refuses to join.
	for _, m := range left {
		initial = append(initial, m.Name+"="+m.PeerURLs[0])
	}

	ports, err := freePorts(2)
	if err != nil {
		return "", err
	}

	peer := "http://" + ports[1]
	if _,
		err := change(ctx, api,
		func(list []*etcdserverpb.Member) bool { return slices.ContainsFunc(list, at(peer)) },
		func(ctx context.Context, _ []*etcdserverpb.Member) {
			_, _ = api.MemberAdd(ctx, &etcdserverpb.MemberAddRequest{PeerURLs: []string{peer}})
		}); err != nil {
		return "", err
	}

	args := memberArgs("added", filepath.Join(dir, "added"), "http://"+ports[0], peer,
		append(initial, "added="+peer))
	p, err := process.Start(process.Options{Path: path, Args: append(args, "--initial-cluster-state=existing")})
	if err != nil {
		return "", err
	}

	c.procs = append(c.procs, p)
	return ports[0], nil
}

// change requests a membership change until it succeeds: etcd loses a request that arrives between
// two leaders, and never answers it.
func change(ctx context.Context, api etcdserverpb.ClusterClient, made func([]*etcdserverpb.Member) bool,
	ask func(context.Context, []*etcdserverpb.Member),
) ([]*etcdserverpb.Member, error) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ; ; <-look.C {
		list, err := api.MemberList(ctx, &etcdserverpb.MemberListRequest{})
		if err != nil {
			return nil, err
		}
		if made(list.Members) {
			return list.Members, nil
		}
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		ask(once, list.Members)
		cancel()
	}
}

// Stop stops all members.
func (c *Cluster) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range c.procs {
		_ = p.Stop(ctx, syscall.SIGTERM) // it ends by the signal, which is an error, or is gone
	}
	return ctx.Err()
}

// freePorts returns unused loopback addresses.
func freePorts(n int) ([]string, error) {
	var out []string
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()

	// Listeners stay open until all ports are chosen, so that none is chosen twice.
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, l)
		out = append(out, l.Addr().String())
	}

	return out, nil
}
