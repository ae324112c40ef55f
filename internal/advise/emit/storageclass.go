package emit

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A driver is a provider's CSI driver, with the parameter keys of its classes.
type driver struct {
	name, kind string // the key of the type
	// Keys of IOPS and throughput in a StorageClass and in a VolumeAttributesClass, and the suffix of a
	// throughput's number.
	iops, rate, attributeIOPS, attributeRate, suffix string
	fixed                                            map[string]string // parameters of each StorageClass
	// the key of the host's caching; "": not supported
	caching string
	retypes bool   // a VolumeAttributesClass can change the type
	check   string // how to verify that a change is complete
}

// drivers are the providers' CSI drivers. Keys of aws-ebs-csi-driver: its docs/parameters.md and
// docs/modify-volume.md (v1.40); of gcp-compute-persistent-disk-csi-driver: its pkg/parameters
// (2026-08); of azuredisk-csi-driver: its docs/driver-parameters.md and
// deploy/example/modifyvolume (2026-08).
var drivers = map[string]driver{
	"aws": {
		name: "ebs.csi.aws.com", kind: "type", iops: "iops", rate: "throughput", attributeIOPS: "iops",
		attributeRate: "throughput",
		fixed:         map[string]string{"encrypted": "true"}, retypes: true,
		check: "`aws ec2 describe-volumes-modifications` shows *optimizing*, then *completed*",
	},
	"gcp": {
		name: "pd.csi.storage.gke.io", kind: "type", iops: "provisioned-iops-on-create",
		rate:          "provisioned-throughput-on-create",
		attributeIOPS: "iops", attributeRate: "throughput", suffix: "Mi",
		check: "`gcloud compute disks describe DISK` shows the new figures",
	},
	"azure": {
		name: "disk.csi.azure.com", kind: "skuName", iops: "DiskIOPSReadWrite", rate: "DiskMBpsReadWrite",
		attributeIOPS: "DiskIOPSReadWrite", attributeRate: "DiskMBpsReadWrite",
		caching: "cachingMode",
		check:   "`az disk show` shows the new figures",
	},
}

// rates adds IOPS and throughput to a class's parameters, if they can be chosen for the type.
func (d *driver) rates(s *spec, parameters map[string]string, iops, rate string) {
	if s.iops > 0 {
		parameters[iops] = strconv.FormatInt(s.iops, 10)
	}
	if s.rate > 0 {
		parameters[rate] = strconv.FormatInt(s.rate, 10) + d.suffix
	}
}

// className returns a class name that includes the figures.
func (l *Transition) className(d *disk, s *spec, with ...string) string {
	parts := append([]string{l.slug(), d.volume, s.kind}, with...)
	if s.iops > 0 {
		parts = append(parts, strconv.FormatInt(s.iops, 10))
	}
	if s.rate > 0 {
		parts = append(parts, strconv.FormatInt(s.rate, 10))
	}
	return strings.Join(parts, "-")
}

// storageClassName returns the name of the class of a disk's new claims.
func (l *Transition) storageClassName(d *disk) string {
	with := []string{d.after.fs}
	if d.after.bursting {
		with = append(with, "bursting")
	}
	if d.after.caching != "" {
		with = append(with, string(d.after.caching))
	}
	return l.className(d, d.after, with...)
}

// storageClassPath is the prefix of the StorageClasses' files; the volume's name follows.
const storageClassPath = "kubernetes/storageclass-"

// classes writes a disk's classes.
func (l *Transition) classes(part *Part, volume *disk, set *statefulSet) error {
	// Existing claims keep their class. A new class is for claims that pods get later.
	if volume.member == 0 && (volume.isNew() || volume.tuned || volume.switched) || volume.recached {
		text, err := manifest(l.storageClass(volume))
		if err != nil {
			return err
		}

		head := l.Head("#", "A StorageClass for "+volume.name+".", volume.why(),
			"It waits for the first consumer, so that the volume is created in the pod's zone. It retains the volume",
			"if its claim is deleted: a typo must not delete the last copy of a database.")
		part.Files = append(part.Files, File{Path: storageClassPath + volume.name + ".yaml",
			Text: []byte(head + text),
			Mode: plain})
		part.Apply = append(part.Apply, "`kubectl apply -f "+storageClassPath+volume.name+
			".yaml`: new claims can use it. Existing claims do not change.")

		if volume.isNew() && volume.after.snapshot {
			part.Apply = append(part.Apply, l.snapshotClaims(volume))
		}

		if volume.isNew() {
			part.Apply = append(part.Apply, l.renewing(volume, set)...)
			part.Risks = append(part.Risks, volume.risks(volume.after.provider)...)
		}
	}

	if !volume.tuned {
		return nil
	}

	text, err := manifest(l.attributesClass(volume, volume.after))
	if err != nil {
		return err
	}

	old, err := manifest(l.attributesClass(volume, volume.before))
	if err != nil {
		return err
	}

	head := l.Head("#", "A VolumeAttributesClass for "+volume.name+" (Kubernetes 1.34 and later).",
		volume.why(), "The driver modifies volumes in use when their claims get this class.")
	path := "kubernetes/volumeattributesclass-" + volume.name + ".yaml"
	part.Files = append(part.Files, File{Path: path,
		Text: []byte(head + text + "---\n# For going back.\n" + old),
		Mode: plain})
	part.Apply = append(part.Apply, "`kubectl apply -f "+path+"`")
	part.Risks = append(part.Risks, volume.risks(volume.after.provider)...)

	return nil
}

// renewing returns how pods get new claims, because a claim can neither change its class nor shrink. A
// log that gets its first separate volume moves with the patch of the set.
func (l *Transition) renewing(d *disk, set *statefulSet) []string {
	if d.action == created && l.deployment.Log != nil && d.volume == l.log {
		if set != nil {
			return nil
		}
		return []string{"Do not mount the new, empty volume in place of the log. Run emit again with `--statefulset FILE`: its patch adds an init container that moves the log while the pod's database is stopped, and does not let the database start on an empty log."}
	}
	const what = "A claim in use can grow (if its class has `allowVolumeExpansion`) and change its VolumeAttributesClass. It can neither change its StorageClass nor shrink, so this change needs new claims: "
	if renew := l.deployment.Renew; renew != nil {
		return []string{what + renew(l.bring(d.volume))}
	}
	return []string{what + l.bring(d.volume) +
		" In a pod, use the container's paths. If replicas can be rebuilt, there is a simpler way: delete the pod and claims of one replica, let it copy its data, then do the next."}
}

func (l *Transition) storageClass(d *disk) *storagev1.StorageClass {
	s := d.after
	wait, retain, expand := storagev1.VolumeBindingWaitForFirstConsumer,
		corev1.PersistentVolumeReclaimRetain, true
	driver := drivers[s.provider]
	parameters := map[string]string{driver.kind: s.sold(), "csi.storage.k8s.io/fstype": s.fs}
	maps.Copy(parameters, driver.fixed)
	driver.rates(s, parameters, driver.iops, driver.rate)

	if driver.caching != "" {
		parameters[driver.caching] = s.hostCaching()
	}

	if s.bursting {
		parameters["enableBursting"] = "true"
	}

	return &storagev1.StorageClass{
		TypeMeta:    metav1.TypeMeta{APIVersion: storagev1.SchemeGroupVersion.String(), Kind: "StorageClass"},
		ObjectMeta:  metav1.ObjectMeta{Name: l.storageClassName(d)},
		Provisioner: driver.name, Parameters: parameters, MountOptions: l.After.Host.MountOptions.List(),
		ReclaimPolicy: &retain, VolumeBindingMode: &wait, AllowVolumeExpansion: &expand,
	}
}

func (l *Transition) attributesClass(d *disk, s *spec) *storagev1.VolumeAttributesClass {
	driver := drivers[s.provider]
	parameters := map[string]string{}
	if driver.retypes {
		parameters[driver.kind] = s.sold()
	}
	driver.rates(s, parameters, driver.attributeIOPS, driver.attributeRate)
	return &storagev1.VolumeAttributesClass{
		TypeMeta: metav1.TypeMeta{APIVersion: storagev1.SchemeGroupVersion.String(),
			Kind: "VolumeAttributesClass"},
		ObjectMeta: metav1.ObjectMeta{Name: l.className(d, s)},
		DriverName: driver.name, Parameters: parameters,
	}
}
