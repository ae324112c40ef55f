package chain

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/trace/events"
)

func load(t *testing.T, name string) (*events.Header, *events.Batch) {
	t.Helper()
	h, b, err := events.LoadFile("testdata/" + name + ".trace")
	if err != nil {
		t.Fatal(err)
	}
	return h, b
}

// whole fails unless a chain's segments are contiguous from the call's start to its end, and no
// segment's shares exceed it.
func whole(t *testing.T, c *Chain) {
	t.Helper()
	at := c.Call.Enter
	for i := range c.Segments {
		s := &c.Segments[i]
		if s.From != at || s.To <= s.From {
			t.Fatalf("call at %d: segment %d is from %d to %d, not from %d", c.Call.Enter, i, s.From, s.To, at)
		}

		at = s.To
		var sum time.Duration
		for _, x := range s.Shares {
			sum += x.Time
		}

		if sum > s.Took() {
			t.Fatalf("shares of %v in a segment of %v: %+v", sum, s.Took(), s)
		}
	}

	if at != c.Call.Exit {
		t.Fatalf("call until %d is explained until %d", c.Call.Exit, at)
	}
}

// behind returns the share of the time spent behind another process's requests.
func behind(r *Report, comm string) (share float64) {
	for _, c := range r.Causes() {
		if c.Kind == Others && c.Culprit.Comm == comm && !c.Culprit.Self {
			share += c.Share
		}
	}
	return share
}

// Real traces: fio writes and syncs a small file on an emulated volume of 1,000 IOPS and 40 MiB/s
// while dd writes and syncs a large one.
func TestRecorded(t *testing.T) {
	for _, x := range []struct {
		name   string
		slow   int
		behind float64
		places []Place
	}{
		{"ext4-dd", 7, 0.95, []Place{Pages, JournalLog}},
		{"xfs-dd", 29, 0.79, []Place{Pages, XFSLog}},
	} {
		t.Run(x.name, func(t *testing.T) {
			h, b := load(t, x.name)
			w := NewWindow(h)
			w.Add(b)

			for i := range b.Calls {
				c := w.Explain(&b.Calls[i])
				whole(t, &c)
			}

			r := Replay(h, b)
			if r.Slow != x.slow || len(r.Worst) != min(x.slow, WorstChains) {
				t.Errorf("%d slow calls, %d of them shown in full", r.Slow, len(r.Worst))
			}

			if got := behind(r, "dd"); got < x.behind {
				t.Errorf("%.3f of the time behind dd, want %.2f: %+v", got, x.behind, r.Causes())
			}

			if u := r.Of(Unexplained); u > 0.03 {
				t.Errorf("%.3f is unexplained", u)
			}

			for _, p := range x.places {
				if !slices.ContainsFunc(r.Places(), func(q PlaceTime) bool { return q.Place == p && q.Stage == DeviceQueue && q.Share > 0.2 }) {
					t.Errorf("less than a fifth of the time in %s was in the device queue: %+v", p, r.Places())
				}
			}

			sum := 0.0
			for _, s := range r.Stages {
				sum += s.Share
			}

			if sum < 0.999999 || sum > 1.000001 {
				t.Errorf("the stages add up to %f", sum)
			}
		})
	}
}

// A call's segments add up to its duration even if events are missing.
func TestEventsMissing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"ext4-dd", "xfs-dd"} {
		h, all := load(t, name)
		for range 20 {
			share := rng.Float64()
			b := &events.Batch{Calls: all.Calls}
			b.Waits = sample(all.Waits, rng, share)
			b.Requests = sample(all.Requests, rng, share)
			b.Commits = sample(all.Commits, rng, share)
			b.Files = sample(all.Files, rng, share)
			w := NewWindow(h)
			w.Add(b)

			for i := range b.Calls {
				c := w.Explain(&b.Calls[i])
				whole(t, &c)
			}
		}
	}
}

func sample[T any](all []T, rng *rand.Rand, share float64) []T {
	var out []T
	for _, x := range all {
		if rng.Float64() < share {
			out = append(out, x)
		}
	}
	return out
}

// The order in which batches arrive does not matter.
func TestBatches(t *testing.T) {
	h, all := load(t, "ext4-dd")
	want := Replay(h, all)

	w, tally := NewWindow(h), NewTally()
	for i := 0; i < len(all.Requests); i += 7 {
		w.Add(&events.Batch{Requests: all.Requests[i:min(i+7, len(all.Requests))]})
	}

	for i := len(all.Waits); i > 0; i -= min(i, 5) {
		w.Add(&events.Batch{Waits: all.Waits[max(i-5, 0):i]})
	}

	w.Add(&events.Batch{Commits: all.Commits, Handles: all.Handles, Files: all.Files})
	for i := range all.Calls {
		tally.Add(w.Explain(&all.Calls[i]))
	}

	got := tally.Report(h)
	if len(got.Places()) == 0 || got.Of(DeviceQueue) < want.Of(DeviceQueue)-0.02 || got.Of(DeviceQueue) > want.Of(DeviceQueue)+0.02 {
		t.Errorf("%v\n%v", got.Places(), want.Places())
	}
}

func TestForget(t *testing.T) {
	h, all := load(t, "xfs-dd")
	w := NewWindow(h)
	w.Add(all)
	w.forget(1 << 62)
	if w.size > len(all.Calls)+len(all.Files)+len(all.Commits)+len(all.Handles) {
		t.Errorf("%d events are left", w.size)
	}
	if len(w.first) > 0 || len(w.waits) > 0 {
		t.Errorf("%d requests and %d threads are left", len(w.first), len(w.waits))
	}
}

func TestClassify(t *testing.T) {
	for _, x := range []struct {
		class class
		stack []string
	}{
		{pageWait, []string{"folio_wait_bit", "folio_wait_writeback", "__filemap_fdatawait_range", "file_write_and_wait_range", "ext4_sync_file"}},
		{pageWait, []string{"wait_on_page_bit", "wait_on_page_writeback", "__filemap_fdatawait_range", "xfs_file_fsync"}},
		{commitWait, []string{"jbd2_log_wait_commit", "ext4_sync_file", "do_fsync"}},
		{handleWait, []string{"wait_transaction_locked", "add_transaction_credits", "start_this_handle"}},
		{journalFull, []string{"jbd2_log_do_checkpoint", "__jbd2_log_wait_for_space", "add_transaction_credits"}},
		{orderedWait, []string{"folio_wait_writeback", "__filemap_fdatawait_range", "jbd2_journal_finish_inode_data_buffers", "jbd2_journal_commit_transaction"}},
		{blockWait, []string{"bit_wait_io", "__wait_on_buffer", "jbd2_journal_commit_transaction", "kjournald2"}},
		{updatesWait, []string{"jbd2_journal_wait_updates", "jbd2_journal_commit_transaction"}},
		{tagWait, []string{"blk_mq_get_tag", "__blk_mq_alloc_requests", "blk_mq_submit_bio", "jbd2_journal_commit_transaction"}},
		{wbtWait, []string{"rq_qos_wait", "wbt_wait", "__rq_qos_throttle", "blk_mq_submit_bio", "ext4_writepages"}},
		{cgroupWait, []string{"rq_qos_wait", "blkcg_iolatency_throttle", "blk_mq_submit_bio"}},
		{logWait, []string{"xlog_wait_on_iclog", "xfs_log_force_seq", "xfs_file_fsync"}},
		{logWait, []string{"__flush_workqueue", "xlog_cil_push_now", "xlog_cil_force_seq", "xfs_file_fsync"}},
		{logSpace, []string{"xlog_grant_head_wait", "xlog_grant_head_check", "xfs_log_reserve"}},
		{dirtyWait, []string{"balance_dirty_pages", "balance_dirty_pages_ratelimited_flags", "generic_perform_write"}},
		{flushWait, []string{"submit_bio_wait", "blkdev_issue_flush", "ext4_sync_file"}},
		{requestWait, []string{"__iomap_dio_rw", "iomap_dio_rw", "xfs_file_dio_write_aligned"}},
		{readWait, []string{"folio_wait_bit_common", "filemap_get_pages", "filemap_read"}},
		{lockWait, []string{"rwsem_down_write_slowpath", "down_write", "ext4_buffered_write_iter"}},
		{unknownWait, []string{"futex_wait_queue"}},
		{unknownWait, nil},
	} {
		if got := classify(x.stack); got != x.class {
			t.Errorf("%v: class %d, want %d", x.stack, got, x.class)
		}
	}
}

// A trace of one folder ignores calls on other folders of the file system, also when a saved trace
// is replayed.
func TestFolders(t *testing.T) {
	h, all := load(t, "ext4-dd")
	h.Folders = []string{"/no/such/folder"}
	if r := Replay(h, all); r.Slow != 0 {
		t.Errorf("%d slow calls on other folders", r.Slow)
	}
}

// A saved trace leaves out the calls of the processes that no client waits for, and says so.
func TestBackgroundOfSavedTrace(t *testing.T) {
	h, all := load(t, "ext4-dd")
	whole := Replay(h, all)
	h.Background = []uint32{all.Calls[0].PID}

	r := Replay(h, all)
	want, took := 0, time.Duration(0)
	for i := range all.Calls {
		if c := &all.Calls[i]; c.PID == all.Calls[0].PID {
			want++
			took += time.Duration(c.Exit - c.Enter)
		}
	}
	if want == 0 || r.Slow != whole.Slow-want || r.SlowTime != whole.SlowTime-took {
		t.Errorf("%d of %d slow calls and %s are left, without %d that took %s", r.Slow, whole.Slow, r.SlowTime, want, took)
	}
	if !slices.Contains(r.Notes, Unwaited(want, took)) {
		t.Errorf("the report does not say so: %q", r.Notes)
	}
}
