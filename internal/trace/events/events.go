// Package events defines what a trace records: slow system calls, waiting threads, requests to
// devices, journal commits, and which process writes which file. They are plain values: package
// probe gets them from the kernel, [Save] and [Load] store them in a file, and package chain uses
// them to explain calls.
//
// Times are in nanoseconds of the kernel's monotonic clock. Devices are kernel device numbers,
// major times 2^20 plus minor.
package events

import (
	"slices"
	"strings"
	"time"
)

// A Kind is a type of system call.
type Kind uint8

// The kinds of calls. Their order is that of the eBPF programs.
const (
	Other Kind = iota
	Fsync
	Fdatasync
	SyncFileRange
	Msync
	Write
	Read
	Sync
	Kinds
)

// String returns the call's name.
func (k Kind) String() string {
	names := [...]string{"call", "fsync", "fdatasync", "sync_file_range", "msync", "write", "read", "sync"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// A Task is a thread, with its name at the time.
type Task struct {
	PID  uint32 `json:"pid"`
	TID  uint32 `json:"tid"`
	Comm string `json:"comm"`
}

// A FileID is a file's device and inode number; both are 0 if the file is unknown.
type FileID struct {
	Dev   uint32 `json:"dev,omitempty"`
	Inode uint64 `json:"ino,omitempty"`
}

// A Call is a system call that took long. The programs see it only when its thread stops running:
// it lasts from then, or from when the file system began the sync, until the thread runs again for
// the last time, or until ext4 finished the sync.
type Call struct {
	Task
	Kind   Kind   `json:"kind"`
	Enter  int64  `json:"enter"`
	Exit   int64  `json:"exit"`
	Result int64  `json:"result"` // return value of an ext4 sync; negative on errors
	File   FileID `json:"file"`   // file of the page cache that the pages belong to, if any
	FD     int32  `json:"fd"`
	Flags  uint32 `json:"flags"` // the file was opened with
	Magic  uint32 `json:"magic"` // of the file system
}

// A Wait is an interval in which a thread was off its CPU.
type Wait struct {
	Task
	Kernel    bool     `json:"kernel,omitempty"` // a thread of the kernel
	Preempted bool     `json:"preempted,omitempty"`
	Out       int64    `json:"out"`
	Wake      int64    `json:"wake,omitempty"` // 0 if no thread woke it
	In        int64    `json:"in"`
	Waker     Task     `json:"waker"`
	Request   int64    `json:"request,omitempty"` // the First of the request whose completion woke it
	Stack     []string `json:"stack,omitempty"`   // kernel stack, innermost function first
}

// Operations and flags of a request, as the kernel numbers them (include/linux/blk_types.h).
const (
	OpMask    = 0xff
	OpRead    = 0
	OpWrite   = 1
	OpFlush   = 2
	OpDiscard = 3

	FlagSync       = 1 << 11
	FlagMeta       = 1 << 12
	FlagIdle       = 1 << 15
	FlagFUA        = 1 << 17
	FlagPreflush   = 1 << 18
	FlagBackground = 1 << 20
)

// A Reason is why the kernel wrote back pages on its own.
type Reason uint8

// The kernel's reasons, plus one. NoReason is for pages that the kernel's flusher did not submit.
const (
	NoReason Reason = iota
	Background
	VMScan
	SyncAll
	Periodic
	Laptop
	FreeSpace
	Forker
	Foreign
)

// A Request is one request to a block device, from creation to completion.
type Request struct {
	Task          // the submitter
	Kernel bool   `json:"kernel,omitempty"` // a kernel thread
	Dev    uint32 `json:"dev"`              // the disk
	Sector uint64 `json:"sector"`
	Bytes  uint32 `json:"bytes"`
	Flags  uint32 `json:"flags"` // the file's open flags
	// Alloc is when the request was created, First when it was first seen, Issue when it was
	// dispatched to the driver, and Done when it completed.
	Alloc    int64  `json:"alloc,omitempty"`
	First    int64  `json:"first"`
	Issue    int64  `json:"issue"`
	Done     int64  `json:"done"`
	File     FileID `json:"file"`               // whose pages they are, if they are of the page cache
	Metadata bool   `json:"metadata,omitempty"` // pages of the device itself: file system metadata
	Reason   Reason `json:"reason,omitempty"`
	Requeues uint32 `json:"requeues,omitempty"`
	Alone    bool   `json:"alone,omitempty"` // the disk was idle when it was issued
}

// Begin returns the earliest time at which the request is known to have existed.
func (r *Request) Begin() int64 {
	if r.Alloc > 0 && r.Alloc < r.First {
		return r.Alloc
	}
	return r.First
}

// Started returns when the request was dispatched to the driver.
func (r *Request) Started() int64 {
	if r.Issue > 0 {
		return r.Issue
	}
	return r.First
}

// Op returns the operation.
func (r *Request) Op() uint32 { return r.Flags & OpMask }

// Flush reports whether the request flushes the device's cache.
func (r *Request) Flush() bool {
	return r.Op() == OpFlush || (r.Flags&FlagPreflush != 0 && r.Bytes == 0)
}

// A Commit is one commit of ext4's journal. Each phase lasts until the next one begins.
type Commit struct {
	Dev         uint32 `json:"dev"` // of the file system
	Transaction uint32 `json:"transaction"`
	TID         uint32 `json:"tid"` // the journal's thread
	Start       int64  `json:"start"`
	Locking     int64  `json:"locking"`
	Flushing    int64  `json:"flushing"`
	Logging     int64  `json:"logging"`
	End         int64  `json:"end"`
}

// A Handle kept a transaction of ext4's journal open.
type Handle struct {
	Task
	Dev         uint32 `json:"dev"`
	Transaction uint32 `json:"transaction"`
	Jiffies     uint32 `json:"jiffies"`
	End         int64  `json:"end"`
}

// A File says which task uses a file, and what its name is.
type File struct {
	Task
	ID      FileID `json:"id"`
	At      int64  `json:"at"`
	Dirtied bool   `json:"dirtied,omitempty"` // the task dirtied its pages
	Magic   uint32 `json:"magic,omitempty"`
	// Names holds the file's name followed by the folders above it, if they were read. A
	// final "/" means that the root of the file system was reached.
	Names []string `json:"names,omitempty"`
	Path  string   `json:"path,omitempty"`  // full path, if known
	Group string   `json:"group,omitempty"` // the task's cgroup
}

// A Count sums up all calls of a kind during which the thread stopped running, including fast ones.
type Count struct {
	Calls uint64        `json:"calls"`
	Time  time.Duration `json:"ns"`
	Most  time.Duration `json:"most_ns"`
	Rings uint64        `json:"rings,omitempty"` // submitted through io_uring instead of by a call
}

// Totals covers the whole trace.
type Totals struct {
	Counts [Kinds]Count `json:"counts"`
	Lost   uint64       `json:"lost,omitempty"` // events dropped because the ring was full
}

// Slowest returns the longest call of any kind, and its kind.
func (t *Totals) Slowest() (Kind, time.Duration) {
	kind, most := Other, time.Duration(0)
	for k, c := range t.Counts {
		if c.Most > most {
			kind, most = Kind(k), c.Most
		}
	}
	return kind, most
}

// A Batch is a set of events in no particular order.
type Batch struct {
	Calls    []Call    `json:"calls,omitempty"`
	Waits    []Wait    `json:"waits,omitempty"`
	Requests []Request `json:"requests,omitempty"`
	Commits  []Commit  `json:"commits,omitempty"`
	Handles  []Handle  `json:"handles,omitempty"`
	Files    []File    `json:"files,omitempty"`
}

// Append adds another batch's events.
func (b *Batch) Append(o *Batch) {
	b.Calls = append(b.Calls, o.Calls...)
	b.Waits = append(b.Waits, o.Waits...)
	b.Requests = append(b.Requests, o.Requests...)
	b.Commits = append(b.Commits, o.Commits...)
	b.Handles = append(b.Handles, o.Handles...)
	b.Files = append(b.Files, o.Files...)
}

// Len returns the number of events.
func (b *Batch) Len() int {
	return len(b.Calls) + len(b.Waits) + len(b.Requests) + len(b.Commits) + len(b.Handles) + len(b.Files)
}

// A Disk is a block device, with the settings that affect queueing.
type Disk struct {
	Dev        uint32 `json:"dev"`
	Name       string `json:"name"`
	Scheduler  string `json:"scheduler,omitempty"`
	NrRequests int    `json:"nr_requests,omitempty"`
}

// A Mount is a file system with the disks below it.
type Mount struct {
	Dev    uint32   `json:"dev"`
	Path   string   `json:"path"`
	FSType string   `json:"fs_type"`
	Source string   `json:"source,omitempty"` // the device node, if there is one
	Disks  []uint32 `json:"disks,omitempty"`
	// Upper is the folder with an overlay's changed files, and Below is the file system that
	// contains it, to which the overlay's files are synced.
	Upper string `json:"upper,omitempty"`
	Below uint32 `json:"below,omitempty"`
}

// Name returns a file's path, given its name and those of the folders above it; "" if they do not
// reach the root of the file system.
func (m *Mount) Name(names []string) string {
	if len(names) == 0 || names[len(names)-1] != "/" {
		return ""
	}
	p := strings.TrimSuffix(m.Path, "/")
	for _, name := range slices.Backward(names[:len(names)-1]) {
		p += "/" + name
	}
	return p
}

// A Header describes a trace.
type Header struct {
	Version int           `json:"plimsoll_trace"`
	Target  string        `json:"target"`            // as the user specified it
	Folders []string      `json:"folders,omitempty"` // if set, only calls on files below these
	Kernel  string        `json:"kernel"`
	Began   time.Time     `json:"began"`
	BeganNs int64         `json:"began_ns"` // the same on the monotonic clock
	Lasted  time.Duration `json:"lasted_ns"`
	Slower  time.Duration `json:"slower_ns"` // faster calls are only counted
	Disks   []Disk        `json:"disks"`
	Mounts  []Mount       `json:"mounts"`
	Missing []string      `json:"missing,omitempty"` // what this kernel cannot show
	Totals  Totals        `json:"totals"`
	Cut     bool          `json:"cut,omitempty"` // more events than the limit: some are missing
	// Background lists the processes that no client waits for; their calls are in no report.
	Background []uint32 `json:"background,omitempty"`
	// Holds says what files hold, by path, as their server names it: "orders" for a table's.
	Holds map[string]string `json:"holds,omitempty"`
}

// Elsewhere reports whether a file is outside the traced folders. A file of unknown name ("") is
// not.
func (h *Header) Elsewhere(file string) bool {
	return len(h.Folders) > 0 && file != "" &&
		!slices.ContainsFunc(h.Folders,
			func(dir string) bool { return strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") })
}

// Disk finds a disk; nil if it is unknown.
func (h *Header) Disk(dev uint32) *Disk {
	for i := range h.Disks {
		if h.Disks[i].Dev == dev {
			return &h.Disks[i]
		}
	}
	return nil
}

// Mount finds a file system; nil if it is unknown.
func (h *Header) Mount(dev uint32) *Mount {
	for i := range h.Mounts {
		if h.Mounts[i].Dev == dev {
			return &h.Mounts[i]
		}
	}
	return nil
}

// Clock converts a time of the monotonic clock to wall clock time.
func (h *Header) Clock(ns int64) time.Time { return h.Began.Add(time.Duration(ns - h.BeganNs)) }
