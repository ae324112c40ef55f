package emit

import "strings"

// hostReasons say why to change a setting of the host: what it affects, not what it should be. The
// files contain them beside the value. Statements about stalls were measured in the lab
// (docs/models.md) or are from the kernel's documentation.
var hostReasons = map[string]string{
	"host.dirty_background_bytes": "how much dirty data the page cache holds before the kernel begins to write it out. A log's fdatasync waits behind everything that is being written out.",
	"host.dirty_background_ratio": "the same as a share of memory, if no bytes are given.",
	"host.dirty_bytes":            "how much may be dirty before writers have to wait.",
	"host.dirty_ratio":            "the same as a share of memory, if no bytes are given.",
	"host.dirty_expire":           "how old a dirty page gets before it is written out: everything written in that time is then written out together.",
	"host.writeback_interval":     "how often the kernel looks for such pages.",
	"host.wbt_lat_usec":           "bounds how many of the page cache's writes are in flight at a device; 0 turns it off. A log's fdatasync and a page's read wait behind those in flight.",
	"host.filesystem":             "a file system is made once: a different one needs a new volume.",
	"host.instance":               "the instance's own limits apply to all its volumes together.",
	"host.memory":                 "the container's memory limit: the engine's cache and the page cache share it.",
}

// why returns the reason for a path; "" if none is known.
func (l *Layout) why(path string) string {
	if setting, ok := strings.CutPrefix(path, l.setting("")); ok {
		return l.deployment.Reasons[setting]
	}
	return hostReasons[path]
}

// Comments returns a value's change and the reason, for the lines before it.
func (l *Layout) Comments(path string) string {
	var b strings.Builder
	for _, line := range []string{l.Because(path), l.why(path)} {
		if line != "" {
			b.WriteString("# " + line + "\n")
		}
	}
	return b.String()
}
