//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/etcd/endpoint"
	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/lab/process"
	"plimsoll/internal/model/workload"
)

// useOf prepares the use of an address.
func useOf(t *testing.T, text string, change func(*existing.Options)) *Existing {
	t.Helper()
	a, err := existing.Kinds{Addresses}.Parse(text, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}

	opt := existing.Options{Address: a, Name: "plimsoll_lab_test"}
	if change != nil {
		change(&opt)
	}

	v, err := NewExisting(opt, 0)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := v.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	return v
}

// count returns how many keys with this prefix a cluster has.
func (b *bench) count(t *testing.T, prefix string) int64 {
	t.Helper()
	k := keys{prefix: prefix}
	from := []byte(prefix)
	if prefix == "" {
		from = []byte{0} // the first possible key
	}
	got, err := b.links.Load().kv(0).Range(t.Context(), &etcdserverpb.RangeRequest{Key: from, RangeEnd: k.end(), CountOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return got.Count
}

// An existing cluster has additional keys below a prefix while the run lasts, and keeps its own.
func TestExisting(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), etcd.Defaults(), text, "data")
	v := useOf(t, "etcd://"+address(b.places[0].client), nil)
	sc, err := language.Parse("test.yaml", []byte(strings.Replace(text, "count: 300", "count: 1200", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}

	inspection, err := v.Inspect(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}

	if inspection.Server != b.Describe() || !strings.Contains(strings.Join(inspection.Notes, "; "), "its quota is") || strings.Contains(strings.Join(inspection.Notes, "; "), "assumed") {
		t.Errorf("%+v", inspection)
	}

	if err := v.Start(t.Context(), &lab.Machine{Scenario: sc}, nil); err != nil {
		t.Fatal(err)
	}

	if n := b.count(t, "plimsoll_lab_test/"); n != 1200 {
		t.Errorf("%d keys were put", n)
	}

	for _, kind := range []workload.Kind{workload.Update, workload.Read, workload.Scan} {
		op := &lab.Op{Op: workload.Op{Kind: kind, Key: 5, Size: 300, Document: 3000}, Seq: 9}
		if err := v.Do(t.Context(), 1, op); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
	}

	if seq, found, err := v.Read(t.Context(), 5); seq != 9 || !found || err != nil {
		t.Errorf("write %d, %v, %v", seq, found, err)
	}

	if got := gather(t, v.Sources()[0]); got[`{__name__="etcd_server_has_leader"}`] != 1 {
		t.Errorf("%d series", len(got))
	}

	if err := errors.Join(v.Crash(), v.Restart(t.Context())); !errors.Is(err, existing.ErrNotOurs) {
		t.Errorf("killing somebody's cluster: %v", err)
	}

	second := useOf(t, "etcd://"+address(b.places[0].client), nil)
	if _, err := second.Inspect(t.Context(), sc); err == nil || !strings.Contains(err.Error(), "1200 keys already begin with plimsoll_lab_test/") {
		t.Errorf("a prefix in use: %v", err)
	}

	if err := v.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if n, own := b.count(t, "plimsoll_lab_test/"), b.count(t, ""); n != 0 || own != 300 {
		t.Errorf("%d keys are left, and %d of the cluster's own 300", n, own)
	}
}

// Above its quota, a cluster refuses all writes. A run that may reach the quota is refused, and one
// that does reach it ends.
func TestQuotaIsNotReached(t *testing.T) {
	cfg := etcd.Defaults()
	cfg.Quota = 16 * units.MiB
	b := start(t, folder(t, t.TempDir()), cfg, text, "data")
	v := useOf(t, "etcd://"+address(b.places[0].client), nil)

	if _, err := v.InspectFor(t.Context(), 1000, 10_000); err == nil || !strings.Contains(err.Error(), "at the quota the whole cluster refuses writes") {
		t.Errorf("more than there is room for: %v", err)
	}

	if _, err := v.InspectFor(t.Context(), 1000, 100); err != nil {
		t.Fatal(err)
	}

	if err := v.Begin(1, 100_000, 1); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	var err error
	for seq := uint64(1); err == nil && ctx.Err() == nil; seq++ {
		err = v.Do(ctx, 0, &lab.Op{Op: workload.Op{Kind: workload.Update, Key: 1, Size: 100_000, Document: 100_000}, Seq: seq})
		pause(ctx, 20*time.Millisecond) // 5 MB per second, 1 MB between two checks
	}

	if err == nil || !strings.Contains(err.Error(), "near its quota") {
		t.Errorf("it ended with %v", err)
	}

	if err := b.Do(ctx, 0, &lab.Op{Op: workload.Op{Kind: workload.Update, Key: 1, Size: 10, Document: 10}}); err != nil {
		t.Errorf("the cluster's own write: %v", err)
	}
}

// A user needs no privilege except on the prefix, and the error says which.
func TestExistingWithAuthentication(t *testing.T) {
	b := start(t, folder(t, t.TempDir()), etcd.Defaults(), text, "data")
	auth := etcdserverpb.NewAuthClient(b.links.Load().members[0])
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	for user, role := range map[string]string{"root": "root", "me": "useOf", "other": "other"} {
		must(auth.UserAdd(ctx, &etcdserverpb.AuthUserAddRequest{Name: user, Password: "s3cret", Options: &authpb.UserAddOptions{}}))
		must(auth.RoleAdd(ctx, &etcdserverpb.AuthRoleAddRequest{Name: role}))
		must(auth.UserGrantRole(ctx, &etcdserverpb.AuthUserGrantRoleRequest{User: user, Role: role}))
	}

	k := keys{prefix: existing.NamePrefix}
	must(auth.RoleGrantPermission(ctx, &etcdserverpb.AuthRoleGrantPermissionRequest{Name: "useOf",
		Perm: &authpb.Permission{PermType: authpb.READWRITE, Key: []byte(k.prefix), RangeEnd: k.end()}}))
	must(auth.AuthEnable(ctx, &etcdserverpb.AuthEnableRequest{}))
	host := address(b.places[0].client)
	v := useOf(t, "etcd://me:s3cret@"+host, nil)

	if _, err := v.InspectFor(ctx, 300, 100); err != nil {
		t.Fatal(err)
	}

	if err := v.Start(ctx, b.m, nil); err != nil {
		t.Fatal(err)
	}

	v.user.Token = "of yesterday" // as if it had expired
	if err := v.Do(ctx, 0, &lab.Op{Op: workload.Op{Kind: workload.Update, Key: 1, Size: 300, Document: 300}, Seq: 4}); err != nil {
		t.Error(err)
	}

	for text, want := range map[string]string{
		"etcd://other:s3cret@" + host: "etcdctl role grant-permission ROLE readwrite plimsoll_lab_ --prefix=true",
		"etcd://" + host:              "etcd://USER@host:2379",
		"etcd://me:wr0ng@" + host:     "authenticating as me",
	} {
		_, err := useOf(t, text, func(o *existing.Options) { o.Name = "plimsoll_lab_other" }).InspectFor(ctx, 300, 100)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%v, not %q", err, want)
		}
	}

	if err := v.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// Certificates have the same names as for etcdctl.
func TestExistingWithTLS(t *testing.T) {
	path, err := find("")
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}

	dir := t.TempDir()
	ports, err := freePorts(2)
	if err != nil {
		t.Fatal(err)
	}

	client, peer := "https://"+address(ports[0]), "http://"+address(ports[1])
	p, err := process.Start(process.Options{Path: path, Args: []string{"--data-dir=" + filepath.Join(dir, "d"), "--auto-tls", "--listen-client-urls=" + client,
		"--advertise-client-urls=" + client, "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer, "--logger=zap"}})
	if err != nil {
		t.Fatal(err)
	}

	defer func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	}()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	signed := func(o *existing.Options) { o.TLS.CACert = filepath.Join(dir, "d", "fixtures", "client", "cert.pem") }

	var v *Existing
	for err = errors.New("not asked"); err != nil && ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		a, e := existing.Kinds{Addresses}.Parse(client, func(string) string { return "" })
		if e != nil {
			t.Fatal(e)
		}
		opt := existing.Options{Address: a, Name: "plimsoll_lab_test"}
		signed(&opt)
		// otherwise its certificate does not exist yet
		if v, err = NewExisting(opt, 0); err == nil {
			_, err = v.InspectFor(ctx, 300, 100)
		}
	}

	if err != nil {
		t.Fatal(err)
	}

	if !v.known {
		t.Error("/metrics was not read")
	}

	for text, want := range map[string]string{client: "certificate", "etcd://" + address(ports[0]): "whether it requires TLS"} {
		if _, err := useOf(t, text, nil).InspectFor(ctx, 300, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
	}

	for want, files := range map[string]endpoint.Files{"both --cert and --key": {Cert: "x"}, "--cacert": {CACert: "/nowhere"}, "no certificate": {CACert: "existing_test.go"}} {
		if _, err := files.Config(called, true, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", files, err)
		}
	}
}

func TestHistograms(t *testing.T) {
	before := promql.Buckets{{UpperBound: 0.001, Count: 10}, {UpperBound: 0.002, Count: 10}, {UpperBound: 0.004, Count: 10}, {UpperBound: math.Inf(1), Count: 10}}
	now := promql.Buckets{{UpperBound: 0.001, Count: 10}, {UpperBound: 0.002, Count: 60}, {UpperBound: 0.004, Count: 110}, {UpperBound: math.Inf(1), Count: 110}}
	for q, want := range map[float64]string{0.5: "0.00200", 0.25: "0.00150", 0.99: "0.00396"} {
		if x, ok := quantile(now, before, q); !ok || fmt.Sprintf("%.5f", x) != want {
			t.Errorf("q %v is %v, %v, not %s", q, x, ok, want)
		}
	}
	now[3].Count = 210 // half of them longer than the largest bucket
	if x, ok := quantile(now, before, 0.99); !ok || x != 0.004 {
		t.Errorf("%v, %v", x, ok)
	}
	if _, ok := quantile(before, before, 0.5); ok {
		t.Error("a median without observations")
	}

	restarted := promql.Buckets{{UpperBound: 0.001, Count: 1}, {UpperBound: 0.002, Count: 4}, {UpperBound: 0.004, Count: 5}, {UpperBound: math.Inf(1), Count: 5}}
	if x, ok := quantile(restarted, before, 0.99); ok {
		t.Errorf("%v of a member that counts from 0 again", x)
	}
}
