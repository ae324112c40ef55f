package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/record/timeline"
)

// An identity is what a recording shows about a volume apart from its I/O: its provider and its size.
type identity struct {
	given    catalog.Order // from the user (only type and size) or the provider's API; zero: unknown
	model    catalog.Model // of the device; zero: unknown
	provider string        // "": unknown
	whose    string        // the evidence for the provider
	size     units.Size    // 0: unknown
	sizeHow  string
	sizeIs   Known
	parts    int // number of volumes of a stripe; 0: unknown
	lacks    []string
}

// identify collects the evidence for a volume's product.
func (f *Fitting) identify(u use) identity {
	id := identity{given: f.opt.Volumes[u.volume]}

	// The user's word comes first, then the provider's API, then the device's model.
	if t, err := catalog.Type(id.given.Type); err == nil {
		id.given.Type, id.provider, id.whose = t.Name, t.Provider, "specified as "+t.Name
	} else if o, ok := f.described(u.device); ok {
		id.given.Type, id.given.IOPS, id.given.Throughput, id.provider = o.Type, o.IOPS, o.Throughput, o.provider
		id.whose = "its provider reports " + o.Type
		if id.given.Size == 0 {
			id.given.Size, id.sizeHow = o.Size, "reported by its provider"
		}
	}

	id.parts, _ = strconv.Atoi(f.Facts["parts."+u.device])
	f.identifyModel(u, &id)

	// An instance without local disks can only have network volumes.
	if i := f.instance(); i != nil && id.provider == "" {
		if i.Disk.Count > 0 { // the device may be a local disk
			id.lacks = append(id.lacks, "the device's model ("+i.Name+" has local disks)")
		} else {
			id.provider, id.whose = "aws", i.Name+" is an Amazon instance type without local disks"
		}
	} else if id.provider == "" {
		id.lacks = append(id.lacks, "the device's model (node_exporter's node_disk_info, or plimsoll record host)")
	}

	f.identifySize(u, &id)
	if id.size == 0 {
		id.lacks = append(id.lacks, "the volume's size (node_filesystem_size_bytes, or plimsoll record host)")
	}

	return id
}

// A described is a volume as reported by its provider's API.
type described struct {
	catalog.Order
	provider string
}

// described returns what a source reports about a device's volume; false if no source does, or the
// catalogue lacks the type.
func (f *Fitting) described(device string) (described, bool) {
	o, err := catalog.ParseOrder(f.Fact("volume."+device, "volume."+f.Facts["volume_id."+device]))
	if err != nil {
		return described{}, false
	}
	t, err := catalog.Type(o.Type)
	if err != nil {
		return described{}, false
	}
	return described{o, t.Provider}, true
}

func (f *Fitting) identifyModel(u use, id *identity) {
	name := f.Facts["model."+u.device]
	for _, t := range f.Signal(rules.DiskInfo) {
		if t.Labels.Get("device") == u.device && name == "" {
			name = t.Labels.Get("model")
		}
	}
	m, ok := catalog.ModelOf(name)
	if !ok || id.given.Type != "" {
		return
	}
	id.model, id.provider, id.whose = m, m.Provider, fmt.Sprintf("its model is %q", m.Name)
}

// instance returns the machine's type, nil if unknown.
func (f *Fitting) instance() *catalog.InstanceType {
	i, err := f.opt.Catalog.Instance(f.Fact(rules.FactMachine))
	if err != nil {
		return nil
	}
	return i
}

// identifySize determines the volume's size from the device, or from its file system, which is slightly
// smaller.
func (f *Fitting) identifySize(u use, id *identity) {
	if id.given.Size > 0 {
		id.size, id.sizeHow, id.sizeIs = id.given.Size, cmp.Or(id.sizeHow, "as specified"), Measured
		return
	}
	if n, err := strconv.ParseInt(f.Facts["size."+u.device], 10, 64); err == nil && n > 0 {
		id.size, id.sizeHow, id.sizeIs = units.Size(n), "reported by the device", Measured
	} else if b, of := f.fileSystem(u); b > 0 && b < largest/4 {
		id.size, id.sizeIs = roundGiB(b), Inferred
		id.sizeHow = fmt.Sprintf("%s has %s, and the volume is slightly larger", of, units.Bytes(b))
	}
	if id.parts > 1 {
		id.size = (id.size + units.Size(id.parts) - 1) / units.Size(id.parts)
		id.sizeHow += fmt.Sprintf(", over %d volumes", id.parts)
	}
}

// fileSystem returns the size of the file system on a volume's device, and its evidence; 0 if unknown.
func (f *Fitting) fileSystem(u use) (bytes float64, of string) {
	if b := timeline.Max(f.For(rules.FilesystemSize, "device", u.device)); b > 0 {
		return b, "its file system"
	}

	path := f.Fact("dbpath")
	if u.volume != "data" {
		path += "/" + u.volume
	}

	best := ""
	mounts := f.Signal(rules.MountSize)
	for _, t := range mounts {
		at := t.Labels.Get("mount_point")

		// A data path on the root may be a link, if another mount could hold the data.
		if at == "/" && slices.ContainsFunc(mounts,
			func(o timeline.Track) bool { return holdsData(o.Labels.Get("mount_point")) }) {
			continue // the path may be a link into another mount
		}

		if u.volume != "data" && at != path || !beneath(path, at) || len(at) <= len(best) {
			continue
		}

		if b := timeline.Max(t.Values); b > 0 {
			best, bytes, of = at, b, "the file system at "+at
		}
	}

	return bytes, of
}

// holdsData reports whether a mount other than the root may be a database's.
func holdsData(at string) bool {
	for _, system := range []string{"/boot", "/dev", "/run", "/sys", "/tmp", "/proc", "/snap"} {
		if beneath(at, system) {
			return false
		}
	}
	return at != "/"
}

// beneath reports whether a path is inside a folder.
func beneath(path, folder string) bool {
	return path != "" && (path == folder || folder == "/" || strings.HasPrefix(path, folder+"/"))
}

// fileSystemShare is the minimum share of its volume that a file system reports as its size: ext4 uses up
// to a fiftieth for itself, xfs less.
const fileSystemShare = 0.975

// roundGiB returns the roundest number of GiB that a volume with a file system of this size may have,
// because people order round sizes.
func roundGiB(bytes float64) units.Size {
	least := math.Ceil(bytes / float64(units.GiB))
	most := math.Max(least, math.Floor(bytes/fileSystemShare/float64(units.GiB)))
	for _, step := range []float64{1024, 500, 256, 100, 50, 10, 5} {
		if n := math.Ceil(least/step) * step; n <= most {
			return units.Size(n) * units.GiB
		}
	}
	return units.Size(least) * units.GiB
}
