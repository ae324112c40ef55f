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
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A real cluster at its quota refuses writes, and a single page of its metrics shows why. The page has
// the metrics of the other causes too.
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

	// A put is refused if it would not fit, so the last of several sequential puts may leave the file
	// below its quota. With many concurrent puts, the quota is compared before any of them is written.
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
	pack := corerules.NewPack([]rules.Knowledge{judge.Knowledge()})
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

	// Servers before 3.4.18 and 3.5.2 do not show that they are defragmenting.
	missing = slices.DeleteFunc(missing, func(n string) bool { return n == "etcd_disk_defrag_inflight" })
	if len(missing) > 0 {
		t.Errorf("a real page lacks %q", missing)
	}
}

// errFull is etcd's response at its quota.
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

// An alarm that was not disarmed blocks writes although there is room, and before 3.6 no metric shows
// it. The live source shows it for each member, and also shows when the alarm has been disarmed.
func TestRealAlarms(t *testing.T) {
	for _, kind := range []etcdserverpb.AlarmType{etcdserverpb.AlarmType_NOSPACE, etcdserverpb.AlarmType_CORRUPT} {
		t.Run(kind.String(), func(t *testing.T) {
			c := etcdtest.Run(t, 2, false)
			conn, err := grpc.NewClient("passthrough:///"+c.Endpoints[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}

			defer conn.Close()
			api := etcdserverpb.NewMaintenanceClient(conn)
			alarm := func(action etcdserverpb.AlarmRequest_AlarmAction) {
				t.Helper()
				if _, err := api.Alarm(t.Context(), &etcdserverpb.AlarmRequest{Action: action, Alarm: kind, MemberID: 1}); err != nil {
					t.Fatal(err)
				}
			}

			alarm(etcdserverpb.AlarmRequest_ACTIVATE)
			if got := foundLive(t, c, 2); !slices.Contains(got, map[etcdserverpb.AlarmType]string{
				etcdserverpb.AlarmType_NOSPACE: "etcd/no-space", etcdserverpb.AlarmType_CORRUPT: "etcd/corrupt"}[kind]) {
				t.Errorf("with the alarm: %q", got)
			}

			alarm(etcdserverpb.AlarmRequest_DEACTIVATE)
			if got := foundLive(t, c, 2); slices.Contains(got, "etcd/no-space") || slices.Contains(got, "etcd/corrupt") {
				t.Errorf("after the alarm was disarmed: %q", got)
			}
		})
	}
}

// foundLive reads a cluster until each member has three samples of its alarms and of its metrics, and
// returns the rules with findings.
func foundLive(t *testing.T, c *etcdtest.Cluster, members int) (found []string) {
	t.Helper()
	src, err := live.OpenEvery("etcd://"+c.Endpoints[0], recognise.LiveOptions{Getenv: func(string) string { return "" }}, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := recording.NewMemory(recording.MemoryOptions{})
	w := &enough{Memory: m, seen: map[string]int{}, members: members, done: cancel}
	if err := src.Read(ctx, w, source.Options{Period: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	r, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: corerules.NewPack([]rules.Knowledge{judge.Knowledge()})})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range r.Findings {
		found = append(found, f.Rule)
	}

	return found
}

// enough ends a recording once each member has three samples of its alarms and of its WAL.
type enough struct {
	*recording.Memory
	mu      sync.Mutex
	seen    map[string]int
	members int
	done    func()
}

func (e *enough) Append(ctx context.Context, b *recording.Batch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range b.Columns {
		switch name := c.Labels.Get("__name__"); name {
		case "plimsoll_etcd_alarms", "etcd_disk_wal_fsync_duration_seconds_count":
			e.seen[c.Labels.Get("instance")+name+c.Labels.Get("alarm_type")]++
		}
	}

	complete := 0
	for _, n := range e.seen {
		if n >= 3 {
			complete++
		}
	}

	// Two kinds of alarms and the WAL, for each member.
	if complete == 3*e.members {
		e.done()
	}

	return e.Memory.Append(ctx, b)
}
