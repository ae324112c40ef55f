package emit

import "strings"

// hostReasons say why to change each setting of the host: what it affects, not what it should be. The
// files contain them next to the value. Statements about stalls were measured in the lab
// (docs/models.md) or are from the kernel's documentation.
var hostReasons = map[string]string{
	"host.dirty_background_bytes": "how much dirty data the page cache holds before the kernel starts writing it back. A log's fdatasync queues behind everything that is being written back.",
	"host.dirty_background_ratio": "the same as a share of memory, if no bytes are set.",
	"host.dirty_bytes":            "how much dirty data there may be before writers have to wait.",
	"host.dirty_ratio":            "the same as a share of memory, if no bytes are set.",
	"host.dirty_expire":           "how old a dirty page gets before the kernel writes it back: everything written in that time is then written back in one burst.",
	"host.writeback_interval":     "how often the kernel looks for such pages.",
	"host.wbt_lat_usec":           "limits how many of the page cache's writes are in flight at a device; 0 turns it off. A log's fdatasync and page reads queue behind those in flight.",
	"host.filesystem":             "a volume's file system cannot be changed: a different one needs a new volume.",
	"host.instance":               "the instance's limits apply to the total of its volumes.",
	"host.memory":                 "the container's memory limit: the engine's cache and the page cache share it.",
}

// why returns the reason for a path; "" if none is known.
func (l *Transition) why(path string) string {
	if setting, ok := strings.CutPrefix(path, l.setting("")); ok {
		return l.deployment.Reasons[setting]
	}
	return hostReasons[path]
}

// Comments returns a value's change and the reason, for the lines before it.
func (l *Transition) Comments(path string) string {
	var b strings.Builder
	for _, line := range []string{l.Because(path), l.why(path)} {
		if line != "" {
			b.WriteString("# " + line + "\n")
		}
	}
	return b.String()
}
