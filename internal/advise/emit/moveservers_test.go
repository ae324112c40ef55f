package emit_test

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/engine/postgres/postgrestest"
)

// PostgreSQL's WAL is moved and moved back, whatever interrupts it.
func TestMoveOfPostgreSQL(t *testing.T) {
	dir := openFolder(t)
	s, err := postgrestest.Start(filepath.Join(dir, "pg"), postgrestest.Options{})
	if errors.Is(err, postgrestest.ErrMissing) {
		t.Skip(err)
	}

	if err != nil {
		t.Fatal(err)
	}

	_, err = s.Exec("CREATE TABLE t (n int)")
	if err := errors.Join(err, s.Stop()); err != nil {
		t.Fatal(err)
	}

	needs(t, "setpriv")
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if err != nil || len(programs) == 0 {
		t.Fatalf("no pg_ctl: %v", err)
	}

	data := filepath.Join(dir, "pg", "data")
	const as = `cd /; D=DATA; ctl() { setpriv --reuid=$(stat -c %u $D) --regid=$(stat -c %g $D) --clear-groups CTL -D $D -w -s "$@"; }; `
	own := strings.NewReplacer("DATA", data, "CTL", programs[len(programs)-1]).Replace(as)
	m := newRealMove(t, "postgres", data, "pg_wal",
		own+`ctl status >/dev/null && exit; ctl -l $D/server.log start`,
		own+`ctl status >/dev/null || exit 0; ctl -m fast stop`)
	m.write = func() string {
		_, err := s.Exec("INSERT INTO t VALUES (1)")
		return textOf(err)
	}
	m.count = func() string {
		rows, err := s.Exec("SELECT count(*) FROM t")
		return strings.Join(rows, "") + textOf(err)
	}

	m.systemctl("start")
	m.property("postgres", "wal-apart")
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// etcd's WAL is moved and moved back, whatever interrupts it.
func TestMoveOfEtcd(t *testing.T) {
	for _, program := range []string{"etcd", "etcdctl", "setsid"} {
		needs(t, program)
	}

	dir := t.TempDir()
	data := filepath.Join(dir, "etcd")
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = "http://" + l.Addr().String()
		l.Close()
	}

	ctl := func(args string) string {
		return `ETCDCTL_API=3 etcdctl --endpoints=` + ports[0] + ` --dial-timeout=300ms --command-timeout=2s ` + args
	}
	// A request waits for as long as a busy machine needs. It is repeated if the server gives it up
	// after some five seconds: a member that was not scheduled for 100 ms elects itself again, and drops
	// proposals.
	patient := func(args string) string {
		request := `ETCDCTL_API=3 etcdctl --endpoints=` + ports[0] + ` --dial-timeout=60s --command-timeout=60s ` + args
		return `(for i in {1..10}; do OUT=$(` + request + ` 2>/dev/null) && echo "$OUT" && exit; done; ` + request + `)`
	}
	m := newRealMove(t, "etcd", data, "member/wal",
		`kill -0 $(cat `+dir+`/pid) 2>/dev/null && exit; setsid etcd --unsafe-no-fsync --heartbeat-interval=10 --election-timeout=100 --name=m --data-dir=`+data+` --listen-client-urls=`+ports[0]+` --advertise-client-urls=`+ports[0]+
			` --listen-peer-urls=`+ports[1]+` --initial-advertise-peer-urls=`+ports[1]+` --initial-cluster=m=`+ports[1]+` </dev/null >>`+dir+`/log 2>&1 & echo $! >`+dir+`/pid; `+
			`for i in {1..100}; do `+ctl("endpoint health")+` >/dev/null 2>&1 && exit; kill -0 $(cat `+dir+`/pid) || exit 1; sleep 0.1; done; exit 1`,
		`P=$(cat `+dir+`/pid 2>/dev/null) || exit 0; kill $P 2>/dev/null; while kill -0 $P 2>/dev/null; do sleep 0.05; done`)
	shell := func(command string) string {
		out, err := exec.Command("bash", "-c", command).CombinedOutput()
		if err != nil {
			return string(out) + err.Error()
		}
		return strings.TrimSpace(string(out))
	}
	m.write = func() string { return shell(patient(fmt.Sprintf("put k%06d v", m.written)) + ` >/dev/null`) }
	m.count = func() string { return shell(patient("get k --prefix --keys-only") + ` | grep -c k; true`) }

	m.systemctl("start")
	m.property("etcd", "etcd-wal-apart")
}
