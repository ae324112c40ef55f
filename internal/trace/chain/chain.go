// Package chain explains slow system calls by the events around them: which stage each nanosecond
// of a call was spent in, and what blocked it.
//
// A call is split whenever its thread left its CPU, was woken or ran again. Each wait is classified
// by the kernel functions in which the thread slept. A wait for pages, for a log or for a request
// is then followed to the request that ended it, and split into the time before that request
// existed, the time in a scheduler, and the time at the device. A wait for ext4's journal is
// followed to the journal's thread, and so are that thread's own waits. The parts of a call add up
// to its duration; time that nothing explains is Unexplained.
//
// Everything here is a pure function of the events, so saved traces can test it.
package chain

import (
	"time"

	"plimsoll/internal/trace/events"
)

// A Place is the file system step during which the call waited.
type Place string

// The places.
const (
	InCall       Place = ""                // the call's own work
	Pages        Place = "pages"           // pages of its file are being written
	JournalWait  Place = "journal_wait"    // the commit has not started
	JournalPrev  Place = "journal_earlier" // the previous commit is still running
	JournalLock  Place = "journal_locking" // some thread still holds the transaction open
	JournalData  Place = "journal_ordered" // data that must be written before the commit
	JournalLog   Place = "journal_log"     // the commit's blocks
	JournalEnd   Place = "journal_barrier" // the commit's last block and flushes
	JournalBegin Place = "journal_handle"  // the call cannot add its own change to the journal
	JournalFull  Place = "journal_full"    // the journal has no space left
	XFSLog       Place = "xfs_log"
	Throttled    Place = "dirty_throttle" // balance_dirty_pages
	Direct       Place = "direct"         // one of its own requests
	Reading      Place = "reading"
	Flushing     Place = "flushing" // the device's cache
	Metadata     Place = "metadata" // blocks of the file system itself
	Locked       Place = "lock"     // another thread holds the lock of the file or page
)

// A Stage says how the time was spent.
type Stage string

// The stages.
const (
	DeviceQueue Stage = "device_queue" // other requests at the device
	DeviceOwn   Stage = "device"       // the device, serving only this request
	DeviceFlush Stage = "device_flush"
	Scheduler   Stage = "io_scheduler" // not yet dispatched to the driver
	TagWait     Stage = "tag_wait"     // no free request
	WBT         Stage = "writeback_throttling"
	CgroupWait  Stage = "cgroup_limit"
	Throttle    Stage = "dirty_throttle"
	LockWait    Stage = "lock"
	HandleWait  Stage = "open_transaction"
	Submission  Stage = "not_submitted" // the request did not exist yet
	Completion  Stage = "completion"    // after the request completed
	Running     Stage = "running"
	Runnable    Stage = "runnable" // woken, but waiting for a CPU
	Unexplained Stage = "unexplained"
)

// A Culprit is the process or data that blocked a call. It is comparable.
type Culprit struct {
	// Self means that the call's own data or change blocked it.
	Self bool `json:"self,omitempty"`
	// Comm and PID identify the responsible process: for writeback, the process that dirtied the
	// pages, not the kernel thread that wrote them.
	Comm string `json:"process,omitempty"`
	PID  uint32 `json:"pid,omitempty"`
	TID  uint32 `json:"tid,omitempty"`
	File string `json:"file,omitempty"`
	// Holds is what the file holds, as its server names it, if the path does not say it.
	Holds string `json:"holds,omitempty"`
	// Inode is the file's inode number if its name is unknown.
	Inode  uint64 `json:"inode,omitempty"`
	Why    Why    `json:"why,omitempty"`
	Cgroup string `json:"cgroup,omitempty"`
}

// A Why is the reason a culprit's requests were made.
type Why string

// The reasons.
const (
	WhyBackground Why = "background_flush" // too many dirty pages
	WhyPeriodic   Why = "periodic_flush"   // old dirty pages
	WhySyncAll    Why = "sync"             // sync(2), or an unmount
	WhyReclaim    Why = "reclaim"          // the kernel needed memory
	WhyOtherFlush Why = "flush"
	WhyFsync      Why = "fsync" // a sync by the process itself
	WhyDirect     Why = "direct_write"
	WhyRead       Why = "read"
	WhyJournal    Why = "journal"
	WhyLog        Why = "xfs_log"
	WhyMetadata   Why = "metadata"
	WhyFlush      Why = "cache_flush"
	WhyDiscard    Why = "discard"
	WhyLock       Why = "lock"
	WhyHandle     Why = "open_transaction"
)

// A Share is the part of a segment attributed to one culprit.
type Share struct {
	Culprit  Culprit       `json:"culprit"`
	Time     time.Duration `json:"ns"`
	Requests int           `json:"requests,omitempty"` // that were ahead
	Bytes    int64         `json:"bytes,omitempty"`
}

// A Segment is an interval of a call spent at one place and stage.
type Segment struct {
	From   int64   `json:"from"`
	To     int64   `json:"to"`
	Place  Place   `json:"place,omitempty"`
	Stage  Stage   `json:"stage"`
	Shares []Share `json:"shares,omitempty"`
	Stack  string  `json:"stack,omitempty"` // innermost function first, if nothing explains the wait
}

// Took returns the segment's duration.
func (s *Segment) Took() time.Duration { return time.Duration(s.To - s.From) }

// A Chain is a call split into segments, in time order.
type Chain struct {
	Call     events.Call
	Process  string // name of its first thread; Call.Comm is the name of the calling thread
	File     string // its path, if known
	Segments []Segment
	Queue    *Queue // only for the longest call
}

// Took returns the call's duration.
func (c *Chain) Took() time.Duration { return time.Duration(c.Call.Exit - c.Call.Enter) }
