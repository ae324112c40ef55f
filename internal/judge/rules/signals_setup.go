package rules

// Signals that no rule uses: they describe a deployment, for making a scenario from a recording.
var (
	DiskInfo = core.Add(Signal{Name: SignalPrefix + "disk_info:model", By: []string{"device", "model"}, Help: "1 of each device, with what its maker calls it",
		Exprs: []string{`node_disk_info`}})
	FilesystemSize = core.Add(Signal{Name: SignalPrefix + "filesystem_size:bytes", Unit: "bytes", By: []string{"device"}, Help: "size of the file system on a device",
		Exprs: []string{`max by (device) (label_replace(node_filesystem_size_bytes, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	MountSize = core.Add(Signal{Name: SignalPrefix + "mount_size:bytes", Unit: "bytes", By: []string{"mount_point"}, Help: "size of a mounted file system, as the database reports it"})
)
