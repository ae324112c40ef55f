// Package events is what a trace sees: slow system calls, threads that waited, requests to devices,
// commits of a journal, and who writes which file. They are plain values: package probe gets them
// from the kernel, [Save] and [Load] keep them in a file, and package chain explains calls by them.
//
// Times are nanoseconds of the kernel's monotonic clock. Devices are the kernel's numbers, major
// times 2^20 plus minor.
package events

import (
	"slices"
	"strings"
	"time"
)

// A Kind is what a system call does.
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

// String is the call's name.
func (k Kind) String() string {
	names := [...]string{"call", "fsync", "fdatasync", "sync_file_range", "msync", "write", "read", "sync"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// A Task is a thread, as it was called at the time.
type Task struct {
	PID  uint32 `json:"pid"`
	TID  uint32 `json:"tid"`
	Comm string `json:"comm"`
}

// A FileID is a file's device and inode number; both are 0 where the file is not known.
type FileID struct {
	Dev   uint32 `json:"dev,omitempty"`
	Inode uint64 `json:"ino,omitempty"`
}

// A Call is a system call that took long. It is seen only when its thread stops running: it lasts from
// then, or from when the file system began the sync, until it runs again for the last time, or until
// ext4 was done with the sync.
type Call struct {
	Task
	Kind   Kind   `json:"kind"`
	Enter  int64  `json:"enter"`
	Exit   int64  `json:"exit"`
	Result int64  `json:"result"` // what a sync of ext4 returned; an error is negative
	File   FileID `json:"file"`
	FD     int32  `json:"fd"`
	Flags  uint32 `json:"flags"` // the file was opened with
	Magic  uint32 `json:"magic"` // of the file system
}

// A Wait is a time in which a thread was off its processor.
type Wait struct {
	Task
	Kernel    bool     `json:"kernel,omitempty"` // a thread of the kernel
	Preempted bool     `json:"preempted,omitempty"`
	Out       int64    `json:"out"`
	Wake      int64    `json:"wake,omitempty"` // 0 if nobody had to wake it
	In        int64    `json:"in"`
	Waker     Task     `json:"waker"`
	Request   int64    `json:"request,omitempty"` // the First of the request whose completion woke it
	Stack     []string `json:"stack,omitempty"`   // of the kernel, innermost function first
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

// A Reason is why the kernel wrote pages of its own accord.
type Reason uint8

// The kernel's reasons, plus one. NoReason is of what the kernel's flusher did not submit.
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

// A Request is one to a block device, from its making to its completion.
type Request struct {
	Task          // that submitted it
	Kernel bool   `json:"kernel,omitempty"`
	Dev    uint32 `json:"dev"` // the disk
	Sector uint64 `json:"sector"`
	Bytes  uint32 `json:"bytes"`
	Flags  uint32 `json:"flags"`
	// Alloc is when the request was made, First when it was first seen, Issue when the driver took
	// it, Done when it was complete.
	Alloc    int64  `json:"alloc,omitempty"`
	First    int64  `json:"first"`
	Issue    int64  `json:"issue"`
	Done     int64  `json:"done"`
	File     FileID `json:"file"`               // whose pages they are, if they are of the page cache
	Metadata bool   `json:"metadata,omitempty"` // pages of the device itself: the file system's own
	Reason   Reason `json:"reason,omitempty"`
	Requeues uint32 `json:"requeues,omitempty"`
	Alone    bool   `json:"alone,omitempty"` // the disk had completed all others before it was issued
}

// Begin is the earliest time at which the request is known to have been.
func (r *Request) Begin() int64 {
	if r.Alloc > 0 && r.Alloc < r.First {
		return r.Alloc
	}
	return r.First
}

// Started is when the driver got it.
func (r *Request) Started() int64 {
	if r.Issue > 0 {
		return r.Issue
	}
	return r.First
}

// Op is the operation.
func (r *Request) Op() uint32 { return r.Flags & OpMask }

// Flush reports whether it writes out the device's own cache.
func (r *Request) Flush() bool {
	return r.Op() == OpFlush || (r.Flags&FlagPreflush != 0 && r.Bytes == 0)
}

// A Commit is one of ext4's journal. A phase lasts until the next begins.
type Commit struct {
	Dev         uint32 `json:"dev"` // the file system's
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

// A File says who uses a file, and what it is called.
type File struct {
	Task
	ID      FileID `json:"id"`
	At      int64  `json:"at"`
	Dirtied bool   `json:"dirtied,omitempty"` // the task made its pages dirty
	Magic   uint32 `json:"magic,omitempty"`
	// Names are the file's own name and those of the folders above it, as far as they were read. A
	// last name of "/" is the file system's root.
	Names []string `json:"names,omitempty"`
	Path  string   `json:"path,omitempty"`  // in full, where it is known
	Group string   `json:"group,omitempty"` // the task's cgroup
}

// A Count is what all calls of a kind took that stopped running, the fast ones too.
type Count struct {
	Calls uint64        `json:"calls"`
	Time  time.Duration `json:"ns"`
	Most  time.Duration `json:"most_ns"`
	Rings uint64        `json:"rings,omitempty"` // handed over to io_uring, and no calls
}

// Totals are over the whole trace.
type Totals struct {
	Counts [Kinds]Count `json:"counts"`
	Lost   uint64       `json:"lost,omitempty"` // events for which there was no room
}

// Slowest is the longest call of any kind, and its kind.
func (t *Totals) Slowest() (Kind, time.Duration) {
	kind, most := Other, time.Duration(0)
	for k, c := range t.Counts {
		if c.Most > most {
			kind, most = Kind(k), c.Most
		}
	}
	return kind, most
}

// A Batch is events, in no order.
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

// Len is the number of events.
func (b *Batch) Len() int {
	return len(b.Calls) + len(b.Waits) + len(b.Requests) + len(b.Commits) + len(b.Handles) + len(b.Files)
}

// A Disk is a block device by its name, with the settings that decide how requests queue.
type Disk struct {
	Dev        uint32 `json:"dev"`
	Name       string `json:"name"`
	Scheduler  string `json:"scheduler,omitempty"`
	NrRequests int    `json:"nr_requests,omitempty"`
}

// A Mount is a file system, and the disks below it.
type Mount struct {
	Dev    uint32   `json:"dev"`
	Path   string   `json:"path"`
	FSType string   `json:"fs_type"`
	Source string   `json:"source,omitempty"` // the device's node, where there is one
	Disks  []uint32 `json:"disks,omitempty"`
	// Upper is the folder that has an overlay's changed files, and Below the file system it is on: what
	// the overlay's files are synced to.
	Upper string `json:"upper,omitempty"`
	Below uint32 `json:"below,omitempty"`
}

// Name is a file's path by the names from its own up to the root of the file system; "" if they do not
// reach it.
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

// A Header is what a trace was of.
type Header struct {
	Version int           `json:"plimsoll_trace"`
	Target  string        `json:"target"`            // as it was asked for
	Folders []string      `json:"folders,omitempty"` // only calls on files below one of them
	Kernel  string        `json:"kernel"`
	Began   time.Time     `json:"began"`
	BeganNs int64         `json:"began_ns"` // the same by the monotonic clock
	Lasted  time.Duration `json:"lasted_ns"`
	Slower  time.Duration `json:"slower_ns"` // calls that took less were only counted
	Disks   []Disk        `json:"disks"`
	Mounts  []Mount       `json:"mounts"`
	Missing []string      `json:"missing,omitempty"` // what this kernel could not show
	Totals  Totals        `json:"totals"`
	Cut     bool          `json:"cut,omitempty"` // there were more events than a file may hold
}

// Elsewhere reports whether a file is in none of the traced folders. Its name may not be known: "".
func (h *Header) Elsewhere(file string) bool {
	return len(h.Folders) > 0 && file != "" &&
		!slices.ContainsFunc(h.Folders,
			func(dir string) bool { return strings.HasPrefix(file, strings.TrimSuffix(dir, "/")+"/") })
}

// Disk finds a disk.
func (h *Header) Disk(dev uint32) *Disk {
	for i := range h.Disks {
		if h.Disks[i].Dev == dev {
			return &h.Disks[i]
		}
	}
	return nil
}

// Mount finds a file system; nil if it is not known.
func (h *Header) Mount(dev uint32) *Mount {
	for i := range h.Mounts {
		if h.Mounts[i].Dev == dev {
			return &h.Mounts[i]
		}
	}
	return nil
}

// Clock is a time of the monotonic clock as a time of day.
func (h *Header) Clock(ns int64) time.Time { return h.Began.Add(time.Duration(ns - h.BeganNs)) }
