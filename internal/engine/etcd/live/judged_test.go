package live_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/engine/etcd/judge"
	"plimsoll/internal/engine/etcd/live"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A real cluster at its quota refuses writes, and one page of it shows why. The page has the
// metrics of the other causes too.
func TestRealNoSpace(t *testing.T) {
	c := etcdtest.Run(t, 3, false, "--quota-backend-bytes=16777216")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	conn, err := grpc.NewClient("passthrough:///"+c.Endpoints[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}

	defer conn.Close()
	kv := etcdserverpb.NewKVClient(conn)
	put := func(n byte) error {
		_, err := kv.Put(ctx, &etcdserverpb.PutRequest{Key: []byte{'k', n}, Value: bytes.Repeat([]byte{n}, 1<<20)})
		if err != nil && strings.Contains(err.Error(), "database space exceeded") {
			return errFull
		}
		return err
	}

	// A put is refused if it would not fit, so the last of some one after another may leave the
	// file below its quota. Of many at once, the quota is compared before any of them is written.
	var atOnce sync.WaitGroup
	for n := range byte(20) {
		atOnce.Go(func() {
			if err := put(n); err != nil && !errors.Is(err, errFull) {
				t.Error(err)
			}
		})
	}

	atOnce.Wait()
	for n := byte(20); ; n++ {
		if err := put(n); errors.Is(err, errFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}

	// The size on the page is updated when the backend commits.
	pack := rules.NewPack([]rules.Knowledge{judge.Knowledge()})
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()

	var page, verdict string
	for {
		page = pageOf(ctx, t, c.Metrics[0])
		if verdict, err = judgePage(ctx, pack, page); err != nil {
			t.Fatal(err)
		}

		if strings.HasPrefix(verdict, "Writes are refused: the database is at its quota") {
			break
		}

		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("the verdict is %q", verdict)
		}
	}

	var missing []string
	for _, name := range []string{
		"etcd_server_leader_changes_seen_total", "etcd_server_slow_apply_total", "etcd_network_active_peers",
		"etcd_disk_backend_defrag_duration_seconds_sum", "etcd_disk_defrag_inflight", "etcd_debugging_mvcc_db_compaction_pause_duration_milliseconds_sum",
		"etcd_server_quota_backend_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes", "etcd_server_proposals_applied_total",
	} {
		if !strings.Contains(page, "\n"+name) {
			missing = append(missing, name)
		}
	}

	// Older servers than 3.4.18 and 3.5.2 do not show that they defragment.
	missing = slices.DeleteFunc(missing, func(n string) bool { return n == "etcd_disk_defrag_inflight" })
	if len(missing) > 0 {
		t.Errorf("a real page lacks %q", missing)
	}
}

// errFull is what etcd answers at its quota.
var errFull = errors.New("the database is full")

func pageOf(ctx context.Context, t *testing.T, at string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}

	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

func judgePage(ctx context.Context, pack *rules.Pack, page string) (string, error) {
	m := recording.NewMemory(recording.MemoryOptions{})
	from := source.File{Path: "page.prom", Modified: time.Now(), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(page)), nil }}
	if err := exposition.New(from, []exposition.Exporter{live.Exporter}).Read(ctx, m, source.Options{}); err != nil {
		return "", err
	}
	r, err := diagnose.Run(ctx, []recording.Reader{m}, diagnose.Options{Pack: pack})
	if errors.Is(err, diagnose.ErrNothing) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return r.Verdict, nil
}
