package engine_test

import (
	"net"
	"strings"
	"testing"

	"plimsoll/internal/engine"
	"plimsoll/internal/record/recognise"
)

// If a user gives a host and port, the error shows how to write the address: as a database address for a
// database's usual port, otherwise as the URL of a page.
func TestAddressesWithoutAScheme(t *testing.T) {
	opener := recognise.For(engine.All().Sources())
	for arg, want := range map[string]string{
		"localhost:5432": "write postgres://localhost:5432", "db-1:27017": "write mongodb://db-1:27017", "10.0.0.1:2379": "write etcd://10.0.0.1:2379",
		"db-1:2379/metrics": "write http://db-1:2379/metrics", "localhost:9216": "write http://localhost:9216", "[::1]:5432": "write postgres://[::1]:5432",
	} {
		_, err := opener.Open(t.Context(), arg, recognise.OpenOptions{})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v; want %q", arg, err, want)
		}
	}

	// The same for a URL if a server with another protocol listens there.
	l, err := net.Listen("tcp", "127.0.0.1:5432")
	if err != nil {
		t.Skip("something listens on PostgreSQL's port of this machine: ", err)
	}

	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()

	_, err = opener.Open(t.Context(), "http://127.0.0.1:5432", recognise.OpenOptions{})
	if err == nil || !strings.HasSuffix(err.Error(), "write postgres://127.0.0.1:5432") {
		t.Error(err)
	}
}
