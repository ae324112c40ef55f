//go:build linux

package blockdev

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"plimsoll/internal/lab/disk"
)

// imageName is the only file of the FUSE file system.
const imageName = "image"

const (
	rootInode  = fuse.FUSE_ROOT_ID
	imageInode = 2
)

// foreverSeconds is how long the kernel may cache an answer: attributes never change.
const foreverSeconds = 1 << 30

// A single is a file system that presents a disk as one file.
type single struct {
	fuse.RawFileSystem // answers all other requests with "not implemented"
	disk               *disk.Disk
}

func (s *single) String() string { return "plimsoll disk " + s.disk.Name() }

func (s *single) attr(inode uint64, out *fuse.Attr) {
	*out = fuse.Attr{Ino: inode, Nlink: 1, Mode: syscall.S_IFDIR | 0o700, Blksize: 4096}
	if inode == imageInode {
		out.Mode = syscall.S_IFREG | 0o600
		out.Size = uint64(s.disk.Size())
		out.Blocks = out.Size / 512
	}
}

func (s *single) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if in.NodeId != rootInode || name != imageName {
		return fuse.ENOENT
	}
	out.NodeId, out.Generation = imageInode, 1
	out.EntryValid, out.AttrValid = foreverSeconds, foreverSeconds
	s.attr(imageInode, &out.Attr)
	return fuse.OK
}

func (s *single) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	out.AttrValid = foreverSeconds
	s.attr(in.NodeId, &out.Attr)
	return fuse.OK
}

func (s *single) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

func (s *single) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if in.NodeId != imageInode {
		return fuse.Status(syscall.EISDIR)
	}
	// Only the page cache above the loop device is needed: a second one here would hide I/O from the disk.
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return fuse.OK
}

func (s *single) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	end := int64(s.disk.Size())
	off := int64(in.Offset)
	if off < 0 || off >= end {
		return fuse.ReadResultData(nil), fuse.OK
	}
	buf = buf[:min(int64(len(buf)), end-off)]
	n, err := s.disk.ReadAt(buf, off)
	if err != nil {
		return nil, fuse.ToStatus(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (s *single) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, err := s.disk.WriteAt(data, int64(in.Offset))
	if err != nil {
		return 0, fuse.ToStatus(err)
	}
	return uint32(n), fuse.OK
}

func (s *single) Fsync(<-chan struct{}, *fuse.FsyncIn) fuse.Status {
	return fuse.ToStatus(s.disk.Flush())
}

// Flush is called by close(2), which has no meaning for a disk.
func (s *single) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

// Fallocate implements discards of the loop device.
func (s *single) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	if in.Mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) == 0 {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return fuse.ToStatus(s.disk.Discard(int64(in.Offset), int64(in.Length)))
}

func (s *single) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.NameLen = 4096, 255
	out.Blocks = uint64(s.disk.Size()) / 4096
	return fuse.OK
}

// inFlightMax is the number of requests that the kernel passes on concurrently: more than any loop
// device has.
const inFlightMax = 1024

// readersMost bounds the threads that wait for a device's requests. go-fuse starts as many as
// GOMAXPROCS allows when the server is created, and each waiting thread occupies one of Go's
// processors.
const readersMost = 4

// serve mounts the disk's file system on dir and serves it.
func serve(d *disk.Disk, dir string) (*fuse.Server, error) {
	// go-fuse has no option for the number of readers.
	processors := runtime.GOMAXPROCS(readersMost)
	srv, err := newServer(d, dir)
	runtime.GOMAXPROCS(processors)
	if err != nil {
		return nil, err
	}
	go srv.Serve()
	if err := srv.WaitMount(); err != nil {
		_ = srv.Unmount()
		return nil, err
	}
	return srv, nil
}

// newServer mounts the disk's file. Processes started later must not inherit the connection: they
// would keep it open after this process was killed, and everything that waits for the volume would
// hang.
func newServer(d *disk.Disk, dir string) (*fuse.Server, error) {
	syscall.ForkLock.RLock() // prevents forks until the connection is marked close-on-exec
	defer syscall.ForkLock.RUnlock()
	s, err := fuse.NewServer(&single{fuse.NewDefaultRawFileSystem(), d}, dir, &fuse.MountOptions{
		MaxBackground: inFlightMax, CongestionThreshold: inFlightMax,
		MaxWrite: 1 << 20, FsName: "plimsoll", Name: "plimsoll", DisableXAttrs: true,
		// Without this, the kernel sends a file's direct writes one at a time.
		ExtraCapabilities: fuse.CAP_ASYNC_DIO,
		DirectMountStrict: true, DirectMountFlags: syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC,
	})
	if err == nil {
		closeOnExec("/dev/fuse")
	}
	return s, err
}

// closeOnExec marks all of this process's descriptors of a file close-on-exec, because go-fuse
// opens /dev/fuse without that flag.
func closeOnExec(path string) {
	const dir = "/proc/self/fd"
	entries, _ := os.ReadDir(dir) // nothing can be done without /proc
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err != nil || to != path {
			continue // a different file, or closed in the meantime
		}
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			syscall.CloseOnExec(fd)
		}
	}
}
