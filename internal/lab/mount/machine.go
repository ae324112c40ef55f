//go:build linux

package mount

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/httpclient"
)

// Options configure what to mount, and how.
type Options struct {
	// File is a scenario or a single volume, and Sets are assignments over it. Text is the file's
	// content; if nil, Start reads the file.
	File string
	Text []byte
	Sets []string
	// FileSystem is ext4 or xfs; "": the scenario's.
	FileSystem string
	// Dir is the mount point: a single volume is mounted there, several in subfolders by their
	// names (m2/data if there are several machines). "": in a folder created by the daemon.
	Dir string
	// Images is a folder for the images; "": in memory.
	Images string
	// PowerLoss enables Cut and makes each write slightly more expensive.
	PowerLoss bool
	// VolatileCache makes writes durable only after a flush, as on physical drives. Rented volumes
	// have no such cache: what they acknowledge is durable.
	VolatileCache bool
	// Detached leaves the volumes mounted when this process exits.
	Detached bool
	// Command starts the daemon; nil: this program's `lab serve`.
	Command []string
	// Log receives the daemon's messages; may be nil.
	Log func(line string)
}

// A Machine controls a daemon's mounted volumes: those of one machine, or of a whole cluster.
type Machine struct {
	Dirs    map[string]string // mount point of each volume, by name
	Devices map[string]string // "loop3"
	Scratch string            // a folder that is removed with the machine

	socket string
	client *http.Client
	owned  *owned
	alive  func() bool // for a daemon that is not a child process
}

// owned is a daemon that is a child of this process.
type owned struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	stderr  *bytes.Buffer // only valid once it has exited
	unguard func()        // call it once the daemon has exited
	mu      sync.Mutex
	gone    bool
}

// guard cleans up after a daemon that was killed, for example by the OOM killer. Such a process may
// be unable to exit (see State.Alive), and its owner would wait for it forever.
func guard(pid int) (unguard func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	began := startOf(pid)
	go func() {
		defer close(done)
		tick := time.NewTicker(guardEach)
		defer tick.Stop()

		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			if !alive(pid, began) {
				_, _ = Sweep() // lets the daemon exit, which the owner notices
				return
			}
		}
	}()

	return sync.OnceFunc(func() {
		close(ended)
		<-done
	})
}

// guardEach is how often the owner checks whether its daemon was killed.
const guardEach = 250 * time.Millisecond

// Start mounts the volumes. If anything fails, nothing is left behind.
func Start(ctx context.Context, opt Options) (*Machine, error) {
	if err := blockdev.Available(); err != nil {
		return nil, err
	}

	if opt.Command == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		opt.Command = []string{self, "lab", "serve"}
	}

	ordered, err := opt.order()
	if err != nil {
		return nil, err
	}

	// Not CommandContext, which would kill the daemon: it must shut down in order.
	cmd := exec.Command(opt.Command[0], opt.Command[1:]...)

	// One more thread than there are CPUs: the clock's thread must never wait for one.
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(max(4, runtime.NumCPU()+1)))
	cmd.Dir = "/" // the owner's working directory may be on a volume that is unmounted later

	// Ctrl-C must only reach the owner, which then stops the daemon.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var stderr bytes.Buffer
	if !opt.Detached {
		cmd.Stderr = &stderr
	}

	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the lab's daemon: %w", err)
	}

	machine := &Machine{owned: &owned{cmd: cmd, stdin: stdin, stderr: &stderr, unguard: guard(cmd.Process.Pid)}}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()

	r, err := machine.greet(ordered, stdin, stdout, opt.Log)
	if err != nil {
		_ = stdin.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		machine.owned.unguard()

		// The cancellation is the cause, whatever the daemon reports.
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}

		if text := strings.TrimSpace(stderr.String()); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}

		return nil, err
	}

	machine.Dirs, machine.Devices, machine.Scratch, machine.socket = r.Dirs, r.Devices, r.Scratch, r.Socket
	machine.client = dial(r.Socket)

	// From now on nothing ties the daemon to this process.
	if opt.Detached {
		pid := cmd.Process.Pid
		began := startOf(pid)
		machine.alive = func() bool { return alive(pid, began) }
		machine.owned.unguard()
		_, _, _ = stdin.Close(), stdout.Close(), cmd.Process.Release()
		machine.owned = nil
	}

	return machine, nil
}

func (opt *Options) order() (order, error) {
	o := order{
		Sets: opt.Sets, FileSystem: opt.FileSystem,
		PowerLoss: opt.PowerLoss, Volatile: opt.VolatileCache, Detached: opt.Detached, Text: opt.Text,
		Owner: os.Getpid(),
	}
	if o.Text == nil {
		text, err := scenario.ReadText(opt.File)
		if err != nil {
			return o, err
		}
		o.Text = text
	}

	// The daemon runs in the root directory, so relative paths must be resolved here.
	for _, p := range []struct {
		from string
		to   *string
	}{{opt.File, &o.File}, {opt.Dir, &o.Dir}, {opt.Images, &o.Images}} {
		if p.from == "" {
			continue
		}
		abs, err := filepath.Abs(p.from)
		if err != nil {
			return o, err
		}
		*p.to = abs
	}

	return o, folder(opt.Images)
}

// folder reports an error if images are to be kept in something other than a folder.
func folder(images string) error {
	if images == "" {
		return nil
	}
	info, err := os.Stat(images)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder: specify a folder for the images", images)
	}
	if err != nil {
		return fmt.Errorf("images: %w", err)
	}
	return nil
}

// greet sends the order and waits until the daemon is ready.
func (m *Machine) greet(o order, to io.Writer, from io.Reader, log func(string)) (*ready, error) {
	if err := json.NewEncoder(to).Encode(o); err != nil {
		return nil, fmt.Errorf("cannot send the order to the lab's daemon: %w", err)
	}

	for lines := bufio.NewScanner(from); lines.Scan(); {
		var t startMessage
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("unexpected output of the lab's daemon: %q", lines.Text())
		}

		switch {
		case t.Ready != nil:
			return t.Ready, nil
		case t.Error != "":
			return nil, errors.New(t.Error)
		case log != nil:
			log(t.Log)
		}
	}

	return nil, errors.New("the lab's daemon ended before it was ready")
}

// statusBytesMax bounds an answer of the daemon, a few hundred bytes for each of the volumes.
const statusBytesMax = 4 << 20

func dial(socket string) *http.Client {
	return httpclient.New(httpclient.Options{Base: httpclient.Socket(socket),
		Most: httpclient.Bounds{Bytes: statusBytesMax}})
}

// Attach returns the machine for the state of a running daemon.
func Attach(s *State) (*Machine, error) {
	if s.Socket == "" || !s.Alive() {
		return nil, fmt.Errorf("the daemon of the volumes mounted by process %d does not respond", s.PID)
	}
	m := &Machine{socket: s.Socket, client: dial(s.Socket), Dirs: map[string]string{},
		Devices: map[string]string{}, Scratch: s.dir, alive: s.Alive}
	for _, v := range s.Volumes {
		m.Dirs[v.Name], m.Devices[v.Name] = v.Dir, v.Device
	}
	return m, nil
}

func (m *Machine) ask(ctx context.Context, method, path string, q request) (a answer, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}

	r, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}

	resp, err := m.client.Do(r)
	if err != nil {
		return answer{}, fmt.Errorf("cannot reach the lab's daemon: %w", err)
	}

	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("cannot read the answer of the lab's daemon: %w", err)
	}
	if a.Busy {
		return answer{}, &BusyError{a.Error}
	}
	if a.Error != "" {
		return answer{}, errors.New(a.Error)
	}

	return a, nil
}

// Status returns the state of the volumes.
func (m *Machine) Status(ctx context.Context) (*Status, error) {
	a, err := m.ask(ctx, http.MethodGet, "/status", request{})
	return a.Status, err
}

// Set changes limits, with assignments of the same form as for a scenario:
// "volumes.data.iops=16000".
func (m *Machine) Set(ctx context.Context, sets []string) (*Status, error) {
	a, err := m.ask(ctx, http.MethodPost, "/set", request{Sets: sets})
	return a.Status, err
}

// Pace sets whether requests wait for their volumes. With false they return immediately, for
// example while data is loaded; with true the volumes restart. A machine starts paced.
func (m *Machine) Pace(ctx context.Context, paced bool) error {
	_, err := m.ask(ctx, http.MethodPost, "/pace", request{Paced: &paced})
	return err
}

// ResetStats restarts the counters.
func (m *Machine) ResetStats(ctx context.Context) error {
	_, err := m.ask(ctx, http.MethodPost, "/reset", request{})
	return err
}

// Cut turns off the power of all volumes simultaneously: from now on every request fails.
func (m *Machine) Cut(ctx context.Context, c disk.Cut) (CutReport, error) {
	a, err := m.ask(ctx, http.MethodPost, "/cut", request{Cut: &c})
	return a.Cut, err
}

// Recover restores the power and mounts the volumes again. Processes that had files open must have
// exited.
func (m *Machine) Recover(ctx context.Context) error {
	_, err := m.ask(ctx, http.MethodPost, "/recover", request{})
	return err
}

// ended waits until a daemon that was asked to quit has undone everything.
func (m *Machine) ended(ctx context.Context) error {
	for m.alive() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond): // it is not a child of this process
		}
	}
	return m.left()
}

// left removes what a daemon that has exited could not remove, or explains why that is impossible.
func (m *Machine) left() error {
	if _, err := os.Stat(filepath.Join(m.Scratch, stateName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := Sweep()
	return err
}

// Close unmounts and undoes everything. Without force it fails if a volume is in use.
func (m *Machine) Close(ctx context.Context, force bool) error {
	if m.owned != nil {
		m.owned.mu.Lock()
		defer m.owned.mu.Unlock()
		if m.owned.gone {
			return nil
		}
	}

	_, err := m.ask(ctx, http.MethodPost, "/quit", request{Force: force})
	if m.owned == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)) {
		// It no longer listens, because another process has stopped it, and is about to exit.
		going, cancel := context.WithTimeout(ctx, 40*time.Second)
		defer cancel()
		if left := m.ended(going); left == nil || ctx.Err() == nil && going.Err() == nil {
			return left
		}
	}

	// Without force, an error means that a volume is in use: leave everything as it is.
	if err != nil && (m.owned == nil || !force) {
		return err
	}
	if m.owned == nil {
		return m.ended(ctx)
	}

	// Whatever it answered, closing its input makes it exit.
	m.owned.gone = true
	defer m.owned.unguard()
	_ = m.owned.stdin.Close()
	done := make(chan error, 1)
	go func() { done <- m.owned.cmd.Wait() }()

	select {
	case err = <-done:
		if err == nil {
			return nil
		}
		if left := m.left(); left != nil {
			return left
		}
		if text := strings.TrimSpace(m.owned.stderr.String()); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return fmt.Errorf("the lab's daemon failed: %w", err)
	case <-time.After(40 * time.Second):
		_ = m.owned.cmd.Process.Kill()
		ended := <-done
		_, err := Sweep()
		return errors.Join(fmt.Errorf("the lab's daemon did not exit and was killed (%w)", ended), err)
	}
}
