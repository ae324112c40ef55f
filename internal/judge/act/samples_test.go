package act

import "testing"

// Sources that were sampled live are sampled again with the same arguments: the address with its user, and
// the host.
func TestSamples(t *testing.T) {
	server := Source{Kind: "postgres", Name: "postgres://db-1:5432/shop", Engine: "postgres", Again: "postgres://me@db-1:5432/shop"}
	socket := Source{Kind: "postgres", Name: "postgres:///shop?host=/run/pg&port=5433", Again: "postgres://me@/shop?host=/run/pg&port=5433"}
	host := Source{Kind: "host", Name: "host"}
	log := Source{Kind: "iostat", Name: "iostat.log"}
	for _, c := range []struct {
		all  []Source
		want string
	}{
		{[]Source{server}, "postgres://me@db-1:5432/shop"},
		{[]Source{server, host, log}, "postgres://me@db-1:5432/shop host"},
		{[]Source{host, server}, "host postgres://me@db-1:5432/shop"},
		{[]Source{socket}, "'postgres://me@/shop?host=/run/pg&port=5433'"},
		{[]Source{{Kind: "etcd", Name: "etcd://db-1:2379"}}, "etcd://db-1:2379"},
	} {
		if got := samples(c.all[0], c.all); got != c.want {
			t.Errorf("%v: %s, want %s", c.all, got, c.want)
		}
	}
}
