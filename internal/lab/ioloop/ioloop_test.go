//go:build linux

package ioloop

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestBuffer(t *testing.T) {
	for _, n := range []int64{0, 1, 5000} {
		b, err := Buffer(n)
		if err != nil || int64(len(b)) < n || uintptr(unsafe.Pointer(&b[0]))%Alignment != 0 {
			t.Fatalf("%d bytes: %d at %p, %v", n, len(b), b, err)
		}
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	}
	if got := []int64{Aligned(0), Aligned(1), Aligned(4096), Aligned(4097)}; got[0] != 0 || got[1] != 4096 || got[2] != 4096 || got[3] != 8192 {
		t.Error(got)
	}
}

func TestLay(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	const length = layBytes + 3*Alignment
	sum := int64(0)
	fill := func(b []byte) {
		for i := range b {
			b[i] = 7
		}
	}

	if err := Lay(t.Context(), f, length, fill, func(n int64) { sum += n }); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(f.Name())
	if err != nil || sum != length || !bytes.Equal(text, bytes.Repeat([]byte{7}, length)) {
		t.Errorf("%d bytes reported, %d written, %v", sum, len(text), err)
	}

	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Lay(over, f, length, nil, func(int64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	closed, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}

	defer closed.Close()
	if err := Lay(t.Context(), closed, length, nil, func(int64) {}); err == nil {
		t.Error("a read-only file was written")
	}
}
