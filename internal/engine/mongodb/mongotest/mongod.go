package mongotest

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
)

// Environment variables of [Main]: the file of diagnostic.data for answers to serverStatus, and a
// message to fail with instead of serving.
const (
	EnvCapture = "PLIMSOLL_TEST_MONGOD_CAPTURE"
	EnvFail    = "PLIMSOLL_TEST_MONGOD_FAIL"
)

// Version is the version that [Main] reports.
const Version = "8.2.1"

var (
	portLine = regexp.MustCompile(`(?m)^  port: (\d+)$`)
	setLine  = regexp.MustCompile(`(?m)^  replSetName: (\S+)$`)
	pathLine = regexp.MustCompile(`(?m)^  dbPath: "(.*)"$`)
)

// Main is a program that replaces mongod in tests. It supports `--version` and `--config FILE`,
// from which it takes the port, the replica set and the data folder. Data is kept in memory and
// lost when it ends. Main returns the exit code.
func Main(args []string) int {
	fail := func(err any) int {
		fmt.Fprintln(os.Stderr, err)
		return 14 // mongod's exit code if it cannot start
	}

	if len(args) == 1 && args[0] == "--version" {
		fmt.Fprintf(os.Stdout, "db version v%s\nBuild Info: {}\n", Version)
		return 0
	}

	if text := os.Getenv(EnvFail); text != "" {
		return fail(text)
	}
	if len(args) != 2 || args[0] != "--config" {
		return fail("Error parsing command line: unrecognised option " + strings.Join(args, " "))
	}

	conf, err := os.ReadFile(args[1])
	if err != nil {
		return fail(err)
	}

	port, dir := portLine.FindSubmatch(conf), pathLine.FindSubmatch(conf)
	if port == nil || dir == nil {
		return fail("the configuration has no port or no dbPath")
	}

	if err := os.WriteFile(string(dir[1])+"/mongod.lock", []byte("1\n"), 0o600); err != nil {
		return fail(err)
	}

	s := &Server{Version: Version}
	if set := setLine.FindSubmatch(conf); set != nil {
		s.Set, s.Fresh = string(set[1]), true
	}

	if file := os.Getenv(EnvCapture); file != "" {
		if s.Answers, err = Answers(file); err != nil {
			return fail(err)
		}
	}

	l, err := net.Listen("tcp", "127.0.0.1:"+string(port[1]))
	if err != nil {
		return fail(err)
	}

	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	go func() { <-end; _ = l.Close() }()
	fmt.Fprintln(os.Stdout, "waiting for connections")
	s.Serve(l)

	return 0
}
