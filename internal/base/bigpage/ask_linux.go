package bigpage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ask asks the kernel for large pages behind the whole ones within a slice. If it declines, nothing
// is lost.
func ask[T any](s []T) {
	bytes := uintptr(len(s)) * unsafe.Sizeof(*new(T))
	if bytes < 2*alignment {
		return
	}
	at := unsafe.Pointer(unsafe.SliceData(s))
	skip := -uintptr(at) % alignment
	length := (bytes - skip) / alignment * alignment
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(at, skip)), length), unix.MADV_HUGEPAGE)
}
