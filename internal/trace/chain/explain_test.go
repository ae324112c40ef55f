package chain

import (
	"testing"
	"time"

	"plimsoll/internal/trace/events"
)

const (
	disk = 8 << 20
	ms   = int64(1e6)
)

var (
	caller = events.Task{PID: 10, TID: 11, Comm: "db"}
	other  = events.Task{PID: 20, TID: 20, Comm: "neighbour"}
	file   = events.FileID{Dev: disk, Inode: 100}
	big    = events.FileID{Dev: disk, Inode: 200}
)

// sync returns a call of 100 ms that waits from 10 ms to 90 ms with the given stack.
func sync(stack ...string) (*events.Call, *events.Batch) {
	c := &events.Call{Task: caller, Kind: events.Fdatasync, Enter: 1000 * ms, Exit: 1100 * ms, File: file}
	return c, &events.Batch{Waits: []events.Wait{{Task: caller, Out: 1010 * ms, Wake: 1090 * ms, In: 1092 * ms, Stack: stack, Waker: events.Task{TID: 1}}}}
}

func header() *events.Header {
	return &events.Header{Disks: []events.Disk{{Dev: disk, Name: "sda"}}, Mounts: []events.Mount{{Dev: disk, Path: "/data", Disks: []uint32{disk}}}}
}

// request returns a request that began, was issued and completed at the given milliseconds after
// the call's start.
func request(who events.Task, of events.FileID, begin, issue, done int64) events.Request {
	return events.Request{Task: who, Dev: disk, Bytes: 4096, Flags: events.OpWrite | events.FlagSync, File: of,
		First: (1000 + begin) * ms, Issue: (1000 + issue) * ms, Done: (1000 + done) * ms}
}

func explained(t *testing.T, c *events.Call, b *events.Batch) Chain {
	t.Helper()
	w := NewWindow(header())
	w.Add(b)
	x := w.Explain(c)
	whole(t, &x)
	return x
}

// of returns how many milliseconds a chain spent at a place and stage, in total or behind one
// process.
func of(c *Chain, p Place, s Stage, comm string) (sum int64) {
	for i := range c.Segments {
		x := &c.Segments[i]
		if x.Stage != s || x.Place != p {
			continue
		}

		if comm == "" {
			sum += x.Took().Milliseconds()
		}

		for _, b := range x.Shares {
			if comm != "" && b.Culprit.Comm == comm {
				sum += b.Time.Milliseconds()
			}
		}
	}
	return sum
}

func expect(t *testing.T, c *Chain, p Place, s Stage, comm string, want int64) {
	t.Helper()
	if got := of(c, p, s, comm); got < want-1 || got > want+1 {
		t.Errorf("%s at %q behind %q: %d ms, want %d: %+v", s, p, comm, got, want, c.Segments)
	}
}

// group is the cgroup of a neighbour's container.
const group = "/containers/neighbour"

func inGroup(who events.Task) events.File { return events.File{Task: who, Group: group} }

// expectGroup checks that the culprit of each segment at a stage is in the group.
func expectGroup(t *testing.T, c *Chain, s Stage) {
	t.Helper()
	for _, x := range c.Segments {
		if x.Stage == s && (len(x.Shares) == 0 || x.Shares[0].Culprit.Cgroup != group) {
			t.Errorf("%s: %+v", s, x.Shares)
		}
	}
}

func TestPagesBehindNeighbour(t *testing.T) {
	c, b := sync("folio_wait_writeback", "__filemap_fdatawait_range", "ext4_sync_file")

	// The idle device takes 2 ms for a request; 39 of the neighbour's requests are ahead.
	for i := range int64(5) {
		r := request(caller, file, -100+10*i, -100+10*i, -98+10*i)
		r.Alone = true
		b.Requests = append(b.Requests, r)
	}

	for i := range int64(39) {
		r := request(other, big, 5, 5, 10+2*(i+1))
		r.First += i // keep them distinct
		b.Requests = append(b.Requests, r)
	}

	b.Requests = append(b.Requests, request(caller, file, 10, 10, 90))
	x := explained(t, c, b)
	expect(t, &x, Pages, DeviceQueue, "neighbour", 78)
	expect(t, &x, Pages, DeviceOwn, "", 2)
	expect(t, &x, InCall, Runnable, "", 2)
	expect(t, &x, InCall, Running, "", 18)
}

// Threads have their own names, such as mongod's JournalFlusher, but reports name the process.
func TestThreadIsOfProcess(t *testing.T) {
	c, b := sync("folio_wait_writeback", "__filemap_fdatawait_range", "ext4_sync_file")
	b.Requests = []events.Request{request(other, big, 5, 5, 50), request(caller, file, 10, 10, 90)}
	for _, task := range []events.Task{caller, other} {
		b.Files = append(b.Files, events.File{Task: events.Task{PID: task.PID, TID: task.PID, Comm: task.Comm + "d"}})
	}
	x := explained(t, c, b)
	if x.Process != caller.Comm+"d" || x.Call.Comm != caller.Comm {
		t.Errorf("process %q, thread %q", x.Process, x.Call.Comm)
	}
	expect(t, &x, Pages, DeviceQueue, "neighbourd", 40)
}

func TestPagesInScheduler(t *testing.T) {
	c, b := sync("folio_wait_writeback", "__filemap_fdatawait_range")
	r := request(caller, file, 20, 60, 90)
	b.Requests = []events.Request{request(other, big, 0, 0, 50), r}
	x := explained(t, c, b)
	expect(t, &x, Pages, Submission, "", 10)
	expect(t, &x, Pages, Scheduler, "neighbour", 40)
	expect(t, &x, Pages, DeviceOwn, "", 30)
}

func TestWaitsOfBlockLayer(t *testing.T) {
	for _, x := range []struct {
		stack []string
		stage Stage
	}{
		{[]string{"blk_mq_get_tag", "__blk_mq_alloc_requests", "blk_mq_submit_bio"}, TagWait},
		{[]string{"rq_qos_wait", "wbt_wait", "blk_mq_submit_bio"}, WBT},
	} {
		c, b := sync(append(x.stack, "ext4_writepages")...)
		b.Requests = []events.Request{request(other, big, 0, 0, 50), request(other, big, 0, 0, 80)}
		got := explained(t, c, b)
		expect(t, &got, Pages, x.stage, "neighbour", 80)
	}
}

func TestThrottled(t *testing.T) {
	c, b := sync("balance_dirty_pages", "balance_dirty_pages_ratelimited", "generic_perform_write")
	c.Kind = events.Write
	flusher := request(events.Task{PID: 7, TID: 7, Comm: "kworker/u8:1"}, big, 0, 0, 50)
	flusher.Kernel, flusher.Reason = true, events.Background
	b.Requests = []events.Request{flusher}
	b.Files = []events.File{{Task: other, ID: big, At: 900 * ms, Dirtied: true, Names: []string{"big", "/"}}}
	x := explained(t, c, b)
	expect(t, &x, Throttled, Throttle, "neighbour", 80)
	for _, s := range x.Segments {
		if s.Stage == Throttle && (s.Shares[0].Culprit.File != "/data/big" || s.Shares[0].Culprit.Why != WhyBackground) {
			t.Errorf("%+v", s.Shares)
		}
	}
}

func TestJournal(t *testing.T) {
	c, b := sync("jbd2_log_wait_commit", "ext4_sync_file")
	journal := events.Task{PID: 30, TID: 30, Comm: "jbd2/sda-8"}
	b.Commits = []events.Commit{{Dev: disk, TID: 30, Start: 1012 * ms, Locking: 1012 * ms, Flushing: 1030 * ms, Logging: 1031 * ms, End: 1089 * ms}}
	b.Handles = []events.Handle{{Task: other, Dev: disk, Jiffies: 5, End: 1030 * ms}}
	data := request(journal, big, 31, 31, 60)
	b.Requests = []events.Request{data, request(journal, events.FileID{}, 61, 61, 70), request(journal, events.FileID{}, 71, 71, 89)}
	b.Requests[1].Metadata, b.Requests[2].Metadata = true, true
	b.Requests[2].Flags |= events.FlagFUA | events.FlagPreflush
	b.Waits = append(b.Waits,
		events.Wait{Task: journal, Kernel: true, Out: 1031 * ms, Wake: 1060 * ms, In: 1060 * ms, Stack: []string{"folio_wait_writeback", "jbd2_journal_finish_inode_data_buffers", "jbd2_journal_commit_transaction"}},
		events.Wait{Task: journal, Kernel: true, Out: 1061 * ms, Wake: 1070 * ms, In: 1070 * ms, Stack: []string{"__wait_on_buffer", "jbd2_journal_commit_transaction"}},
		events.Wait{Task: journal, Kernel: true, Out: 1071 * ms, Wake: 1089 * ms, In: 1089 * ms, Stack: []string{"__wait_on_buffer", "jbd2_journal_commit_transaction"}})

	b.Files = []events.File{{Task: other, ID: big, At: 900 * ms, Dirtied: true, Names: []string{"big", "/"}}, inGroup(other)}
	x := explained(t, c, b)
	expectGroup(t, &x, HandleWait)
	expect(t, &x, JournalWait, Submission, "", 2)
	expect(t, &x, JournalLock, HandleWait, "neighbour", 18)
	expect(t, &x, JournalData, DeviceOwn, "neighbour", 29)
	expect(t, &x, JournalLog, DeviceOwn, "jbd2/sda-8", 9)
	expect(t, &x, JournalEnd, DeviceOwn, "jbd2/sda-8", 18)
}

// A commit that is not known yet holds a block: the wait ends when one of the journal's requests
// completes.
func TestBlockOfCommit(t *testing.T) {
	c, b := sync("do_get_write_access", "jbd2_journal_get_write_access", "ext4_dirty_inode")
	log := request(events.Task{PID: 30, TID: 30, Comm: "jbd2/sda-8"}, events.FileID{}, 20, 20, 90)
	b.Requests = []events.Request{request(other, big, 5, 5, 80), log}
	x := explained(t, c, b)
	expect(t, &x, JournalBegin, Submission, "jbd2/sda-8", 10)
	expect(t, &x, JournalBegin, DeviceQueue, "neighbour", 60)
	expect(t, &x, JournalBegin, DeviceOwn, "jbd2/sda-8", 10)
}

func TestLock(t *testing.T) {
	c, b := sync("rwsem_down_write_slowpath", "down_write", "ext4_buffered_write_iter")
	b.Waits[0].Waker = other
	b.Files = []events.File{inGroup(other)}
	x := explained(t, c, b)
	expectGroup(t, &x, LockWait)
	expect(t, &x, Locked, LockWait, "neighbour", 80)
}

func TestUnknownWait(t *testing.T) {
	c, b := sync("some_new_function", "do_fsync")
	x := explained(t, c, b)
	expect(t, &x, InCall, Unexplained, "", 80)
	for _, s := range x.Segments {
		if s.Stage == Unexplained && s.Stack != "some_new_function < do_fsync" {
			t.Error(s.Stack)
		}
	}
}

// A call that allocates blocks may first have to read a block bitmap: its read queues behind its
// own writes. __wait_on_buffer is not on the stack because compilers turn the call into a tail
// call.
func TestReadsBitmap(t *testing.T) {
	c, b := sync("ext4_wait_block_bitmap", "ext4_mb_init_cache", "ext4_writepages", "ext4_sync_file")
	read := request(caller, events.FileID{}, 10, 30, 90)
	read.Flags, read.Metadata = events.OpRead|events.FlagMeta, true
	b.Requests = []events.Request{request(caller, file, 5, 5, 80), read}
	x := explained(t, c, b)
	expect(t, &x, Metadata, Scheduler, "db", 20)
	expect(t, &x, Metadata, DeviceQueue, "db", 50)
	expect(t, &x, Metadata, DeviceOwn, "", 10)
}

// On an unknown file system, a wait that ends with a read by the same thread is attributed to that
// read, and so is one that ends right after a read of the file system's own blocks by any thread. Other
// requests may be in flight by chance.
func TestUnknownWaitForRequest(t *testing.T) {
	for _, x := range []struct {
		name     string
		by       events.Task
		metadata bool
		known    bool // the request's completion ended the wait
		place    Place
		stage    Stage
	}{
		{"own read", caller, false, false, Direct, DeviceOwn},
		{"own read of metadata", caller, true, true, Metadata, DeviceOwn},
		{"another's read of metadata", other, true, true, Metadata, DeviceOwn},
		{"another's read", other, false, true, InCall, Unexplained},
		{"another's read of metadata at another time", other, true, false, InCall, Unexplained},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, b := sync("some_new_function", "newfs_sync_file")
			r := request(x.by, events.FileID{}, 10, 10, 90)
			r.Flags, r.Metadata = events.OpRead, x.metadata
			if b.Requests = []events.Request{r}; x.known {
				b.Waits[0].Request = r.First
			}
			got := explained(t, c, b)
			expect(t, &got, x.place, x.stage, "", 80)
		})
	}
}

// A request completes before its last page is marked as written: a short wait for one of these
// pages is kernel time.
func TestPagesOfCompletedRequest(t *testing.T) {
	c, b := sync("folio_wait_writeback", "__filemap_fdatawait_range", "ext4_sync_file")
	b.Requests = []events.Request{request(caller, file, 5, 5, 90)}
	b.Waits[0].In = b.Waits[0].Wake
	b.Waits = append(b.Waits, events.Wait{Task: caller, Out: 1090*ms + 100_000, Wake: 1090*ms + 600_000, In: 1090*ms + 600_000, Stack: b.Waits[0].Stack})
	x := explained(t, c, b)
	expect(t, &x, Pages, Unexplained, "", 0)
	if n := len(x.Segments); n < 2 || x.Segments[n-2].Stage != Completion || x.Segments[n-2].Took() != 500*time.Microsecond {
		t.Errorf("%+v", x.Segments)
	}
}

// A device may reorder requests: whatever it served while the request waited was ahead of it.
func TestOvertaken(t *testing.T) {
	c, b := sync("submit_bio_wait", "__iomap_dio_rw")
	r := request(caller, events.FileID{}, 10, 10, 90)
	b.Requests = []events.Request{request(other, events.FileID{}, 30, 30, 60), request(other, events.FileID{}, 61, 61, 89), r}
	x := explained(t, c, b)
	if got := of(&x, Direct, DeviceQueue, "neighbour"); got < 40 {
		t.Errorf("%d ms: %+v", got, x.Segments)
	}
}
