//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// killedWithin is how long a process may take to exit after SIGKILL. System calls in progress must
// finish first, such as an fsync of everything written, on a slow volume.
const killedWithin = 2 * time.Minute

// Options configure what to run, and how.
type Options struct {
	Path string
	Args []string
	// Env is added to a minimal environment (PATH, LC_ALL=C, TZ=UTC). Our own environment is not
	// passed on.
	Env []string
	// Dir is the working directory; "": the root, so that no mount is kept busy.
	Dir  string
	User *User
	// DeathSignal is sent to the program when this one dies; 0: SIGKILL.
	DeathSignal syscall.Signal
	// Log is a file to which the output is appended; "": none. Line receives the output line by
	// line, without the line feed; very long lines are cut.
	Log  string
	Line func(line string)
	// Stdin is the program's input; nil: empty. Stdout, if not nil, receives its output; Log and
	// Line then only get stderr.
	Stdin, Stdout *os.File
}

// A Process is a running or finished program.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has exited
	mute chan struct{} // closed when no process has the output open any more
	err  error         // the error of Wait

	mu   sync.Mutex
	tail []string
}

// Start starts a program.
func Start(opt Options) (*Process, error) {
	name := filepath.Base(opt.Path)
	var log *os.File
	if opt.Log != "" {
		var err error
		if log, err = os.OpenFile(opt.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
	}

	file, writer, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, closeFile(log))
	}

	cmd := exec.Command(opt.Path, opt.Args...)
	cmd.Dir = opt.Dir
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}

	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}, opt.Env...)
	cmd.Stdout, cmd.Stderr = writer, writer
	if opt.Stdout != nil {
		cmd.Stdout = opt.Stdout
	}

	if opt.Stdin != nil { // exec requires an untyped nil
		cmd.Stdin = opt.Stdin
	}

	death := opt.DeathSignal
	if death == 0 {
		death = syscall.SIGKILL
	}

	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: opt.User.credential()}
	running := &Process{name: name, cmd: cmd, done: make(chan struct{}), mute: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Never unlocked: the kernel ends the child when this thread exits.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			running.err = cmd.Wait()
			close(running.done)
		}
	}()

	err = <-started
	_ = writer.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s: %w", opt.Path, err), file.Close(), closeFile(log))
	}

	go func() {
		defer close(running.mute)
		running.listen(file, log, opt.Line)
	}()

	return running, nil
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the process ended, with the last lines of its output; nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}

	select { // the last output may still be in the pipe
	case <-p.mute:
	case <-time.After(time.Second):
	}

	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}

	if tail := p.Tail(); tail != "" {
		how += ": " + tail
	}

	return fmt.Errorf("%s ended unexpectedly: %s", p.name, how)
}

// Tail returns the last lines of the output.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// Await tries something at intervals until it succeeds, such as to connect to the process. It returns how
// the process ended if it does, or an error that begins with otherwise ("it does not accept connections") if
// the context ends first.
func (p *Process) Await(ctx context.Context, every time.Duration, otherwise string,
	try func(context.Context) error) error {
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		// How it ended is more informative than a timeout.
		case <-p.done:
			return p.Err()
		case <-ctx.Done():
			return fmt.Errorf("%s (%w): %w; its log ends: %s", otherwise, err, ctx.Err(), p.Tail())
		case <-again.C:
		}
	}
}

// Finish waits for a program that exits by itself. It returns an error if the exit status is not 0.
// If the context ends first, the program is killed.
func (p *Process) Finish(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s did not exit in time and was killed: %w", p.name, ctx.Err()), p.Kill())
	}
	if p.err == nil {
		return nil
	}
	return p.Err()
}

// Stop sends a signal, and waits until the process and all others that share its output have
// exited. If the context ends first, the program is killed and the error says so.
func (p *Process) Stop(ctx context.Context, sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return errors.Join(fmt.Errorf("%s: %w", p.name, err), p.Kill())
	}
	for _, gone := range []chan struct{}{p.done, p.mute} {
		select {
		case <-gone:
		case <-ctx.Done():
			if err := p.Kill(); err != nil {
				return err
			}
			return fmt.Errorf("%s did not exit in time and was killed: %w", p.name, ctx.Err())
		}
	}
	return nil
}

// Kill kills the process and all its descendants, and returns when they have exited.
func (p *Process) Kill() error {
	late := time.NewTimer(killedWithin)
	defer late.Stop()

	// A stopped parent cannot start children, and its dead children keep their PIDs.
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err == nil {
		family, err := descendants(p.PID())
		for _, member := range family {
			err = errors.Join(err, member.kill())
		}

		if e := p.cmd.Process.Kill(); e != nil && !errors.Is(e, os.ErrProcessDone) {
			err = errors.Join(err, e)
		}

		for _, member := range family {
			err = errors.Join(err, member.wait(killedWithin))
		}

		if err != nil {
			return fmt.Errorf("cannot kill %s: %w", p.name, err)
		}
	}

	for _, gone := range []chan struct{}{p.done, p.mute} {
		select {
		case <-gone:
		case <-late.C:
			return fmt.Errorf("%s still exists %v after it was killed: it is blocked in the kernel", p.name,
				killedWithin)
		}
	}

	return nil
}
