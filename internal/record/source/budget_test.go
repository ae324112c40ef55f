package source

import (
	"errors"
	"io"
	"net"
	"testing"
)

// Reads on a connection fail when the budget is exhausted, until it is renewed.
func TestBudget(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		for {
			if _, err := theirs.Write(make([]byte, 100)); err != nil {
				return
			}
		}
	}()

	b := NewBudget(1000)
	c := b.Conn(ours)
	for range 3 {
		n, err := io.Copy(io.Discard, c)
		var much *TooMuchError
		if n != 1000 || !errors.As(err, &much) || much.Max != 1000 || b.Err() == nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		if b.Renew(); b.Err() != nil {
			t.Fatal(b.Err())
		}
	}
}
