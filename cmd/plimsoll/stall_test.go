//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/engine/postgres/postgrestest"
)

// TestStall makes real engines stall, on mounted volumes or in containers with limits, and checks
// the diagnosis: testdata/stall/*.txtar.
func TestStall(t *testing.T) {
	// The same variable applies to the traces of real engines.
	if os.Getenv("PLIMSOLL_TURN") == "" {
		t.Skip("takes a minute of real time on a machine that does nothing else: PLIMSOLL_TURN=0")
	}

	root, err := os.MkdirTemp("", "plimsoll-stall-") // the engines' user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}

	testscript.Run(t, testscript.Params{
		Dir: "testdata/stall", RequireExplicitExec: true, WorkdirRoot: root,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("LC_ALL", "C.UTF-8")
			e.Setenv("NO_COLOR", "1")
			e.Defer(func() { unmountBelow(t, e.WorkDir) })
			return nil
		},
		Condition: stallCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"postgres-on":    postgresOn,
			"postgres-stop":  stopServer,
			"etcd-in-cgroup": etcdInCgroup,
			"etcd-stop":      stopServer,
		},
	})
}

func stallCondition(cond string) (bool, error) {
	switch cond {
	case "lab":
		return labAvailable(), nil
	case "trace": // system calls can be traced here
		return newTracer(time.Second).Available() == nil, nil
	case "postgres":
		return postgrestest.Available() == nil, nil
	case "cgroup-v1":
		for _, c := range cgroupControllers {
			if _, err := os.Stat(filepath.Join(cgroupMount, c, "cgroup.procs")); err != nil || os.Geteuid() != 0 {
				return false, nil //nolint:nilerr // the answer is no
			}
		}
		return true, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// running holds the functions that stop the servers of running scripts, by folder and name.
var running sync.Map

// stopServer ends a server before its volume is removed: NAME.
func stopServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: postgres-stop or etcd-stop NAME")
	}
	if stop, ok := running.LoadAndDelete(ts.Getenv("WORK") + args[0]); ok {
		ts.Check(stop.(func() error)()) //nolint:forcetypeassert // nothing else is stored
	}
}

// runs makes sure that a server is stopped at the end of the script.
func runs(ts *testscript.TestScript, name string, stop func() error) {
	key := ts.Getenv("WORK") + name
	running.Store(key, stop)
	ts.Defer(func() {
		if stop, ok := running.LoadAndDelete(key); ok {
			_ = stop.(func() error)() //nolint:forcetypeassert // nothing else is stored; the script failed already
		}
	})
}

// postgresOn starts a PostgreSQL in a folder: postgres-on DIR NAME [setting=value...]. NAME_SOCKET and
// NAME_PORT say where it is.
func postgresOn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: postgres-on DIR NAME [setting=value...]")
	}
	s, err := postgrestest.Start(filepath.Join(ts.MkAbs(args[0]), "pg"), postgrestest.Options{Conf: strings.Join(args[2:], "\n")})
	ts.Check(err)
	runs(ts, args[1], s.Stop)
	ts.Setenv(args[1]+"_SOCKET", s.Dir)
	ts.Setenv(args[1]+"_PORT", strconv.Itoa(s.Port))
}

const cgroupMount = "/sys/fs/cgroup"

var cgroupControllers = []string{"blkio", "cpu", "cpuacct", "memory"}

// etcdInCgroup starts an etcd on a mounted folder in a separate cgroup: etcd-in-cgroup DIR NAME.
// NAME is its address, NAME_PID the process, NAME_GROUP its cgroup, NAME_BLKIO and NAME_CPU that
// group's folders, NAME_DEVICE the numbers of the folder's device.
func etcdInCgroup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: etcd-in-cgroup DIR NAME")
	}

	ts.Check(etcdtest.Available())
	dir, name := ts.MkAbs(args[0]), args[1]
	group := "plimsoll-test-" + strconv.Itoa(os.Getpid())
	var at syscall.Stat_t
	ts.Check(syscall.Stat(dir, &at))
	ts.Setenv(name+"_DEVICE", fmt.Sprintf("%d:%d", at.Dev>>8&0xfff, at.Dev&0xff)) // small numbers, as loop devices have
	ts.Setenv(name+"_GROUP", "/"+group)

	enter := ""
	for _, c := range cgroupControllers {
		folder := filepath.Join(cgroupMount, c, group)
		ts.Check(os.Mkdir(folder, 0o755))
		ts.Defer(func() { _ = os.Remove(folder) })
		ts.Setenv(name+"_"+strings.ToUpper(c), folder)
		enter += "echo $$ >" + filepath.Join(folder, "cgroup.procs") + " && "
	}

	client, peer := freeAddress(ts), freeAddress(ts)
	cmd := exec.Command("sh", "-c", enter+fmt.Sprintf("exec etcd --name=m --data-dir=%s --log-level=error --logger=zap "+
		"--listen-client-urls=http://%[2]s --advertise-client-urls=http://%[2]s --listen-peer-urls=http://%[3]s --initial-advertise-peer-urls=http://%[3]s --initial-cluster=m=http://%[3]s",
		filepath.Join(dir, "etcd"), client, peer))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ts.Check(cmd.Start())
	runs(ts, name, func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return nil
	})

	ts.Setenv(name, client)
	ts.Setenv(name+"_PID", strconv.Itoa(cmd.Process.Pid))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()

	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+client+"/health", nil)
		ts.Check(err)
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}

		select {
		case <-ctx.Done():
			ts.Fatalf("etcd does not answer: %v", err)
		case <-look.C:
		}
	}
}

func freeAddress(ts *testscript.TestScript) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	return l.Addr().String()
}
