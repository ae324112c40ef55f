package emit

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

// A Class holds the parameters that a StorageClass or VolumeAttributesClass requests. Zero values are
// not specified.
type Class struct {
	Provider   string // aws, gcp, azure
	Type       string // the catalogue's name of the product, or otherwise the provider's
	IOPS       int64
	IOPSPerGB  int64
	Throughput units.Throughput
	FileSystem string
	Caching    catalog.Caching // by Azure's hosts
}

// older maps the provisioners from before CSI, which the CSI drivers replaced, to their providers.
var older = map[string]string{"kubernetes.io/aws-ebs": "aws", "kubernetes.io/gce-pd": "gcp",
	"kubernetes.io/azure-disk": "azure"}

// usual has the default types for classes that specify none: docs/parameters.md of aws-ebs-csi-driver,
// pkg/parameters of gcp-compute-persistent-disk-csi-driver, docs/driver-parameters.md of
// azuredisk-csi-driver (2026-08). The in-tree EBS provisioner's default was gp2.
var usual = map[string]string{"aws": "gp3", "gcp": "pd-standard", "azure": "StandardSSD_LRS",
	"kubernetes.io/aws-ebs": "gp2"}

// DriverOf returns the provider of a CSI driver or older provisioner; "" for unknown ones.
func DriverOf(name string) string {
	for provider, d := range drivers {
		if d.name == name {
			return provider
		}
	}
	return older[name]
}

// ReadClass parses the parameters of a driver's class, ignoring the case of their keys: those of a
// StorageClass, or with modify those of a VolumeAttributesClass, which only has what changes. ok is
// false for unknown drivers.
func ReadClass(driverName string, parameters map[string]string, modify bool) (class Class, ok bool) {
	class.Provider = DriverOf(driverName)
	driver, ok := drivers[class.Provider]
	if !ok {
		return class, false
	}

	get := func(keys ...string) string {
		// Drivers ignore the case of keys. Sort them, so that duplicates in different case give a
		// stable result.
		for _, have := range slices.Sorted(maps.Keys(parameters)) {
			for _, key := range keys {
				if strings.EqualFold(have, key) {
					return strings.TrimSpace(parameters[have])
				}
			}
		}
		return ""
	}

	class.Type = get(driver.kind, "type", "storageaccounttype")
	if class.Type == "" && !modify {
		class.Type = cmp.Or(usual[driverName], usual[class.Provider])
	}

	for ours, theirs := range kinds {
		// Azure's zone-redundant variants count as the same product.
		if strings.EqualFold(class.Type, theirs) ||
			strings.EqualFold(class.Type, strings.TrimSuffix(theirs, "_LRS")+"_ZRS") {
			class.Type = ours
		}
	}

	if t, err := catalog.Type(class.Type); err == nil {
		class.Type = t.Name
	}

	class.IOPS = whole(get(driver.iops, driver.attributeIOPS))
	class.IOPSPerGB = whole(get("iopsPerGB"))
	unit := units.MiBps

	// Azure counts throughput in decimal megabytes.
	if class.Provider == "azure" {
		unit = units.MBps
	}

	class.Throughput = units.Throughput(whole(get(driver.rate, driver.attributeRate))) * unit
	class.FileSystem = get("csi.storage.k8s.io/fstype", "fstype")

	switch strings.ToLower(get("cachingMode")) {
	case "none":
		class.Caching = catalog.NoCaching
	case "readonly":
		class.Caching = catalog.CachedReads
	case "readwrite":
		class.Caching = catalog.CachedBoth
	}

	return class, true
}

// whole parses a number, with the optional unit of Google's driver; 0 if it is invalid.
func whole(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "Mi"), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
