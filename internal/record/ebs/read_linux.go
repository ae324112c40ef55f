package ebs

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// passthru is struct nvme_passthru_cmd of linux/nvme_ioctl.h.
type passthru struct {
	opcode, flags     uint8
	_                 uint16
	namespace         uint32
	_, _              uint32
	_                 uint64
	address           uint64
	_                 uint32
	length            uint32
	dword10, dword11  uint32
	_, _, _, _        uint32
	timeoutMs, result uint32
}

const (
	ioctlAdmin = 0xC0484E41 // NVME_IOCTL_ADMIN_CMD, _IOWR('N', 0x41, struct nvme_passthru_cmd)
	getLogPage = 0x02
)

// Read reads the log page of a device, "/dev/nvme1n1", which must be an Amazon EBS volume: see
// [Volumes]. It needs root.
func Read(device string) (*StatsPage, error) {
	f, err := os.Open(device)
	if err != nil {
		return nil, err
	}

	defer f.Close()
	page := make([]byte, statsBytes)
	c := passthru{opcode: getLogPage, namespace: 1, length: statsBytes, timeoutMs: 5000}

	// The kernel writes to the address in the command, so the page must not move.
	var pin runtime.Pinner
	pin.Pin(&page[0])
	defer pin.Unpin()
	c.address = uint64(uintptr(unsafe.Pointer(&page[0])))
	c.dword10 = statsPage | (statsBytes/4-1)<<16 // the number of 4-byte words, minus one

	status, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioctlAdmin, uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return nil, fmt.Errorf("%s: log page 0xD0: %w", device, errno)
	}

	if status != 0 {
		return nil, fmt.Errorf("%s has no log page 0xD0 (NVMe status %#x)", device, status)
	}

	return ParseStats(page)
}
