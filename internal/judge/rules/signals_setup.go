package rules

// onDisks leaves out file systems that are no store, or are full by design.
const onDisks = `{device=~"/dev/.+",fstype!~"squashfs|iso9660|erofs"}`

// Signals that no rule uses: they describe a deployment, for making a scenario from a recording and
// for what is left of its limits.
var (
	DiskInfo = core.Add(Signal{Name: SignalPrefix + "disk_info:model", By: []string{"device", "model"},
		Help:  "1 of each device, with what its maker calls it",
		Exprs: []string{`node_disk_info`}})
	// node_exporter's collector dmi reads what EC2 writes into the firmware (its machines on Xen say
	// "HVM domU" there); kube-state-metrics has nodes' labels where they are on its list.
	MachineInfo = core.Add(Signal{Name: SignalPrefix + "machine_info:type", By: []string{"instance_type"},
		Help: "1 of each machine, with its type as its provider calls it",
		Exprs: []string{
			`max by (instance_type) (label_replace(node_dmi_info{system_vendor="Amazon EC2",product_name=~"[a-z][a-z0-9-]*[.][a-z0-9-]+"}, "instance_type", "$1", "product_name", "(.+)"))`,
			`max by (instance_type) (label_replace(kube_node_labels{label_node_kubernetes_io_instance_type!=""}, "instance_type", "$1", "label_node_kubernetes_io_instance_type", "(.+)"))`}})
	FilesystemSize = core.Add(Signal{Name: SignalPrefix + "filesystem_size:bytes", Unit: "bytes",
		By: []string{"device"}, Help: "size of the file system on a device",
		Exprs: []string{`max by (device) (label_replace(node_filesystem_size_bytes, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	FilesystemAvailable = core.Add(Signal{Name: SignalPrefix + "filesystem_available:bytes", Unit: "bytes",
		By: []string{"device"}, Help: "space that is left on a device for whoever is not root",
		Exprs: []string{`min by (device) (label_replace(node_filesystem_avail_bytes` + onDisks +
			`, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	FilesystemInodes = core.Add(Signal{Name: SignalPrefix + "filesystem_inodes:count", By: []string{"device"},
		Help: "inodes of the file system on a device",
		Exprs: []string{`max by (device) (label_replace(node_filesystem_files` + onDisks +
			`, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	FilesystemInodesFree = core.Add(Signal{Name: SignalPrefix + "filesystem_inodes_free:count",
		By: []string{"device"}, Help: "inodes that are left on a device",
		Exprs: []string{`min by (device) (label_replace(node_filesystem_files_free` + onDisks +
			`, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	MountAvailable = core.Add(Signal{Name: SignalPrefix + "mount_available:bytes", Unit: "bytes",
		By:   []string{"mount_point"},
		Help: "space that is left on a mounted file system, as the database reports it"})
	MountSize = core.Add(Signal{Name: SignalPrefix + "mount_size:bytes", Unit: "bytes",
		By: []string{"mount_point"}, Help: "size of a mounted file system, as the database reports it"})
	ProcessStart = core.Add(Signal{Name: SignalPrefix + "process_start:seconds", Unit: "seconds",
		By:    []string{"instance"},
		Help:  "when a process began, in seconds since 1970: one page of its metrics is the sum since then",
		Exprs: []string{`process_start_time_seconds`}})
)
