package catalog

import "strings"

// A Model is a kernel's name for a provider's devices: /sys/block/*/device/model, node_exporter's
// node_disk_info.
type Model struct {
	Name     string
	Provider string
	// Local: a disk of the machine, not a rented volume.
	Local bool
	Source
}

// models are the identify strings of NVMe and SCSI devices. Microsoft's "Virtual Disk" is not among
// them: every Hyper-V has it.
var models = []Model{
	{"Amazon Elastic Block Store", "aws", false,
		Source{"Amazon EBS user guide, \"Amazon EBS volumes and NVMe\"", "2025"}},
	{"Amazon EC2 NVMe Instance Storage", "aws", true,
		Source{"Amazon EC2 user guide, \"Instance store\"", "2025"}},
	{"nvme_card-pd", "gcp", false,
		Source{"GoogleCloudPlatform/guest-configs, 65-gce-disk-naming.rules", "2025"}},
	{"PersistentDisk", "gcp", false,
		Source{"GoogleCloudPlatform/guest-configs, 65-gce-disk-naming.rules", "2025"}},
	{"nvme_card", "gcp", true, Source{"GoogleCloudPlatform/guest-configs, 65-gce-disk-naming.rules", "2025"}},
	{"EphemeralDisk", "gcp", true,
		Source{"GoogleCloudPlatform/guest-configs, 65-gce-disk-naming.rules", "2025"}},
	{"MSFT NVMe Accelerator v1.0", "azure", false, Source{"Azure/azure-vm-utils, 80-azure-disk.rules", "2025"}},
	{"Microsoft NVMe Direct Disk", "azure", true, Source{"Azure/azure-vm-utils, 80-azure-disk.rules", "2025"}},
	{"Microsoft NVMe Direct Disk v2", "azure", true,
		Source{"Azure/azure-vm-utils, 80-azure-disk.rules", "2025"}},
}

// ModelOf returns the model with a name. The name may contain underscores instead of spaces, as in
// udev.
func ModelOf(name string) (Model, bool) {
	plain := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "_", " ")), " ") }
	for _, m := range models {
		if plain(m.Name) == plain(name) {
			return m, true
		}
	}
	return Model{}, false
}

// Model is the kernel's name for a volume of the type; "" if that does not identify the provider.
func (t *VolumeType) Model() string {
	if t.Local {
		return "Amazon EC2 NVMe Instance Storage"
	}
	for _, m := range models {
		if m.Provider == t.Provider && !m.Local {
			return m.Name
		}
	}
	return ""
}
