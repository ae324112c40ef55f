package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/engine/postgres/postgrestest"
)

// outside makes a folder that the servers' users may enter, and removes it at the end.
func outside(ts *testscript.TestScript) string {
	dir, err := os.MkdirTemp("", "plimsoll-script-")
	ts.Check(err)
	ts.Defer(func() { ts.Check(os.RemoveAll(dir)) })
	ts.Check(os.Chmod(dir, 0o755))
	return dir
}

// postgresServers are those of running scripts, by folder and name.
var postgresServers sync.Map

// postgresServer starts a PostgreSQL and sets a variable to its host and port: postgres NAME. Its
// users are monitor and weak, with the passwords m-s3cret and w-s3cret. "postgres NAME restart"
// restarts it.
func postgresServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: postgres NAME [restart]")
	}

	key := ts.Getenv("WORK") + args[0]
	if len(args) == 2 {
		s, ok := postgresServers.Load(key)
		if !ok {
			ts.Fatalf("there is no server %s", args[0])
		}
		running := s.(*postgrestest.Server) //nolint:forcetypeassert // nothing else is stored
		ts.Check(running.Stop())
		ts.Check(running.Start())
		return
	}

	s, err := postgrestest.Start(filepath.Join(outside(ts), "pg"), postgrestest.Options{Conf: "fsync = off"})
	ts.Check(err)
	postgresServers.Store(key, s)
	ts.Defer(func() { ts.Check(s.Stop()) })
	_, err = s.Exec("CREATE ROLE monitor LOGIN PASSWORD 'm-s3cret' IN ROLE pg_monitor; CREATE ROLE weak LOGIN PASSWORD 'w-s3cret'")
	ts.Check(err)
	ts.Setenv(args[0], "127.0.0.1:"+strconv.Itoa(s.Port))
}

// etcdCluster starts an etcd and sets a variable to its members' hosts and ports: etcd NAME MEMBERS
// [tls]. With TLS, NAME_CA, NAME_CERT and NAME_KEY are files.
func etcdCluster(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: etcd NAME MEMBERS [tls]")
	}

	members, err := strconv.Atoi(args[1])
	ts.Check(err)
	c, err := etcdtest.Start(outside(ts), members, len(args) > 2)
	ts.Check(err)
	ts.Defer(func() { ts.Check(c.Stop()) })
	ts.Setenv(args[0], strings.Join(c.Endpoints, ","))
	ts.Setenv(args[0]+"_FIRST", c.Endpoints[0])

	if f := c.Files; f != nil {
		ts.Setenv(args[0]+"_CA", f.CA)
		ts.Setenv(args[0]+"_CERT", f.ClientCert)
		ts.Setenv(args[0]+"_KEY", f.ClientKey)
	}
}
