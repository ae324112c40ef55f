package rules

// onDisks excludes file systems that store no data, or are full by design.
const onDisks = `{device=~"/dev/.+",fstype!~"squashfs|iso9660|erofs"}`

// Signals that no rule uses: they describe a deployment, for making a scenario from a recording and
// for the headroom of its limits.
var (
	DiskInfo = core.Add(Signal{Name: SignalPrefix + "disk_info:model", By: []string{"device", "model"},
		Help:  "1 for each device, labelled with the vendor's model name",
		Exprs: []string{`node_disk_info`}})
	// node_exporter's dmi collector reads what EC2 writes into the firmware (on Xen it says "HVM domU");
	// kube-state-metrics has nodes' labels if they are on its allow list.
	MachineInfo = core.Add(Signal{Name: SignalPrefix + "machine_info:type", By: []string{"instance_type"},
		Help: "1 for each machine, labelled with the provider's name for its type",
		Exprs: []string{
			`max by (instance_type) (label_replace(node_dmi_info{system_vendor="Amazon EC2",product_name=~"[a-z][a-z0-9-]*[.][a-z0-9-]+"}, "instance_type", "$1", "product_name", "(.+)"))`,
			`max by (instance_type) (label_replace(kube_node_labels{label_node_kubernetes_io_instance_type!=""}, "instance_type", "$1", "label_node_kubernetes_io_instance_type", "(.+)"))`}})
	FilesystemSize = core.Add(Signal{Name: SignalPrefix + "filesystem_size:bytes", Unit: "bytes",
		By: []string{"device"}, Help: "size of the file system on a device",
		Exprs: []string{`max by (device) (label_replace(node_filesystem_size_bytes, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	FilesystemAvailable = core.Add(Signal{Name: SignalPrefix + "filesystem_available:bytes", Unit: "bytes",
		By: []string{"device"}, Help: "free space on a device for users other than root",
		Exprs: []string{`min by (device) (label_replace(node_filesystem_avail_bytes` + onDisks +
			`, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	FilesystemInodes = core.Add(Signal{Name: SignalPrefix + "filesystem_inodes:count", By: []string{"device"},
		Help: "inodes of the file system on a device",
		Exprs: []string{`max by (device) (label_replace(node_filesystem_files` + onDisks +
			`, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	FilesystemInodesFree = core.Add(Signal{Name: SignalPrefix + "filesystem_inodes_free:count",
		By: []string{"device"}, Help: "free inodes on a device",
		Exprs: []string{`min by (device) (label_replace(node_filesystem_files_free` + onDisks +
			`, "device", "$1", "device", "/dev/(?:mapper/)?(.+)"))`}})
	MountAvailable = core.Add(Signal{Name: SignalPrefix + "mount_available:bytes", Unit: "bytes",
		By:   []string{"mount_point"},
		Help: "free space on a mounted file system, as reported by the database"})
	MountSize = core.Add(Signal{Name: SignalPrefix + "mount_size:bytes", Unit: "bytes",
		By: []string{"mount_point"}, Help: "size of a mounted file system, as reported by the database"})
	ProcessStart = core.Add(Signal{Name: SignalPrefix + "process_start:seconds", Unit: "seconds",
		By:    []string{"instance"},
		Help:  "when a process started, in seconds since 1970: a single page of its metrics holds the sums since then",
		Exprs: []string{`process_start_time_seconds`}})
)
