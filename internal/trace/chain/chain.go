// Package chain explains slow system calls by the events around them: which stage each nanosecond
// of a call was spent in, and who was in the way.
//
// A call is cut at every moment at which its thread left its processor, was woken or ran again.
// Each wait is classified by the kernel functions in which the thread slept. A wait for pages, for a
// log or for a request is then followed to the request that ended it: the time before the request
// existed, in a scheduler, and at the device. A wait for ext4's journal is followed to the journal's
// thread, and its waits in turn. The parts of a call add up to its duration; what nothing explains is
// Unexplained.
//
// Everything here is a pure function of the events, so it is tested with saved traces.
package chain

import (
	"time"

	"plimsoll/internal/trace/events"
)

// A Place is what the call was doing when it waited: a step of the file system.
type Place string

// The places.
const (
	InCall       Place = ""                // the call's own work
	Pages        Place = "pages"           // its file's pages are being written
	JournalWait  Place = "journal_wait"    // the commit has not begun
	JournalPrev  Place = "journal_earlier" // the commit before it is under way
	JournalLock  Place = "journal_locking" // the transaction is open in some thread
	JournalData  Place = "journal_ordered" // data that the commit must write first
	JournalLog   Place = "journal_log"     // the commit's blocks
	JournalEnd   Place = "journal_barrier" // the commit's last block and flushes
	JournalBegin Place = "journal_handle"  // the call's own change waits for the journal
	JournalFull  Place = "journal_full"    // the journal has no room
	XFSLog       Place = "xfs_log"
	Throttled    Place = "dirty_throttle" // balance_dirty_pages
	Direct       Place = "direct"         // a request of its own
	Reading      Place = "reading"
	Flushing     Place = "flushing" // the device's cache
	Metadata     Place = "metadata" // the file system's own blocks
	Locked       Place = "lock"     // another thread has the file or the page
)

// A Stage is where the time went.
type Stage string

// The stages.
const (
	DeviceQueue Stage = "device_queue" // other requests at the device
	DeviceOwn   Stage = "device"       // the device, with the request alone
	DeviceFlush Stage = "device_flush"
	Scheduler   Stage = "io_scheduler" // not yet given to the driver
	TagWait     Stage = "tag_wait"     // no free request
	WBT         Stage = "writeback_throttling"
	CgroupWait  Stage = "cgroup_limit"
	Throttle    Stage = "dirty_throttle"
	LockWait    Stage = "lock"
	HandleWait  Stage = "open_transaction"
	Submission  Stage = "not_submitted" // the request did not exist yet
	Completion  Stage = "completion"    // the request was complete
	Running     Stage = "running"
	Runnable    Stage = "runnable" // woken, but without a processor
	Unexplained Stage = "unexplained"
)

// A Culprit is who was in the way. It is comparable.
type Culprit struct {
	// Self says that the call's own data or change was.
	Self bool `json:"self,omitempty"`
	// Comm and PID are of the process whose doing it was: of those who made the pages dirty, not of
	// the kernel's thread that wrote them.
	Comm string `json:"process,omitempty"`
	PID  uint32 `json:"pid,omitempty"`
	TID  uint32 `json:"tid,omitempty"`
	File string `json:"file,omitempty"`
	// Inode is the file's number where its name is not known.
	Inode  uint64 `json:"inode,omitempty"`
	Why    Why    `json:"why,omitempty"`
	Cgroup string `json:"cgroup,omitempty"`
}

// A Why is the reason for which a culprit's requests were made.
type Why string

// The reasons.
const (
	WhyBackground Why = "background_flush" // too many dirty pages
	WhyPeriodic   Why = "periodic_flush"   // old dirty pages
	WhySyncAll    Why = "sync"             // sync(2), or an unmount
	WhyReclaim    Why = "reclaim"          // memory was short
	WhyOtherFlush Why = "flush"
	WhyFsync      Why = "fsync" // the process's own
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

// A Share is a culprit's part of a segment.
type Share struct {
	Culprit  Culprit       `json:"culprit"`
	Time     time.Duration `json:"ns"`
	Requests int           `json:"requests,omitempty"` // that were ahead
	Bytes    int64         `json:"bytes,omitempty"`
}

// A Segment is a part of a call.
type Segment struct {
	From   int64   `json:"from"`
	To     int64   `json:"to"`
	Place  Place   `json:"place,omitempty"`
	Stage  Stage   `json:"stage"`
	Shares []Share `json:"shares,omitempty"`
	Stack  string  `json:"stack,omitempty"` // where it waited, if nothing explains it
}

// Took is its duration.
func (s *Segment) Took() time.Duration { return time.Duration(s.To - s.From) }

// A Chain is a call with its parts, in the order of time.
type Chain struct {
	Call     events.Call
	Process  string // as its first thread is called; Call.Comm is what the calling one is called
	File     string // its path, as far as it is known
	Segments []Segment
	Queue    *Queue // of the longest call alone
}

// Took is the call's duration.
func (c *Chain) Took() time.Duration { return time.Duration(c.Call.Exit - c.Call.Enter) }
