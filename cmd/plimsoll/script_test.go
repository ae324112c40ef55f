package main

import (
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/engine/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"plimsoll":         func() { os.Exit(runProcess()) },
		"kubectl-plimsoll": func() { os.Exit(runProcess()) }, // kubectl's plugin
	})
}

// TestScript runs the program as users do: testdata/script/*.txtar, one topic per file.
func TestScript(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		// Under nohup, the scripts' processes would inherit the ignored signal and survive it.
		// Signals with a handler are not inherited.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}

	captures, err := filepath.Abs("../../../shared/data/ftdc")
	if err != nil {
		t.Fatal(err)
	}

	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("LC_ALL", "C.UTF-8")
			e.Setenv("NO_COLOR", "")
			e.Setenv("PAGER", "cat") // a pager on a pseudo-terminal would wait for a key
			e.Setenv("CAPTURES", captures)
			e.Defer(func() { unmountBelow(t, e.WorkDir) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "captures":
				_, err := os.Stat(captures)
				return err == nil, nil
			case "lab": // volumes can be mounted here
				return labAvailable(), nil
			case "postgres": // a server can be started here
				return postgrestest.Available() == nil, nil
			case "etcd":
				return etcdtest.Available() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"iostat-log":     iostatLog,
			"aws-server":     awsServer,
			"cut":            cutFile,
			"wait-for":       waitFor,
			"mongodb-server": mongodbServer,
			"postgres":       postgresServer,
			"etcd":           etcdCluster,
			"serve-metrics":  serveMetrics,
			"watch-get":      watchGet,
		},
	})
}

// iostatLog writes a log: iostat-log FILE MINUTES BURST, see cappedVolume.
func iostatLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: iostat-log FILE MINUTES BURST")
	}
	minutes, err := strconv.Atoi(args[1])
	ts.Check(err)
	burst, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(cappedVolume(minutes, burst)), 0o644))
}

// cappedVolume returns the log that `iostat -dxkt 1` writes for a volume with a cap of 3,000 IOPS,
// reached in the last burst seconds of every minute.
func cappedVolume(minutes, burst int) string {
	var b strings.Builder
	b.WriteString("Linux 6.1.0-18-amd64 (db) \t2026-07-20 \t_x86_64_\t(8 CPU)\n\n")
	at := time.Date(2026, 7, 20, 15, 55, 0, 0, time.UTC)
	for s := range 60*minutes + 1 {
		writes, await, queue, busy := 700+40*math.Sin(float64(s)), 0.7, 0.49, 31.0
		if s%60 >= 60-burst {
			writes, await, queue, busy = 2998+float64(s%5), 12.6, 37.8, 100
		}
		fmt.Fprintf(&b, "%s\nDevice            r/s     rkB/s   rrqm/s  %%rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %%wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %%drqm d_await dareq-sz     f/s f_await  aqu-sz  %%util\n",
			at.Add(time.Duration(s)*time.Second).Format("2006-01-02T15:04:05-0700"))
		fmt.Fprintf(&b, "nvme1n1          0.00      0.00     0.00   0.00    0.00     0.00 %7.2f %9.2f     0.00   0.00 %7.2f    16.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00 %7.2f %6.2f\n\n",
			writes, writes*16, await, queue, busy)
	}
	return b.String()
}

// cutFile copies the first bytes of a file: cut FROM BYTES TO.
func cutFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut FROM BYTES TO")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if n > len(data) {
		ts.Fatalf("%s has only %d bytes", args[0], len(data))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:n], 0o644))
}

// waitFor waits until a file matching a pattern is there and not empty: wait-for PATTERN.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wait-for PATTERN")
	}

	pattern := ts.MkAbs(args[0])
	for range 3000 { // half a minute: far more than it takes, on any machine
		files, err := filepath.Glob(pattern)
		ts.Check(err)
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && info.Size() > 0 {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}

	ts.Fatalf("no %s came", args[0])
}
