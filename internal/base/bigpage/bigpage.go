// Package bigpage allocates large arrays that are read at random places.
//
// Such a read misses the processor's cache of page addresses if the array lies in pages of 4 KiB,
// and in a virtual machine finding the address costs more than the read itself. Where the kernel
// gives large pages to those who ask ("madvise", the usual setting), these arrays ask.
package bigpage

// alignment is the size of a large page on amd64 and arm64.
const alignment = 2 << 20

// Slice returns a slice of n zero values. What it holds must contain no pointers. Only the speed
// depends on whether the kernel gives large pages.
func Slice[T any](n int) []T {
	s := make([]T, n)
	ask(s)
	return s
}
