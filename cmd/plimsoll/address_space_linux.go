package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// withinVariable is set for the process that does the work within a limit.
const withinVariable = "PLIMSOLL_WITHIN_LIMIT"

// withinAddressSpace runs the command in a child process if the address space is limited (ulimit -v),
// and returns its exit code. Go's runtime ends a process that gets no memory with a trace of every
// goroutine, which cannot be prevented from within; here it becomes one line. Without a limit it does
// nothing.
func withinAddressSpace() (code int, ran bool) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_AS, &limit)
	if err != nil || limit.Cur == unix.RLIM_INFINITY || os.Getenv(withinVariable) != "" {
		return 0, false
	}

	program, err := os.Executable()
	if err != nil {
		return 0, false
	}

	cmd := exec.Command(program, os.Args[1:]...) //nolint:noctx // it gets the signals instead
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), withinVariable+"=1")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	stderr, err := cmd.StderrPipe()
	if err != nil || cmd.Start() != nil {
		return 0, false
	}

	// A terminal sends its signals to both processes, a supervisor to this one alone. The child treats two in
	// quick succession as one.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()

	crashed := pass(stderr, os.Stderr)
	err = cmd.Wait()
	if crashed {
		fmt.Fprintf(os.Stderr, "plimsoll: out of memory: the address space is limited to %d MB (ulimit -v): raise the limit, read less, or simulate a shorter time\n",
			limit.Cur>>20)
		return exitFailure, true
	}

	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), true
		}
		return exit.ExitCode(), true
	}
	return exitFine, true
}

// deaths begin what Go's runtime prints when it gets no memory.
var deaths = []string{"fatal error: ", "runtime: out of memory", "runtime: cannot allocate", "runtime: mmap",
	"runtime: may need to increase", "runtime/cgo: ", "panic: runtime error: out of memory",
	"runtime: failed to create new OS thread"}

// pass copies the child's output until the child exits.
func pass(from io.Reader, to io.Writer) (crashed bool) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		for _, d := range deaths {
			crashed = crashed || strings.HasPrefix(line, d)
		}
		if !crashed {
			_, _ = io.WriteString(to, line)
		}
		if err != nil {
			return crashed
		}
	}
}
