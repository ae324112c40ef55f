//go:build linux

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/etcd/endpoint"
	"plimsoll/internal/engine/etcd/live"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
)

const (
	// answerWithin is how long an existing cluster may take to answer.
	answerWithin = 5 * time.Second
	// putters is how many transactions are in flight while loading documents into a cluster with
	// other users.
	putters = 4
	// removeBatch is how many keys a transaction removes: removing all keys in one range would be a
	// single raft entry, which would block all clients.
	removeBatch = 500
)

// An Existing is an existing cluster. It implements existing.Server and touches only keys with its
// prefix.
type Existing struct {
	clients
	opt   existing.Options
	hosts []string
	tls   *tls.Config
	user  endpoint.User

	version string
	least   int64 // size of the largest member's database at inspection
	quota   int64
	known   bool // the quota is the cluster's rather than assumed

	made  bool // there may be keys to remove
	guard *guard
}

// Addresses describes the addresses of clusters.
var Addresses = existing.Addresses{
	Engine: "etcd", Product: "etcd", Schemes: []string{"etcd", "http", "https"}, Secure: []string{"https"},
	Begin: "etcd://, http://, https://", Example: "etcd://127.0.0.1:2379, https://host:2379 (etcd)",
	Usage: "etcd://host:2379, http(s)://host:2379", Files: true, Makes: "keys below %s/",
}

// called are the names of the flags for TLS files.
var called = endpoint.Names{Both: "give both --cert and --key", Client: "--cert and --key",
	Authority: "--cacert"}

// NewExisting prepares a run on an existing cluster, without connecting. Keys are keyBytes long,
// including the prefix; 0: not padded.
func NewExisting(opt existing.Options, keyBytes int) (*Existing, error) {
	files := endpoint.Files(opt.TLS)
	config, err := files.Config(called, opt.Address.Secure(), false)
	if err != nil {
		return nil, err
	}
	if err := existing.CheckName(opt.Name); err != nil {
		return nil, err
	}
	v := &Existing{opt: opt, tls: config}
	v.keys = keys{opt.Name + "/", keyBytes}
	for _, h := range opt.Address.Hosts() {
		v.hosts = append(v.hosts, endpoint.WithPort(h))
	}
	v.user.Name, v.user.Password = opt.Address.User()
	return v, nil
}

// Describe implements lab.Server.
func (v *Existing) Describe() string { return "etcd " + v.version }

// connect opens n links, to all endpoints in turn.
func (v *Existing) connect(n int) (*links, error) {
	// Any member serves the workload: those that do not lead forward requests.
	return connect(v.hosts, v.hosts, max(n, len(v.hosts)), v.tls, &v.user)
}

// Inspect implements existing.Server.
func (v *Existing) Inspect(ctx context.Context, sc *scenario.Scenario) (*existing.Inspection, error) {
	w := sc.Workloads()
	writes := existing.IntentOf(v.opt.Address, v.opt.Name, sc, nil)
	return v.InspectFor(ctx, w.DocumentSize(), writes.Loaded+max(writes.Writes, 0))
}

// InspectFor identifies the cluster and checks whether it has room for this many writes of the
// given size.
func (v *Existing) InspectFor(ctx context.Context, size units.Size,
	writes int64) (*existing.Inspection, error) {
	if size > requestBytes {
		return nil, fmt.Errorf("documents of %s: etcd accepts at most %s per request", size.Exact(),
			requestBytes.Exact())
	}

	l, err := v.connect(1)
	if err != nil {
		return nil, v.explain(err)
	}

	defer func() { _ = l.close() }()
	// The quota holds for each member, so the largest database is the first to reach it.
	for i := range l.members {
		asking, cancel := context.WithTimeout(ctx, answerWithin)
		s, err := etcdserverpb.NewMaintenanceClient(l.members[i]).Status(asking, &etcdserverpb.StatusRequest{})
		cancel()
		if err != nil {
			return nil, v.unreachable(ctx, v.hosts[i], err)
		}
		v.version, v.least = s.Version, max(v.least, s.DbSize)
	}

	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()

	got, err := l.kv(0).Range(asking,
		&etcdserverpb.RangeRequest{Key: []byte(v.keys.prefix), RangeEnd: v.keys.end(), CountOnly: true})
	switch {
	case err != nil:
		return nil, v.explain(err)
	// Keys that were there before must not be removed afterwards.
	case got.Count > 0:
		return nil,
			fmt.Errorf("%d keys already begin with %s: use another name, or remove them (etcdctl del --prefix %s)",
				got.Count, v.keys.prefix, v.keys.prefix)
	}

	v.readQuota(ctx)
	inspection := &existing.Inspection{
		Server: v.Describe(), Least: v.leastPrivilege(), Remove: "etcdctl del --prefix " + v.keys.prefix,
		Notes: []string{"etcd keeps each revision until you compact it, and the space until you defragment"},
	}

	note, err := v.room(size, writes)
	if err != nil {
		return nil, err
	}

	if note != "" {
		inspection.Notes = append(inspection.Notes, note)
	}

	return inspection, nil
}

func (v *Existing) leastPrivilege() string {
	return "if authentication is on, a role with only this permission is enough: etcdctl role grant-permission ROLE readwrite " +
		existing.NamePrefix + " --prefix=true"
}

// explain adds advice to a refusal.
func (v *Existing) explain(err error) error {
	if err == nil {
		return nil
	}
	err = v.opt.Address.Redact(err)
	switch text := err.Error(); {
	case strings.Contains(text, "permission denied"):
		return fmt.Errorf("%w: the user has no access to keys that begin with %s (%s)", err, v.keys.prefix,
			v.leastPrivilege())
	case strings.Contains(text, "user name is empty"):
		return fmt.Errorf("%w: the cluster requires a user: etcd://USER@host:2379, with the password in $%s", err,
			existing.EnvPassword)
	}
	return explain(err)
}

// unreachable returns the error for an endpoint that does not answer.
func (v *Existing) unreachable(ctx context.Context, host string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// These come from etcd itself, so it is the right program.
	if text := err.Error(); strings.Contains(text, "permission denied") ||
		strings.Contains(text, "user name is empty") || strings.Contains(text, "authenticating as") {
		return v.explain(err)
	}
	hint := "check that it is etcd, and that this is its client port"
	if v.tls == nil {
		hint = "check that it is etcd, and whether it requires TLS (https://, --cacert, --cert, --key)"
	}
	return fmt.Errorf("%s does not respond like etcd: %w: %s", host, v.opt.Address.Redact(err), hint)
}

// Start implements lab.Server: it loads the documents.
func (v *Existing) Start(ctx context.Context, m *lab.Machine, progress lab.Progress) error {
	w := m.Scenario.Workloads()
	if v.version == "" {
		if _, err := v.Inspect(ctx, m.Scenario); err != nil {
			return err
		}
	}
	if err := v.Begin(w.Connections(), w.DocumentSize(), Links); err != nil {
		return err
	}
	return v.explain(put(ctx, v.links.Load(), v.keys, v.mean, uint64(w.Documents()), putters, progress))
}

// Begin prepares for Do on this many connections, which share some HTTP/2 connections, without
// loading documents. Call it after InspectFor, and Stop at the end.
func (v *Existing) Begin(connections int, mean units.Size, shared int) error {
	v.mean, v.writers = mean, make([]writer, connections)
	l, err := v.connect(min(max(connections, 1), shared))
	if err != nil {
		return v.explain(err)
	}
	v.links.Store(l)
	v.guard = watchRoom(l.members[0], int64(float64(v.quota)*quotaStop))
	v.made = true
	return nil
}

// Do implements lab.Server.
func (v *Existing) Do(ctx context.Context, conn int, op *lab.Op) error {
	// A full database would raise an alarm and stop the writes of all clients. Reads do no
	// harm.
	if v.guard != nil && op.Kind.Writes() {
		if err := v.guard.full(); err != nil {
			return err
		}
	}
	return v.explain(v.clients.Do(ctx, conn, op))
}

// Sources implements lab.Server: /metrics of each endpoint.
func (v *Existing) Sources() []source.Source {
	var out []source.Source
	for _, host := range v.hosts {
		if src, err := v.source(host); err == nil {
			out = append(out, src)
		}
	}
	return out
}

func (v *Existing) source(host string) (source.Source, error) {
	page, opt := "http://"+host+"/metrics", live.PageOptions(v.tls)
	if v.tls != nil {
		page = "https://" + host + "/metrics"
	} else {
		opt.Transport = nil // the default one does not compress on this machine
	}
	if len(v.hosts) == 1 {
		return exposition.OpenURL(page, opt)
	}
	return exposition.OpenMember(page, exposition.Member{Instance: host}, opt)
}

// Cycles implements lab.Server. The backend's commits are not visible from outside.
func (v *Existing) Cycles(context.Context) ([]lab.Cycle, error) { return nil, nil }

// Crash implements lab.Server. It refuses, because the cluster has other users.
func (v *Existing) Crash() error { return existing.ErrNotOurs }

// Restart implements lab.Server.
func (v *Existing) Restart(context.Context) error { return existing.ErrNotOurs }

// Read implements lab.Server.
func (v *Existing) Read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	seq, found, err = v.clients.Read(ctx, key)
	return seq, found, v.explain(err)
}

// Stop implements lab.Server: it removes the keys in small batches, so that other users do not
// wait.
func (v *Existing) Stop(ctx context.Context) error {
	l := v.links.Swap(nil)
	if l == nil {
		return nil
	}
	v.guard.stop()
	var err error
	if v.made && !v.opt.Keep {
		if err = v.remove(ctx, l); err != nil {
			err = fmt.Errorf("cannot remove the keys that begin with %s from %s (remove them with etcdctl del --prefix %s): %w",
				v.keys.prefix,
				v.opt.Address, v.keys.prefix, v.explain(err))
		}
	}
	return errors.Join(err, l.close())
}

func (v *Existing) remove(ctx context.Context, l *links) error {
	kv := l.kv(0)
	for {
		got, err := kv.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(v.keys.prefix), RangeEnd: v.keys.end(),
			Limit: removeBatch, KeysOnly: true})
		if err != nil || len(got.Kvs) == 0 {
			return err
		}
		// The end of a range is exclusive; the last key with a zero byte is the next possible
		// key.
		last := append(slices.Clone(got.Kvs[len(got.Kvs)-1].Key), 0)
		if _, err := kv.DeleteRange(ctx,
			&etcdserverpb.DeleteRangeRequest{Key: got.Kvs[0].Key, RangeEnd: last}); err != nil {
			return err
		}
	}
}

var _ existing.Server = (*Existing)(nil)
