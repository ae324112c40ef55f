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

// order says what a daemon mounts: the first line that it receives.
type order struct {
	File       string   `json:"file"`
	Text       []byte   `json:"text"` // the file's content, as the owner read it
	Sets       []string `json:"sets"`
	FileSystem string   `json:"filesystem"`
	Dir        string   `json:"dir"`    // "": folders of the daemon's own
	Images     string   `json:"images"` // folder for image files; "": in memory
	PowerLoss  bool     `json:"power_loss"`
	Volatile   bool     `json:"volatile"`
	Detached   bool     `json:"detached"`
	Owner      int      `json:"owner"` // the process that sends the order
}

// told is a line that the daemon prints before it is ready.
type told struct {
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
	tell     func(told) error
	ready    atomic.Bool // the answer is on its way
	began    string      // when the owner did, see State

	mu      sync.Mutex
	volumes []*served
	paced   bool
	quit    chan struct{}
	once    sync.Once
}

// orderBytesMax bounds the first line, which this program writes itself.
const orderBytesMax = 1 << 20

// Serve is the daemon: the hidden verb `lab serve`. It reads what to mount from in, reports on out
// when it is ready, and serves until it is told to quit, the context ends or, unless it is
// detached, in ends. Everything is undone when it returns.
func Serve(ctx context.Context, language *scenario.Language, in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, orderBytesMax)
	unix.Umask(0o022)              // the database is not root and must reach its volumes
	signal.Ignore(syscall.SIGPIPE) // the owner may have ended

	line, err := lines.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("what to mount: %w (this command is internal: use lab mount)", err)
	}

	enc := json.NewEncoder(out)
	d := &daemon{language: language, quit: make(chan struct{}),
		tell: func(t told) error { return enc.Encode(t) }}
	if err := json.Unmarshal(line, &d.order); err != nil {
		return fmt.Errorf("what to mount: %w", err)
	}

	d.began = startOf(d.order.Owner)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		if !d.order.Detached || !d.ready.Load() { // the owner is gone, or whoever waits for the answer
			d.restoreSettings()
			d.stop()
			cancel()
		}
	}()

	if err := d.serve(ctx); err != nil {
		_ = d.tell(told{Error: err.Error()}) // whoever started it may be gone
		return err
	}

	return nil
}

// ownerPatience is how long an owner that has closed its end may take to end. One that lives restores the
// settings itself.
const ownerPatience = 2 * time.Second

// restoreSettings restores the kernel settings that an owner changed and could not restore: it was killed.
func (d *daemon) restoreSettings() {
	select {
	case <-d.quit:
		return // it ends in order
	default:
	}
	for end := time.Now().Add(ownerPatience); alive(d.order.Owner, d.began) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // it may not be a child, and is about to end
	}
	if !alive(d.order.Owner, d.began) {
		_, _ = sweepSettings() // no one sees its result; the next command tries again
	}
}

// parse reads what to mount, with assignments over it. The text does not change if the file does.
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

	defer func() {
		end, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, d.unmountAll(end))
	}()

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
	if d.tell(told{Ready: r}) != nil {
		d.stop() // nobody would know of it
	}

	select {
	case <-d.quit:
	case <-ctx.Done():
	}

	end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return srv.Shutdown(end) // the order to quit is answered first
}

func (d *daemon) mountAll(ctx context.Context) error {
	models, err := build(d.sc)
	if err != nil {
		return err
	}

	parts := partsOf(d.sc)
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

// mountOne records each step before it takes it.
func (d *daemon) mountOne(ctx context.Context, p part, model volume.Volume, alone bool) error {
	name, o := p.name, p.order
	v := &served{name: name, fs: d.order.FileSystem}
	if v.fs == "" {
		v.fs = string(d.sc.Host.FileSystem)
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
	if v.disk, err = d.host.Add(cfg); err != nil {
		return err
	}

	v.disk.Pace(false, nil)
	opt := blockdev.Options{
		Slots: slots(model), MaxRequest: d.sc.Host.MaxRequest, Scheduler: string(d.sc.Host.Scheduler),
		WbtLatUsec: d.sc.Host.WbtLatUsec,
		Log:        func(line string) { _ = d.tell(told{Log: line}) },
	}

	if v.device, err = blockdev.Attach(ctx, v.disk, entry.FUSE, opt); err != nil {
		return err
	}

	d.volumes = append(d.volumes, v)
	d.state.Volumes[at].Device = v.device.Name()
	if err := d.state.save(); err != nil {
		return err
	}

	if err := makeFileSystem(ctx, v.fs, v.device.Path()); err != nil {
		return err
	}

	if v.dir, err = d.place(name, alone); err != nil {
		return err
	}

	if d.order.Dir != "" && v.dir != d.order.Dir { // a folder below the one that is locked
		unlock, err := claim(ctx, v.dir)
		if err != nil {
			return err
		}
		defer unlock()
	}

	d.state.Volumes[at].Dir = v.dir
	if err := d.state.save(); err != nil {
		return err
	}

	return mountFileSystem(v.fs, v.device.Path(), v.dir, d.sc.Host.MountOptions)
}

// slots is how many requests a volume's block layer keeps in flight, up to the loop driver's 128.
func slots(v volume.Volume) int {
	if q, ok := v.(interface{ Slots() int }); ok {
		return min(q.Slots(), 128)
	}
	return 0
}

// place finds or makes the folder a volume is mounted on.
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

// pace lets requests through immediately, or makes them wait for volumes that start again.
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

// reset starts counting again.
func (d *daemon) reset() error {
	for _, v := range d.volumes {
		v.disk.ResetStats()
		if err := v.begin(); err != nil {
			return err
		}
	}
	return nil
}
