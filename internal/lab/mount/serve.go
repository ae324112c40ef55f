//go:build linux

package mount

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// ServeHTTP answers the requests of a Machine.
func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q request
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytesMax)).Decode(&q); err != nil {
			reply(w, answer{Error: err.Error()})
			return
		}
	}
	reply(w, d.act(r, &q)) // without holding the lock: the client may read slowly
}

// act executes a request.
func (d *daemon) act(r *http.Request, q *request) answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	var a answer

	var err error
	switch r.Method + " " + r.URL.Path {
	case "GET /status":
		a.Status, err = d.status()
	case "POST /set":
		if err = d.set(q.Sets); err == nil {
			a.Status, err = d.status()
		}
	case "POST /pace":
		if q.Paced == nil {
			err = errors.New("paced: missing in the request")
		} else {
			err = d.pace(*q.Paced)
		}
	case "POST /reset":
		err = d.reset()
	case "POST /cut":
		a.Cut, err = d.cut(q)
	case "POST /recover":
		err = d.revive(r.Context())
	case "POST /quit":
		if err = d.release(r.Context(), q.Force); err == nil {
			d.stop()
		}
	default:
		err = fmt.Errorf("unknown request %s %s", r.Method, r.URL.Path)
	}

	if err != nil {
		var busy *BusyError
		return answer{Error: err.Error(), Busy: errors.As(err, &busy)}
	}

	return a
}

func reply(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

func (d *daemon) status() (*Status, error) {
	out := &Status{About: d.sc.Name, Paced: d.paced, Backing: "memory"}
	if d.order.Images != "" {
		out.Backing = d.order.Images
	}

	parts := partsOf(d.sc)
	for i, served := range d.volumes {
		gives, err := parts[i].order.Gives(d.sc.Instance())
		if err != nil {
			return nil, err
		}

		vs := VolumeStatus{Name: served.name, Dir: served.dir, Device: served.device.Path(), FileSystem: served.fs,
			Size: int64(served.disk.Size()), Gives: gives}
		c, err := parts[i].order.Config(served.name, d.sc.Instance())
		if err != nil {
			return nil, err
		}

		// A striped volume has the limits of all its members together.
		members := float64(parts[i].order.Members())
		vs.IOPS, vs.Throughput = members*float64(c.Sustained.IOPS), members*float64(c.Sustained.Throughput)
		vs.Latency = seconds(c.Latency[volume.Write].Mean())
		stats := served.disk.Stats()
		vs.fill(stats)

		if d.paced {
			now, err := served.sight(&stats)
			if err != nil {
				return nil, err
			}
			vs.compare(&served.kernel, now)
		}

		if err := served.hidden(); err != nil {
			vs.Problem = err.Error()
		}

		out.Volumes = append(out.Volumes, vs)
	}

	return out, nil
}

// set changes limits while the volumes are in use. The volumes restart with the limits of the
// changed scenario; their sizes and file systems stay.
func (d *daemon) set(sets []string) error {
	all := overlay(d.order.Sets, sets)
	sc, err := d.parse(all)
	if err != nil {
		return err
	}

	// The file systems stay mounted, so only what the disk computes per request may change.
	now, then := partsOf(d.sc), partsOf(sc)
	if before, after := d.sc.Host.Config, sc.Host.Config; before.Scheduler != after.Scheduler ||
		before.MountOptions != after.MountOptions || before.WbtLatUsec != after.WbtLatUsec {
		return errors.New("scheduler, writeback throttling and mount options cannot change while volumes are mounted, only their limits")
	}
	if len(now) != len(then) {
		return errors.New("volumes cannot be added or removed while they are mounted")
	}

	for i := range now {
		a, b := now[i].order, then[i].order
		if now[i].name != then[i].name || a.Size*units.Size(a.Members()) != b.Size*units.Size(b.Members()) {
			return fmt.Errorf("volume %s: its size and name cannot change while it is mounted, only its limits",
				now[i].name)
		}
	}

	// If the new limits cannot be applied, the old ones must stay in effect.
	before, sets0 := d.sc, d.order.Sets
	d.sc, d.order.Sets = sc, all
	if err := d.pace(d.paced); err != nil {
		d.sc, d.order.Sets = before, sets0
		return err
	}

	return nil
}

// overlay appends assignments to earlier ones but keeps only the last for each key, because a
// machine may receive assignments for days.
func overlay(before, later []string) []string {
	var out []string
	all := slices.Concat(before, later)
	for i, set := range all {
		key, _, _ := strings.Cut(set, "=")
		if !slices.ContainsFunc(all[i+1:], func(s string) bool { return strings.HasPrefix(s, key+"=") }) {
			out = append(out, set)
		}
	}
	return out
}

func (d *daemon) cut(q *request) (CutReport, error) {
	if q.Cut == nil {
		return nil, errors.New("cut: missing in the request")
	}
	out := CutReport{}
	for _, v := range d.volumes {
		r, err := v.disk.Cut(*q.Cut)
		if err != nil {
			return nil, err
		}
		out[v.name] = r
	}
	return out, nil
}

// revive mounts everything again after a power loss, as a machine does at boot: the file system
// replays its journal. Processes that had files open must have exited.
func (d *daemon) revive(ctx context.Context) error {
	// Unmount all before any gets its power back: a file system that saw the power loss is read-only.
	for _, v := range d.volumes {
		device, err := v.number()
		if err == nil {
			err = unmountDevice(ctx, device, v.dir, false)
		}
		if err == nil {
			err = gone(ctx, device, aftercut)
		}
		if err != nil {
			return fmt.Errorf("cannot recover from the power loss: %w", err)
		}
	}

	for _, v := range d.volumes {
		v.disk.Revive()
		if err := mountFileSystem(v.fs, v.device.Path(), v.dir, d.sc.Host.MountOptions); err != nil {
			return fmt.Errorf("cannot recover from the power loss: %w", err)
		}
	}

	return nil
}
