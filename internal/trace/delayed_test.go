//go:build linux

package trace_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A delay is a file in memory whose reads and writes take a fixed time. It is served by a single thread
// that sleeps in the kernel, which is as cheap as a user-space file system (FUSE) can be. The lab's
// volume, with its model, uses four times as much CPU time per request, which the measured engines
// need.
type delay struct {
	fd    int
	each  time.Duration
	image []byte
	in    []byte
	start time.Time
	due   []pending // in time order, since all take equally long
}

// A pending request is answered at a set time.
type pending struct {
	unique uint64
	at     time.Duration
	offset uint64
	read   int    // bytes to read
	wrote  uint32 // or bytes written
}

const (
	delayedName  = "image"
	delayedBytes = 6 << 30
	delayedMost  = 1 << 20 // maximum size of a request
	delayedInode = 2
)

// serveDelayed serves such a file in a folder until the folder is unmounted.
func serveDelayed(dir, latency string) error {
	each, err := time.ParseDuration(latency)
	if err != nil {
		return err
	}

	d := &delay{each: each, in: make([]byte, delayedMost+4096), start: time.Now(), due: make([]pending, 0, 4096)}
	if d.image, err = unix.Mmap(-1, 0, delayedBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE); err != nil {
		return err
	}

	if d.fd, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return err
	}

	if err := unix.Mount("plimsoll", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", d.fd)); err != nil {
		return err
	}

	fmt.Println("mounted")

	// Like a device's interrupt, it has priority over the processes that wait for it.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0); err != nil {
		return err
	}

	for {
		d.answerDue()
		if err := d.sleep(); err != nil {
			return err
		}

		for {
			n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(d.fd), uintptr(unsafe.Pointer(&d.in[0])), uintptr(len(d.in)))
			if e == unix.ENODEV { // unmounted
				return nil
			}

			if e == unix.EAGAIN {
				break
			}
			if e == unix.EINTR || e == unix.ENOENT {
				continue
			}
			if e != 0 {
				return e
			}

			d.handle(d.in[:n])
		}
	}
}

// sleep waits for a request, or until an answer is due.
func (d *delay) sleep() error {
	fds := [1]unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}}
	var until *unix.Timespec
	if len(d.due) > 0 {
		ts := unix.NsecToTimespec(max(int64(d.due[0].at-time.Since(d.start)), 0))
		until = &ts
	}
	_, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), 1, uintptr(unsafe.Pointer(until)), 0, 0, 0)
	if e != 0 && e != unix.EINTR {
		return e
	}
	return nil
}

// answerDue sends the answers that are due.
func (d *delay) answerDue() {
	n, now := 0, time.Since(d.start)
	for ; n < len(d.due) && d.due[n].at <= now; n++ {
		if p := &d.due[n]; p.read > 0 {
			d.answer(p.unique, d.image[p.offset:][:p.read])
		} else {
			answerWith(d, p.unique, &fuse.WriteOut{Size: p.wrote})
		}
	}
	d.due = d.due[:copy(d.due, d.due[n:])]
}

// The operations of linux/fuse.h.
const (
	fuseLookup      = 1
	fuseForget      = 2
	fuseGetattr     = 3
	fuseOpen        = 14
	fuseRead        = 15
	fuseWrite       = 16
	fuseRelease     = 18
	fuseFlush       = 25
	fuseInit        = 26
	fuseInterrupt   = 36
	fuseDestroy     = 38
	fuseBatchForget = 42
)

func (d *delay) handle(in []byte) {
	h := (*fuse.InHeader)(unsafe.Pointer(&in[0]))
	at := time.Since(d.start) + d.each
	switch h.Opcode {
	case fuseInit:
		const asynchronous = 1<<0 | 1<<5 | 1<<15 | 1<<22 // reads, large writes, direct I/O; pages of a request
		i := (*fuse.InitIn)(unsafe.Pointer(&in[0]))
		answerWith(d, h.Unique, &fuse.InitOut{Major: i.Major, Minor: min(i.Minor, 38), Flags: asynchronous, MaxBackground: 1024, CongestionThreshold: 1024,
			MaxWrite: delayedMost, TimeGran: 1, MaxPages: delayedMost / 4096})
	case fuseLookup:
		answerWith(d, h.Unique, &fuse.EntryOut{NodeId: delayedInode, Generation: 1, EntryValid: 1 << 30, AttrValid: 1 << 30, Attr: delayedAttr(delayedInode)})
	case fuseGetattr:
		answerWith(d, h.Unique, &fuse.AttrOut{AttrValid: 1 << 30, Attr: delayedAttr(h.NodeId)})
	case fuseOpen:
		answerWith(d, h.Unique, &fuse.OpenOut{OpenFlags: fuse.FOPEN_DIRECT_IO})
	case fuseRead:
		r := (*fuse.ReadIn)(unsafe.Pointer(&in[0]))
		d.due = append(d.due, pending{unique: h.Unique, at: at, offset: r.Offset, read: int(r.Size)})
	case fuseWrite:
		w := (*fuse.WriteIn)(unsafe.Pointer(&in[0]))
		copy(d.image[w.Offset:], in[unsafe.Sizeof(*w):][:w.Size])
		d.due = append(d.due, pending{unique: h.Unique, at: at, wrote: w.Size})
	case fuseRelease, fuseFlush, fuseDestroy:
		d.answer(h.Unique, nil)
	case fuseForget, fuseBatchForget, fuseInterrupt: // these have no answer
	default: // includes fsync: the kernel then stops sending it, as for a volume without a volatile cache
		d.reply(h.Unique, -int32(unix.ENOSYS), nil)
	}
}

func delayedAttr(inode uint64) fuse.Attr {
	a := fuse.Attr{Ino: inode, Nlink: 1, Mode: unix.S_IFDIR | 0o700, Blksize: 4096}
	if inode == delayedInode {
		a.Mode, a.Size, a.Blocks = unix.S_IFREG|0o600, delayedBytes, delayedBytes/512
	}
	return a
}

func answerWith[T any](d *delay, unique uint64, x *T) {
	d.answer(unique, unsafe.Slice((*byte)(unsafe.Pointer(x)), unsafe.Sizeof(*x)))
}

func (d *delay) answer(unique uint64, data []byte) { d.reply(unique, 0, data) }

func (d *delay) reply(unique uint64, status int32, data []byte) {
	head := fuse.OutHeader{Status: status, Unique: unique}
	head.Length = uint32(unsafe.Sizeof(head)) + uint32(len(data))
	parts := [2]unix.Iovec{{Base: (*byte)(unsafe.Pointer(&head)), Len: uint64(unsafe.Sizeof(head))}, {}}
	n := uintptr(1)
	if len(data) > 0 {
		parts[1], n = unix.Iovec{Base: &data[0], Len: uint64(len(data))}, 2
	}
	_, _, e := unix.RawSyscall(unix.SYS_WRITEV, uintptr(d.fd), uintptr(unsafe.Pointer(&parts[0])), n)
	if e != 0 && !errors.Is(e, unix.ENOENT) { // the requester is gone
		fmt.Fprintln(os.Stderr, "answering:", e)
	}
}
