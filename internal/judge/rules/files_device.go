package rules

import (
	"path"
	"strings"
)

// FilesDevice is the device that bears the databases' files: the one whose mount, as the host
// reports it, holds the folder that the engine reports. It is "" where that is not known: no folder,
// no mounts, several devices, a device without figures. A folder below nothing but / is not known
// either: that of a container is not the host's.
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

// mountedBelow is the device of the innermost mount that holds a folder; "" for the root's.
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
