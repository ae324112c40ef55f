package amazon

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/record/cloud"
)

// volumesMax bounds the volumes of an instance. EC2 supports 128.
const volumesMax = 128

// A lookup queries AWS about resources and writes the results into a description. A missing
// permission becomes a note, not an error, because metrics may still be readable.
type lookup struct {
	query *query
	d     *cloud.Description
	knows func(instanceType string) bool

	has        inventory
	attachedTo []string // instances
}

// answered is [cloud.Description.Answered] for a resource: what it is, and whether users give its id or its
// name.
func (l *lookup) answered(err error, what, by, without string) (bool, error) {
	ok, err := l.d.Answered(err, without)
	if errors.Is(l.d.Absent, cloud.ErrNotFound) {
		l.d.Absent = fmt.Errorf("AWS: %s not found in %s for this account: check its %s, ?region= and ?profile=", what,
			l.query.cfg.Region, by)
	}
	return ok, err
}

// A volumeItem is a volume as EC2 describes it.
type volumeItem struct {
	ID         string `xml:"volumeId"`
	Type       string `xml:"volumeType"`
	SizeGiB    int64  `xml:"size"`
	IOPS       int64  `xml:"iops"`
	Throughput int64  `xml:"throughput"` // MiB/s
	Snapshot   string `xml:"snapshotId"`
	Attached   []struct {
		Instance string `xml:"instanceId"`
		Device   string `xml:"device"`
	} `xml:"attachmentSet>item"`
}

// provisioned lists the types for which users choose the IOPS (and, for gp3, the throughput). For
// gp2, EC2 also returns IOPS, but they follow from the size.
var provisioned = []string{"gp3", "io1", "io2"}

func (v *volumeItem) known() cloud.Volume {
	out := cloud.Volume{Type: v.Type, SizeGiB: v.SizeGiB}
	if slices.Contains(provisioned, v.Type) {
		out.IOPS = v.IOPS
	}
	if v.Type == "gp3" && v.Throughput > 0 {
		out.Throughput = fmt.Sprintf("%dMiB/s", v.Throughput)
	}
	return out
}

// volumes describes volumes and notes those that are being modified.
func (l *lookup) volumes(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	ids = ids[:min(len(ids), volumesMax)]
	parameters := url.Values{}
	for i, id := range ids {
		parameters.Set(fmt.Sprintf("VolumeId.%d", i+1), id)
	}

	var answer struct {
		Volumes []volumeItem `xml:"volumeSet>item"`
	}
	err := l.query.call(ctx, "ec2", "DescribeVolumes", parameters, &answer)
	if ok, err := l.answered(err, "volume "+strings.Join(ids, ", "), "id",
		"the limits of the volumes are unknown: give them with --volume"); !ok {
		return err
	}

	// The instances of the volumes are described next, because their limits apply as well.
	for _, v := range answer.Volumes {
		l.d.Volume(v.ID, v.known())
		l.d.Fact("from_snapshot."+v.ID, v.Snapshot)
		for _, a := range v.Attached {
			l.d.Fact("attached."+v.ID, a.Instance+" "+a.Device)
			if !slices.Contains(l.attachedTo, a.Instance) {
				l.attachedTo = append(l.attachedTo, a.Instance)
			}
		}
	}

	return l.modifications(ctx, ids)
}

// recently is how long a finished modification is still worth a note, because the samples may be
// older than it.
const recently = 24 * time.Hour

// modifications notes volumes that are being modified. Until that ends, their performance is
// between the old and the new settings.
func (l *lookup) modifications(ctx context.Context, ids []string) error {
	parameters := url.Values{"Filter.1.Name": {"volume-id"}}
	for i, id := range ids {
		parameters.Set(fmt.Sprintf("Filter.1.Value.%d", i+1), id)
	}

	var answer struct {
		Items []modification `xml:"volumeModificationSet>item"`
	}
	err := l.query.call(ctx, "ec2", "DescribeVolumesModifications", parameters, &answer)
	switch {
	case errors.Is(err, cloud.ErrNotFound): // never modified
		return nil
	// The description is only advice: diagnosis works without this permission.
	case errors.Is(err, cloud.ErrDenied):
		l.d.Note("%v; without it, Plimsoll cannot detect a volume that is being modified", err)
		return nil
	case err != nil:
		return err
	}

	for _, m := range answer.Items {
		switch {
		case m.State == "modifying" || m.State == "optimizing":
			l.d.Note("%s has been under modification since %s, from %s to %s (%s, %d %%): until it completes, performance is at least the lower of the two, but not yet the target",
				m.ID, m.Began.UTC().Format(time.RFC3339), m.before(), m.after(), m.State, m.Progress)
		// A recent change explains why older samples show other limits than the ones in the facts.
		case m.State == "completed" && time.Since(m.Ended) < recently:
			l.d.Note("%s was modified from %s to %s, between %s and %s: the limits shown are the current ones",
				m.ID, m.before(), m.after(), m.Began.UTC().Format(time.RFC3339), m.Ended.UTC().Format(time.RFC3339))
		}
	}

	return nil
}

// A modification is the last modification of a volume.
type modification struct {
	ID       string    `xml:"volumeId"`
	State    string    `xml:"modificationState"`
	Progress int       `xml:"progress"`
	Began    time.Time `xml:"startTime"`
	Ended    time.Time `xml:"endTime"`

	OriginalType       string `xml:"originalVolumeType"`
	OriginalSize       int64  `xml:"originalSize"`
	OriginalIOPS       int64  `xml:"originalIops"`
	OriginalThroughput int64  `xml:"originalThroughput"`
	TargetType         string `xml:"targetVolumeType"`
	TargetSize         int64  `xml:"targetSize"`
	TargetIOPS         int64  `xml:"targetIops"`
	TargetThroughput   int64  `xml:"targetThroughput"`
}

func (m *modification) before() string {
	return ordered(m.OriginalType, m.OriginalSize, m.OriginalIOPS, m.OriginalThroughput)
}

func (m *modification) after() string {
	return ordered(m.TargetType, m.TargetSize, m.TargetIOPS, m.TargetThroughput)
}

func ordered(kind string, size, iops, mibps int64) string {
	text := fmt.Sprintf("%s of %d GiB", kind, size)
	if iops > 0 {
		text += fmt.Sprintf(", %d IOPS", iops)
	}
	if mibps > 0 {
		text += fmt.Sprintf(", %d MiB/s", mibps)
	}
	return text
}

// instance describes an instance: its type, its limits, and, on request, its volumes.
func (l *lookup) instance(ctx context.Context, id string, volumes bool) error {
	var answer struct {
		Instances []struct {
			Type    string   `xml:"instanceType"`
			Volumes []string `xml:"blockDeviceMapping>item>ebs>volumeId"`
		} `xml:"reservationSet>item>instancesSet>item"`
	}

	err := l.query.call(ctx, "ec2", "DescribeInstances", url.Values{"InstanceId.1": {id}}, &answer)
	without := "the type and limits of the instance are unknown: give --instance"
	if volumes {
		without = "the volumes of the instance are unknown: give their addresses, aws://vol-..."
	}
	if ok, err := l.answered(err, "instance "+id, "id", without); !ok {
		return err
	}

	for _, i := range answer.Instances {
		if err := l.machine(ctx, i.Type); err != nil {
			return err
		}
		if !volumes {
			continue
		}
		l.has.volumes = i.Volumes[:min(len(i.Volumes), volumesMax)]
		if err := l.volumes(ctx, l.has.volumes); err != nil {
			return err
		}
	}

	return nil
}

// machine writes the limits of an instance type, if the catalogue does not have them.
func (l *lookup) machine(ctx context.Context, kind string) error {
	// A known type needs no request, and so no permission for it.
	if kind == "" || l.knows != nil && l.knows(kind) {
		l.d.Machine(kind, cloud.Machine{})
		return nil
	}

	var answer struct {
		Types []struct {
			BaselineIOPS float64 `xml:"baselineIops"`
			BaselineMBps float64 `xml:"baselineThroughputInMBps"`
			MaximumIOPS  float64 `xml:"maximumIops"`
			MaximumMBps  float64 `xml:"maximumThroughputInMBps"`
		} `xml:"instanceTypeSet>item>ebsInfo>ebsOptimizedInfo"`
	}

	err := l.query.call(ctx, "ec2", "DescribeInstanceTypes", url.Values{"InstanceType.1": {kind}}, &answer)
	if err != nil && !errors.Is(err, cloud.ErrDenied) && !errors.Is(err, cloud.ErrNotFound) {
		return err
	}

	if err != nil || len(answer.Types) == 0 {
		l.d.Note("the EBS limits of %s are unknown: it is not in the catalogue, and ec2:DescribeInstanceTypes returned none",
			kind)
		l.d.Machine(kind, cloud.Machine{})
		return nil //nolint:nilerr // the note says so
	}

	const megabyte = 1e6
	x := answer.Types[0]
	l.d.Machine(kind, cloud.Machine{IOPS: x.BaselineIOPS, BytesPerS: x.BaselineMBps * megabyte,
		MostIOPS: x.MaximumIOPS, MostBytesPerS: x.MaximumMBps * megabyte})

	return nil
}

// A dedicated log volume has a fixed size and fixed IOPS (Amazon RDS User Guide, "Dedicated log volume").
// Rules recognise it by its name: that of the instance with this suffix.
const (
	logVolume     = "-log-volume"
	logVolumeGiB  = 1000
	logVolumeIOPS = 3000
)

// database describes an RDS instance: its storage, and the instance type behind its class.
func (l *lookup) database(ctx context.Context, name string) error {
	var answer struct {
		Databases []struct {
			Class      string `xml:"DBInstanceClass"`
			Engine     string `xml:"Engine"`
			Version    string `xml:"EngineVersion"`
			Status     string `xml:"DBInstanceStatus"`
			Type       string `xml:"StorageType"`
			SizeGiB    int64  `xml:"AllocatedStorage"`
			IOPS       int64  `xml:"Iops"`
			Throughput int64  `xml:"StorageThroughput"`
			LogVolume  bool   `xml:"DedicatedLogVolume"`
		} `xml:"DescribeDBInstancesResult>DBInstances>DBInstance"`
	}

	err := l.query.call(ctx, "rds", "DescribeDBInstances", url.Values{"DBInstanceIdentifier": {name}}, &answer)
	if ok, err := l.answered(err, "RDS instance "+name, "name",
		"the limits of the storage are unknown: give them with --volume"); !ok {
		return err
	}

	for _, x := range answer.Databases {
		v := volumeItem{Type: x.Type, SizeGiB: x.SizeGiB, IOPS: x.IOPS, Throughput: x.Throughput}
		l.d.Volume(name, v.known())
		if x.LogVolume {
			log := volumeItem{Type: x.Type, SizeGiB: logVolumeGiB, IOPS: logVolumeIOPS}
			l.d.Volume(name+logVolume, log.known())
		}
		l.d.Fact("rds_engine", strings.TrimSpace(x.Engine+" "+x.Version))
		if x.Status == "storage-optimization" || x.Status == "modifying" {
			l.d.Note("the storage of %s is being modified (%s): it may be slower until that completes",
				name, x.Status)
		}
		// A class is an instance type with a prefix: db.m6i.xlarge.
		if err := l.machine(ctx, strings.TrimPrefix(x.Class, "db.")); err != nil {
			return err
		}
	}

	return nil
}
