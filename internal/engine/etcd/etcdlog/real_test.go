package etcdlog_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"plimsoll/internal/engine/etcd/etcdlog"
	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/engine/etcd/judge"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// A real member that is compacted, defragmented and filled up logs all of that, and a diagnosis of its
// log alone reports the quota.
func TestReal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etcd.log")
	c := etcdtest.Run(t, 1, false, "--quota-backend-bytes=16777216", "--log-level=info", "--log-outputs="+file)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	conn, err := grpc.NewClient("passthrough:///"+c.Endpoints[0],
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	kv, admin := etcdserverpb.NewKVClient(conn), etcdserverpb.NewMaintenanceClient(conn)
	put := func(n byte) (int64, error) {
		r, err := kv.Put(ctx, &etcdserverpb.PutRequest{Key: []byte{'k', n}, Value: bytes.Repeat([]byte{n}, 1<<20)})
		if err != nil {
			return 0, err
		}
		return r.Header.Revision, nil
	}

	revision, err := put(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: revision, Physical: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Defragment(ctx, &etcdserverpb.DefragmentRequest{}); err != nil {
		t.Fatal(err)
	}

	full := false
	for n := byte(1); n < 40 && !full; n++ {
		_, err := put(n)
		full = err != nil && strings.Contains(err.Error(), "database space exceeded")
		if err != nil && !full {
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile(file)
	if err != nil || !full {
		t.Fatalf("the quota was reached: %v; %v", full, err)
	}
	if !etcdlog.Format.Sniff(text) {
		t.Fatalf("not recognised:\n%s", text)
	}

	mem, d := read(t, string(text))
	if !strings.HasPrefix(d.Version, "3.") {
		t.Errorf("version %q", d.Version)
	}
	for _, metric := range []string{"etcd_log_start_total", "etcd_log_compaction_total",
		"etcd_log_defragmentation_total", "etcd_log_no_space_total"} {
		if last(t, mem, metric) < 1 {
			t.Errorf("the log has no %s:\n%s", metric, text)
		}
	}

	pack := corerules.NewPack([]rules.Knowledge{judge.Knowledge()})
	r, err := diagnose.Run(t.Context(), []recording.Reader{mem}, diagnose.Options{Pack: pack})
	if err != nil {
		t.Fatal(err)
	}
	if r.Findings[0].Rule != "etcd/logged-no-space" {
		t.Errorf("the first finding is %+v", r.Findings[0])
	}
}
