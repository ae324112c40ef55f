package results

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// What was ahead of a call, in words: whose pages, of which file, and why they were written just then.
func TestCulprit(t *testing.T) {
	dd := chain.Culprit{Comm: "dd", PID: 42, File: "/tmp/out"}
	with := func(change func(*chain.Culprit)) chain.Culprit {
		c := dd
		change(&c)
		return c
	}
	why := func(w chain.Why) chain.Culprit { return with(func(c *chain.Culprit) { c.Why = w }) }
	own := func(w chain.Why) chain.Culprit {
		return with(func(c *chain.Culprit) { c.Why, c.Self = w, true })
	}

	for _, c := range []struct {
		culprit chain.Culprit
		want    string
	}{
		{why(chain.WhyBackground), "pages of out that dd wrote and the kernel flushed because too much memory was dirty"},
		{why(chain.WhyPeriodic), "pages of out that dd wrote and the kernel flushed because they were old"},
		{why(chain.WhySyncAll), "pages of out that dd wrote and a sync of the whole file system flushed"},
		{why(chain.WhyReclaim), "pages of out that dd wrote and the kernel flushed"},
		{why(chain.WhyOtherFlush), "pages of out that dd wrote and the kernel flushed"},
		{why(chain.WhyFsync), "pages of out that dd's own sync wrote"},
		{why(chain.WhyDirect), "direct writes of dd"},
		{why(chain.WhyRead), "reads of dd"},
		{why(chain.WhyJournal), "pages of out that dd wrote and the journal had to write first"},
		{why(chain.WhyLog), "XFS's log"}, {why(chain.WhyMetadata), "the file system's metadata"}, {why(chain.WhyFlush), "a flush of the device's cache"}, {why(chain.WhyDiscard), "discards"},
		{why(chain.WhyLock), "a lock that dd (42) held"}, {why(chain.WhyHandle), "a transaction that dd (42) kept open"},
		{own(chain.WhyBackground), "its own pages of out that the kernel flushed because too much memory was dirty"},
		{own(chain.WhyFsync), "its own pages"}, {own(chain.WhyDirect), "its own direct writes"}, {own(chain.WhyRead), "its own reads"},
		{dd, "dd"},
		{with(func(c *chain.Culprit) { c.Why, c.Holds = chain.WhyPeriodic, "the index of orders" }), "pages of the index of orders that dd wrote and the kernel flushed because they were old"},
		{with(func(c *chain.Culprit) { c.Why, c.File, c.Inode = chain.WhyPeriodic, "", 77 }), "pages of inode 77 that dd wrote and the kernel flushed because they were old"},
		{with(func(c *chain.Culprit) { c.Why, c.Comm = chain.WhyRead, "" }), "reads of process 42"},
		{chain.Culprit{Why: chain.WhyJournal}, "ext4's journal"},
		{chain.Culprit{Why: chain.WhyPeriodic, File: "a"}, "pages of a that the kernel flushed because they were old"},
		// Neither the file nor the process is always known.
		{chain.Culprit{Why: chain.WhyPeriodic, Comm: "dd"}, "pages that dd wrote and the kernel flushed because they were old"},
		{chain.Culprit{Why: chain.WhyReclaim}, "pages that the kernel flushed"},
		{chain.Culprit{Why: chain.WhyFsync, Comm: "dd"}, "pages that dd's own sync wrote"},
	} {
		if got := culpritPhrase(&c.culprit); got != c.want {
			t.Errorf("%+v: %q, want %q", c.culprit, got, c.want)
		}
	}
}

// A share of the time is attributed to the device, the kernel, a limit, or something ahead.
func TestCause(t *testing.T) {
	for _, c := range []struct {
		cause chain.Cause
		want  string
	}{
		{chain.Cause{Kind: chain.TheDevice}, "the device itself"}, {chain.Cause{Kind: chain.TheFlush}, "the device's flushes"}, {chain.Cause{Kind: chain.TheLimit}, "a limit of its cgroup"},
		{chain.Cause{Kind: chain.TheLimit, Culprit: chain.Culprit{Cgroup: "/db"}}, "a limit of its cgroup /db"}, {chain.Cause{Kind: chain.Processor}, "ready to run, without a processor"},
		{chain.Cause{Kind: chain.TheKernel}, "the kernel's own work"}, {chain.Cause{Kind: chain.NotKnown}, "unexplained"}, {chain.Cause{Kind: chain.NobodyKnown}, "behind requests that were not traced"},
		{chain.Cause{Culprit: chain.Culprit{Comm: "dd", Why: chain.WhyRead}}, "behind reads of dd"},
	} {
		if got := causePhrase(&c.cause); got != c.want {
			t.Errorf("%+v: %q, want %q", c.cause, got, c.want)
		}
	}
}

// The caller is named if there is one, with its file if there is one.
func TestCaller(t *testing.T) {
	h := &events.Header{Target: "cgroup /db"}
	for _, c := range []struct {
		callers []chain.Caller
		want    string
	}{
		{nil, "cgroup /db"}, {[]chain.Caller{{Comm: "mongod", Files: []string{"/data/journal/log.1"}}}, "mongod (log.1)"},
		{[]chain.Caller{{Comm: "mongod", Files: []string{"a", "b"}}}, "mongod"}, {[]chain.Caller{{Comm: "mongod", PID: 1}, {Comm: "mongod", PID: 2}}, "mongod"}, {[]chain.Caller{{Comm: "mongod"}, {Comm: "dd"}}, "cgroup /db"},
	} {
		if got := callerPhrase(&chain.Report{Header: h, Callers: c.callers}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.callers, got, c.want)
		}
	}
	kinds := []chain.KindCount{{Kind: events.Fdatasync, Slow: 3}, {Kind: events.Write}}
	if got := callsPhrase(&chain.Report{Slow: 3, Kinds: kinds}); got != "3 fdatasyncs" {
		t.Error(got)
	}
	if got := callsPhrase(&chain.Report{Slow: 1, Kinds: kinds}); got != "1 fdatasync" {
		t.Error(got)
	}
	kinds[1].Slow = 1234
	if got := callsPhrase(&chain.Report{Slow: 1237, Kinds: kinds}); got != "1,237 calls" {
		t.Error(got)
	}
}

// What could not be traced is said before the result, because it limits how far to trust it.
func TestTraceLead(t *testing.T) {
	h := &events.Header{
		Target:  "mongod",
		Lasted:  time.Minute,
		Kernel:  "Linux 6.18",
		Disks:   []events.Disk{{Name: "nvme0n1"}, {Name: "nvme1n1", Scheduler: "none", NrRequests: 1023}},
		Missing: []string{"locks of inodes"},
		Cut:     true,
	}
	h.Totals.Lost = 1234
	if got, want := strings.Join(traceLead(&chain.Report{Header: h, Notes: []string{"the trace ended early"}}), "\n"), `Traced mongod for 60.0 s on nvme0n1, nvme1n1 (scheduler none, 1023 requests); Linux 6.18.
1,234 events were lost: the ring was full. Shares are less certain.
There were more events than can be kept: the longest calls may be explained only in part.
This kernel does not show locks of inodes.
The trace ended early.`; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Parts of a call that are alike are one link of its chain; parts of less than 3 % are only counted.
func TestChainLine(t *testing.T) {
	ms := func(n int64) int64 { return n * int64(time.Millisecond) }
	dd := chain.Share{Culprit: chain.Culprit{Comm: "dd", Why: chain.WhyRead}, Requests: 2, Bytes: 1 << 20}
	c := &chain.Chain{Segments: []chain.Segment{
		{From: 0, To: ms(40), Place: chain.Pages, Stage: chain.DeviceQueue, Shares: []chain.Share{dd}},
		{From: ms(40), To: ms(50), Place: chain.InCall, Stage: chain.DeviceOwn, Shares: []chain.Share{dd}},
		{From: ms(50), To: ms(90), Place: chain.Pages, Stage: chain.DeviceQueue, Shares: []chain.Share{dd}},
		{From: ms(90), To: ms(92), Place: chain.InCall, Stage: chain.Running},
		{
			From:  ms(92),
			To:    ms(100),
			Place: chain.InCall,
			Stage: chain.Unexplained,
			Stack: "io_schedule < bit_wait < fsync",
		}}}
	c.Call.Exit = ms(100)
	if got, want := chainLine(c), "80.0 ms its pages: device: behind other requests (reads of dd, 4 requests, 2.10 MB) > 10.0 ms device: the request itself > 8.00 ms unexplained in io_schedule > 2.00 ms in small parts"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Every stage and place has a description, so that no sentence about a chain has a gap.
func TestTraceHasWords(t *testing.T) {
	for s, w := range stageWords {
		if w == "" || strings.ToLower(w[:1]) != w[:1] {
			t.Errorf("stage %v: %q", s, w)
		}
	}
	h, b, err := events.LoadFile("../../trace/chain/testdata/xfs-dd.trace")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range chain.Replay(h, b).Places() {
		if placeWords[p.Place] == "" || stageWords[p.Stage] == "" {
			t.Errorf("no words for %v, %v", p.Place, p.Stage)
		}
	}
}

// A file in an owner's label is replaced by what it holds.
func TestOwnerName(t *testing.T) {
	r := &chain.Report{Header: &events.Header{Holds: map[string]string{"/data/16384": "the table orders"}}}
	for in, want := range map[string]string{"mongod 16384 (write)": "mongod the table orders (write)", "mongod 163840 (write)": "mongod 163840 (write)", "others": "others"} {
		if got := ownerName(r, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
