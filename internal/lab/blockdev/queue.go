//go:build linux

package blockdev

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
)

// A setting of a device's queue, in /sys/block/NAME/queue/.
type setting struct{ name, value string }

// undoName is the file with the original settings, one per line. It is in the folder on which the
// FUSE file system is mounted, which hides the file until a cleanup needs it.
const (
	undoName     = "queue"
	undoBytesMax = 4096
)

// loopSlots is the loop driver's nr_requests without a scheduler.
const loopSlots = 128

func queueSettings(d *disk.Disk, opt Options) []setting {
	cache := "write through"
	if d.VolatileCache() {
		cache = "write back"
	}

	scheduler := opt.Scheduler
	if scheduler == "" {
		scheduler = "none"
	}

	out := []setting{{"scheduler", scheduler}, {"rotational", "0"}, {"write_cache", cache}}
	if opt.MaxRequest > 0 {
		out = append(out, setting{"max_sectors_kb", strconv.FormatInt(int64(opt.MaxRequest/units.KiB), 10)})
	}

	slots := opt.Slots
	if slots == 0 && scheduler == "none" {
		slots = loopSlots // the device may still have the setting of a killed process
	}

	if slots > 0 {
		out = append(out, setting{"nr_requests", strconv.Itoa(slots)})
	}

	// Last, because the limits of writeback throttling are derived from the queue depth. bfq
	// disables it.
	if scheduler != "bfq" {
		out = append(out, setting{"wbt_lat_usec", strconv.Itoa(opt.WbtLatUsec)})
	}

	return out
}

// setQueue changes settings, after recording their old values. Settings that the kernel rejects
// stay unchanged.
func (v *Device) setQueue(settings []setting, log func(string)) error {
	var lines strings.Builder
	for _, s := range settings {
		old, err := QueueSetting(v.loop.name, s.name)
		if err == nil && old != s.value {
			v.undo = append(v.undo, setting{s.name, old})
			lines.WriteString(s.name + " " + old + "\n")
		}
	}

	// The record must exist before the first change, in case this process is killed in between.
	if err := v.under.WriteFile(undoName, []byte(lines.String()), 0o600); err != nil {
		return err
	}

	for _, s := range settings {
		if err := set(v.loop.name, s); err != nil && log != nil {
			log(fmt.Sprintf("%s: %s stays unchanged: %v", v.loop.name, s.name, err))
		}
	}

	return nil
}

// unbound lets the page cache hold as many dirty pages for this device as for any other. These
// limits outlive the backing file, and one left over from an earlier user would make the kernel
// start writing after the first megabytes. dir is the device's folder in /sys/block. Kernels
// without these settings have no limits.
func unbound(dir string) error {
	for _, s := range []setting{{"strict_limit", "0"}, {"max_ratio", "100"}} {
		f, err := os.OpenFile(filepath.Join(dir, "bdi", s.name), os.O_WRONLY|os.O_TRUNC, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.WriteString(s.value)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func queuePath(device, name string) string { return filepath.Join("/sys/block", device, "queue", name) }

// QueueSetting reads a setting of a device's queue.
func QueueSetting(device, name string) (string, error) {
	text, err := os.ReadFile(queuePath(device, name))
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(text))
	if _, chosen, ok := strings.Cut(value, "["); ok { // "[none] mq-deadline"
		value, _, _ = strings.Cut(chosen, "]")
	}
	return value, nil
}

// set writes a setting if it is different.
func set(device string, s setting) error {
	if old, err := QueueSetting(device, s.name); err != nil || old == s.value {
		return err
	}
	return os.WriteFile(queuePath(device, s.name), []byte(s.value), 0o644)
}

// restore writes back the old values in reverse order. Errors are ignored: this is best effort.
func restore(device string, undo []setting) {
	for _, s := range slices.Backward(undo) {
		_ = set(device, s)
	}
}

// restoreLeft restores the settings that a dead process recorded in dir, unless another program is
// using the device by now.
func restoreLeft(dir, device string) error {
	path := filepath.Join(dir, undoName)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}

	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, undoBytesMax))
	if err != nil {
		return err
	}

	if undo := parseUndo(string(text)); device != "" && backing(device) == "" {
		restore(device, undo)
	}

	return os.Remove(path)
}

// parseUndo parses the recorded settings. It accepts only those that this package changes.
func parseUndo(text string) (undo []setting) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch name {
		case "scheduler", "rotational", "write_cache", "max_sectors_kb", "nr_requests", "wbt_lat_usec":
			if ok && value != "" {
				undo = append(undo, setting{name, value})
			}
		}
	}
	return undo
}
