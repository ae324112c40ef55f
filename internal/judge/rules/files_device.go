package rules

import (
	"path"
	"strings"
)

// FilesDevice is the device that holds the databases' files: the one whose mount, as reported by
// the host, contains the folder reported by the engine. It is "" if unknown: no folder, no mounts,
// several devices, a device without figures. A folder on the root file system counts as unknown,
// because a container's root is not the host's.
func (c *Case) FilesDevice() string {
	found := ""
	for _, e := range c.Pack.Engines() {
		folder := c.Facts[e.Folder]
		if e.Folder == "" || folder == "" {
			continue
		}
		device := c.mountedBelow(folder)
		if device == "" || found != "" && device != found || c.For(DiskMoved, "device", device) == nil {
			return ""
		}
		found = device
	}
	return found
}

// mountedBelow is the device of the innermost mount that contains a folder; "" for the root.
func (c *Case) mountedBelow(folder string) string {
	device, inner := "", "/"
	for name, value := range c.Facts {
		at, isMount := strings.CutPrefix(name, "mount.")
		fields := strings.Fields(value)
		if !isMount || len(fields) == 0 || len(at) <= len(inner) ||
			!strings.HasPrefix(path.Clean(folder)+"/", at+"/") {
			continue
		}
		device, inner = path.Base(fields[len(fields)-1]), at
	}
	return device
}
