package live

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"plimsoll/internal/record/recognise"
)

// A server that requests the password in clear text is detected, however its message arrives, with and
// without a refusal of TLS before it. Nothing else is mistaken for it.
func TestClearText(t *testing.T) {
	for text, want := range map[string]bool{
		clearTextPassword: true, "N" + clearTextPassword: true, "NN" + clearTextPassword: false, "R\x00\x00\x00\x08\x00\x00\x00\x00" + clearTextPassword: false,
		"S" + clearTextPassword: false, "": false, "N": false, clearTextPassword[:8]: false,
	} {
		for name, slow := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader} {
			var bare atomic.Bool
			c, err := dial(func(context.Context, string, string) (net.Conn, error) {
				return sayingConn{Reader: slow(strings.NewReader(text))}, nil
			}, newBudget(), &bare)(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(c) // it ends
			if string(got) != text || bare.Load() != want {
				t.Errorf("%q %s: %v, and reads %q", text, name, bare.Load(), got)
			}
		}
	}
	for host, want := range map[string]bool{"db.example": true, "10.0.0.1": true, "127.0.0.1": false, "[::1]": false, "localhost": false} {
		tg, err := newTarget("postgres://me:s3cret@"+host+"/shop", recognise.LiveOptions{Getenv: func(string) string { return "" }})
		if err != nil || tg.remote() != want {
			t.Errorf("%s: %v, remote: %v", host, err, tg.remote())
		}
	}
}

// A sayingConn is a connection that delivers the content of a reader.
type sayingConn struct {
	io.Reader
	net.Conn
}

func (c sayingConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }
