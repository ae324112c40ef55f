//go:build linux

package mount

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// order specifies what the daemon mounts. It is the first line of its input.
type order struct {
	File       string   `json:"file"`
	Text       []byte   `json:"text"` // the file's content, as the owner read it
	Sets       []string `json:"sets"`
	FileSystem string   `json:"filesystem"`
	Dir        string   `json:"dir"`    // "": folders created by the daemon
	Images     string   `json:"images"` // folder for image files; "": in memory
	PowerLoss  bool     `json:"power_loss"`
	Volatile   bool     `json:"volatile"`
	Detached   bool     `json:"detached"`
	Owner      int      `json:"owner"` // the process that sends the order
}

// startMessage is a line that the daemon prints until it is ready.
type startMessage struct {
	Log   string `json:"log,omitempty"`
	Error string `json:"error,omitempty"`
	Ready *ready `json:"ready,omitempty"`
}

type ready struct {
	Socket  string            `json:"socket"`
	Scratch string            `json:"scratch"`
	Dirs    map[string]string `json:"dirs"`
	Devices map[string]string `json:"devices"`
}

// served is one mounted volume.
type served struct {
	name   string
	disk   *disk.Disk
	device *blockdev.Device
	dir    string
	fs     string
	kernel comparison
}

// A daemon serves a scenario's volumes.
type daemon struct {
	language *scenario.Language
	order    order
	sc       *scenario.Scenario
	state    *State
	host     *disk.Host
	send     func(startMessage) error
	ready    atomic.Bool // the ready message is about to be sent
	began    string      // start time of the owner, see State

	mu      sync.Mutex
	volumes []*served
	paced   bool
	quit    chan struct{}
	once    sync.Once
}

// orderBytesMax bounds the first line, which this program itself writes.
const orderBytesMax = 1 << 20

// Serve runs the daemon: the hidden verb `lab serve`. It reads from in what to mount, reports
// readiness on out, and serves until it is asked to quit, the context ends or, unless it is
// detached, in is closed. It undoes everything before it returns.
func Serve(ctx context.Context, language *scenario.Language, in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, orderBytesMax)
	unix.Umask(0o022)              // the database does not run as root, but must reach its volumes
	signal.Ignore(syscall.SIGPIPE) // the owner may have exited

	line, err := lines.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("cannot read what to mount: %w (this command is internal: use lab mount)", err)
	}

	enc := json.NewEncoder(out)
	d := &daemon{language: language, quit: make(chan struct{}),
		send: func(t startMessage) error { return enc.Encode(t) }}
	if err := json.Unmarshal(line, &d.order); err != nil {
		return fmt.Errorf("cannot read what to mount: %w", err)
	}

	d.began = startOf(d.order.Owner)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		// The input ends when the owner exits. A detached daemon survives that once it is ready.
		if !d.order.Detached || !d.ready.Load() {
			d.restoreSettings()
			d.stop()
			cancel()
		}
	}()

	if err := d.serve(ctx); err != nil {
		_ = d.send(startMessage{Error: err.Error()}) // the owner may have exited
		return err
	}

	return nil
}

// ownerPatience is how long an owner that has closed its end may take to exit. A live owner
// restores the settings itself.
const ownerPatience = 2 * time.Second

// restoreSettings restores the kernel settings that a killed owner could not restore.
func (d *daemon) restoreSettings() {
	select {
	case <-d.quit:
		return // an orderly shutdown
	default:
	}
	for end := time.Now().Add(ownerPatience); alive(d.order.Owner, d.began) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // it may not be a child, and is about to exit
	}
	if !alive(d.order.Owner, d.began) {
		_, _ = sweepSettings() // there is no one to report to; the next command tries again
	}
}

// parse parses the scenario with assignments applied. It uses the text that the owner read, even if
// the file has changed since.
func (d *daemon) parse(sets []string) (*scenario.Scenario, error) {
	return d.language.NewFile(d.order.File, d.order.Text).ParseVolumes(sets)
}

func (d *daemon) stop() { d.once.Do(func() { close(d.quit) }) }

func (d *daemon) serve(ctx context.Context) (err error) {
	if d.sc, err = d.parse(d.order.Sets); err != nil {
		return err
	}

	if d.state, err = newState(d.sc.Name); err != nil {
		return err
	}

	// A fresh context, because the daemon's own may have ended, which is the usual reason to clean
	// up.
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, d.unmountAll(end))
	}()

	// Before any device exists, so that all its threads inherit the priority.
	blockdev.Prioritize()
	if d.host, err = disk.NewHost(disk.Options{Path: blockdev.DefaultPath}); err != nil {
		return err
	}

	if err := d.mountAll(ctx); err != nil {
		return err
	}

	socket := filepath.Join(d.state.dir, "control")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}

	if err := os.Chmod(socket, 0o600); err != nil {
		return err
	}

	d.state.Socket = socket
	if err := d.state.save(); err != nil {
		return err
	}

	srv := &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(listener) }()

	r := &ready{Socket: socket, Scratch: d.state.dir, Dirs: map[string]string{}, Devices: map[string]string{}}
	for _, v := range d.volumes {
		r.Dirs[v.name], r.Devices[v.name] = v.dir, v.device.Name()
	}

	defer d.watch()()
	d.ready.Store(true)
	if d.send(startMessage{Ready: r}) != nil {
		d.stop() // the owner is gone, so no client could ever use it
	}

	select {
	case <-d.quit:
	case <-ctx.Done():
	}

	end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return srv.Shutdown(end) // answers the quit request first
}

func (d *daemon) mountAll(ctx context.Context) error {
	models, err := build(d.sc)
	if err != nil {
		return err
	}

	parts := partsOf(d.sc)

	// Hold the lock until everything is mounted. After that, the mounts themselves keep others out.
	if dir := d.order.Dir; dir != "" {
		if len(parts) > 1 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		unlock, err := claim(ctx, dir)
		if err != nil {
			return err
		}
		defer unlock()
	}

	for i, p := range parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.mountOne(ctx, p, models[i], len(parts) == 1); err != nil {
			return fmt.Errorf("volume %s: %w", p.name, err)
		}
	}

	return d.pace(true)
}

// mountOne mounts one volume. It records each step before taking it, so that a later process can
// undo it if this one is killed.
func (d *daemon) mountOne(ctx context.Context, p part, model volume.Volume, alone bool) error {
	name, o := p.name, p.order
	serving := &served{name: name, fs: d.order.FileSystem}
	if serving.fs == "" {
		serving.fs = string(d.sc.Host.FileSystem)
	}

	entry := StateEntry{Name: name, FUSE: filepath.Join(d.state.dir, "fuse-"+strconv.Itoa(len(d.volumes)))}
	if err := os.Mkdir(entry.FUSE, 0o700); err != nil {
		return err
	}

	cfg := disk.Config{Name: name, Size: o.Size * units.Size(o.Members()), Volume: model,
		PowerLoss: d.order.PowerLoss, VolatileCache: d.order.Volatile}
	if d.order.Images != "" {
		cfg.File = filepath.Join(d.order.Images, "plimsoll-"+filepath.Base(d.state.dir)+"-"+
			strconv.Itoa(len(d.volumes))+".img")
		d.state.Files = append(d.state.Files, cfg.File)
	}

	d.state.Volumes = append(d.state.Volumes, entry)
	at := len(d.state.Volumes) - 1
	if err := d.state.save(); err != nil {
		return err
	}

	var err error
	if serving.disk, err = d.host.Add(cfg); err != nil {
		return err
	}

	// mkfs and mount would otherwise use up the volume's burst credits.
	serving.disk.Pace(false, nil)
	opt := blockdev.Options{
		Slots: slots(model), MaxRequest: d.sc.Host.MaxRequest, Scheduler: string(d.sc.Host.Scheduler),
		WbtLatUsec: d.sc.Host.WbtLatUsec,
		Log:        func(line string) { _ = d.send(startMessage{Log: line}) },
	}

	if serving.device, err = blockdev.Attach(ctx, serving.disk, entry.FUSE, opt); err != nil {
		return err
	}

	d.volumes = append(d.volumes, serving)
	d.state.Volumes[at].Device = serving.device.Name()
	if err := d.state.save(); err != nil {
		return err
	}

	if err := makeFileSystem(ctx, serving.fs, serving.device.Path()); err != nil {
		return err
	}

	if serving.dir, err = d.place(name, alone); err != nil {
		return err
	}

	if d.order.Dir != "" && serving.dir != d.order.Dir { // a subfolder of the locked one
		unlock, err := claim(ctx, serving.dir)
		if err != nil {
			return err
		}
		defer unlock()
	}

	d.state.Volumes[at].Dir = serving.dir
	if err := d.state.save(); err != nil {
		return err
	}

	return mountFileSystem(serving.fs, serving.device.Path(), serving.dir, d.sc.Host.MountOptions)
}

// slots returns how many requests a volume's block layer keeps in flight, up to the loop driver's
// 128.
func slots(v volume.Volume) int {
	if q, ok := v.(interface{ Slots() int }); ok {
		return min(q.Slots(), 128)
	}
	return 0
}

// place finds or creates the folder on which a volume is mounted. It records the folders that it
// creates.
func (d *daemon) place(name string, alone bool) (string, error) {
	base := d.order.Dir
	switch {
	case base == "":
		base = filepath.Join(d.state.dir, "volumes")
	case alone:
		return base, nil
	}

	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}

	dir := base
	for _, element := range strings.Split(name, "/") {
		dir = filepath.Join(dir, element)
		err := os.Mkdir(dir, 0o755)
		switch {
		case err == nil:
			d.state.Dirs = append(d.state.Dirs, dir)
		case !os.IsExist(err):
			return "", err
		}
	}

	return dir, nil
}

// pace lets requests through immediately, or makes them wait for newly started volumes.
func (d *daemon) pace(paced bool) error {
	models := make([]volume.Volume, len(d.volumes))
	if paced {
		var err error
		if models, err = build(d.sc); err != nil {
			return err
		}
	}
	for i, v := range d.volumes {
		v.disk.Pace(paced, models[i])
	}
	d.paced = paced
	return d.reset()
}

// reset restarts the counters.
func (d *daemon) reset() error {
	for _, v := range d.volumes {
		v.disk.ResetStats()
		if err := v.begin(); err != nil {
			return err
		}
	}
	return nil
}
