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

// killedWithin is how long a process may take to be gone after SIGKILL: it must still end what it
// waits for in the kernel, which on a slow volume is an fsync of everything written.
const killedWithin = 2 * time.Minute

// Options say what runs, and how.
type Options struct {
	Path string
	Args []string
	// Env is added to a small environment (PATH, LC_ALL=C, TZ=UTC): settings of ours are none of
	// the engine's.
	Env []string
	// Dir is where it runs. "": the root folder, so that it holds no mount.
	Dir  string
	User *User
	// DeathSignal is what it gets when we die. 0: SIGKILL.
	DeathSignal syscall.Signal
	// Log is a file that takes what it prints, at the end of what is there; "": none. Line takes it
	// line by line, without the line feed, cut where a line is very long.
	Log  string
	Line func(line string)
	// Stdin is what it reads, nil: nothing; with Stdout, what it writes goes there and only stderr
	// is listened to.
	Stdin, Stdout *os.File
}

// A Process is a program that was started.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // it has ended
	mute chan struct{} // nobody is left who could print
	err  error         // of Wait

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
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, closeFile(log))
	}
	cmd := exec.Command(opt.Path, opt.Args...)
	cmd.Dir = opt.Dir
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}, opt.Env...)
	cmd.Stdout, cmd.Stderr = w, w
	if opt.Stdout != nil {
		cmd.Stdout = opt.Stdout
	}
	if opt.Stdin != nil { // a nil file is none for exec
		cmd.Stdin = opt.Stdin
	}
	death := opt.DeathSignal
	if death == 0 {
		death = syscall.SIGKILL
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: opt.User.credential()}
	p := &Process{name: name, cmd: cmd, done: make(chan struct{}), mute: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the kernel ends the child when this thread ends
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	err = <-started
	_ = w.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", opt.Path, err), r.Close(), closeFile(log))
	}
	go func() {
		defer close(p.mute)
		p.listen(r, log, opt.Line)
	}()
	return p, nil
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when it has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how it ended, with the last it printed; nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	select { // what it printed may still be in the pipe
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

// Tail is the last it printed.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// Finish waits for a program that ends by itself. The error says how it ended, if not with status
// 0; where the context ends first it is killed.
func (p *Process) Finish(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s did not end in time and was killed: %w", p.name, ctx.Err()), p.Kill())
	}
	if p.err == nil {
		return nil
	}
	return p.Err()
}

// Stop asks it to end with a signal, and waits until it and all who could still print are gone.
// Where the context ends first it is killed, which the error says.
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
			return fmt.Errorf("%s did not end in time and was killed: %w", p.name, ctx.Err())
		}
	}
	return nil
}

// Kill ends it and all it has started at once, and returns when they are gone.
func (p *Process) Kill() error {
	late := time.NewTimer(killedWithin)
	defer late.Stop()
	// A stopped parent starts nobody, and its dead children keep their ids.
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
			return fmt.Errorf("killing %s: %w", p.name, err)
		}
	}
	for _, gone := range []chan struct{}{p.done, p.mute} {
		select {
		case <-gone:
		case <-late.C:
			return fmt.Errorf("%s still exists %v after it was killed: it is blocked in the kernel", p.name, killedWithin)
		}
	}
	return nil
}
