package catalog

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// An InstanceType is a rented machine with its limits for its volumes.
type InstanceType struct {
	Name     string
	Provider string // gcp, azure; "": aws
	VCPU     int
	Memory   units.Size

	// Baseline is the sustained limit of all its network volumes together, Maximum the limit for 30
	// minutes at least once a day; the same if it does not burst. Zero if HasEBS is false. On Azure
	// these are the uncached limits.
	Baseline, Maximum volume.Rate
	HasEBS            bool // they are known
	Attachments       int  // network volumes at most, with network interfaces where they share; 0: not known
	// Cards is the number of EBS cards, each of which provides its part of the limits to the volumes
	// attached to it; 0: one.
	Cards int
	// Weighting says that its bandwidth can be weighted; see Weighted.
	Weighting bool
	// Lanes are limits of volumes to which Baseline and Maximum do not apply.
	Lanes []Lane
	Disk  LocalDisk

	Source Source // of the above
	// Prices are the on-demand prices with Linux, one per region. Missing ones are unknown.
	Prices []InstancePrice
}

// An InstancePrice is the price of an instance in a region.
type InstancePrice struct {
	Region string    `json:"region"`
	Hourly units.USD `json:"hourly"`
	Source
}

// Hourly returns the price in a region, "" for us-east-1, and whether it is known.
func (i *InstanceType) Hourly(region string) (InstancePrice, bool) {
	if region == "" {
		region = DefaultRegion(i.Of())
	}
	for _, p := range i.Prices {
		if p.Region == region {
			return p, true
		}
	}
	return InstancePrice{}, false
}

// A LocalDisk is one of an instance's own disks.
type LocalDisk struct {
	Count int        // 0: it has none
	Size  units.Size // of each
	HDD   bool
	// Read and Write are the measured limits of one disk; zero if not measured.
	Read, Write volume.Rate
}

// Measured reports whether the disk's limits are known.
func (d *LocalDisk) Measured() bool { return d.Read.IOPS > 0 && d.Write.IOPS > 0 }

// Bursts reports whether the instance's limits for 30 minutes are higher than its sustained limits.
func (i *InstanceType) Bursts() bool { return i.Baseline != i.Maximum }

// Config returns the limits that the instance's volumes share. If they are not known, there are none.
func (i *InstanceType) Config() volume.InstanceConfig {
	return Share{Baseline: i.Baseline, Maximum: i.Maximum}.Config(i.Name)
}

// sizes match the part of a name that says how large a machine is: n2-standard-8 and standard_d8s_v5 are of
// the families n2-standard and standard_ds_v5. AWS writes it after a dot.
var sizes = []*regexp.Regexp{regexp.MustCompile(`^([a-z0-9]+-[a-z]+)-[0-9]+`), regexp.MustCompile(`^(standard_[a-z]+)[0-9]+`)}

// Family returns the machines that differ in their size only: m6i, n2-standard, standard_ds_v5.
func (i *InstanceType) Family() string {
	if family, _, ok := strings.Cut(i.Name, "."); ok {
		return family
	}
	for _, s := range sizes {
		if s.MatchString(i.Name) {
			return s.ReplaceAllString(i.Name, "$1")
		}
	}
	return i.Name
}

// BySize orders types by family, and within one by size.
func BySize(a, b *InstanceType) int {
	return cmp.Or(strings.Compare(a.Family(), b.Family()), cmp.Compare(a.VCPU, b.VCPU),
		cmp.Compare(a.Memory, b.Memory), strings.Compare(a.Name, b.Name))
}

// withDisks names a similar type that has local disks.
func (i *InstanceType) withDisks() string {
	family, size, _ := strings.Cut(i.Name, ".")
	for _, other := range []string{family + "d." + size, "i4i." + size} {
		if j, err := Embedded().Instance(other); err == nil && j.Disk.Count > 0 {
			return other
		}
	}
	return "i4i.xlarge"
}

// The table of instances is made by catalog/maketable from public data and embedded as text, one line
// per type, so that what changes shows in a diff.
//
//go:embed instances.csv
var table []byte

// Hours is the number of hours in a month for prices: a twelfth of 365 days, as AWS counts.
const Hours = 730

var (
	describeInstanceTypes = Source{"EC2 DescribeInstanceTypes, as moto has it", "2026-08-02"}
	onDemandPrices        = Source{"AWS on-demand prices, us-east-1, as karpenter has them", "2026-07-20"}
)

// Region is the AWS region of the embedded prices.
const Region = "us-east-1"

// DefaultRegion is the region whose prices apply unless another one is named.
func DefaultRegion(provider string) string {
	switch provider {
	case "azure":
		return "eastus"
	case "gcp":
		return "us-central1"
	}
	return Region
}

// embedded parses the table, once. The same code wrote it (EncodeTable) and a test reads it, so an
// error is a bug in the build.
var embedded = sync.OnceValue(func() []InstanceType {
	rows, err := decodeTable(table)
	if err != nil {
		panic("catalog: embedded table: " + err.Error())
	}
	return rows
})

const tableHeader = "type,vcpu,memory_mib,base_iops,base_kBps,max_iops,max_kBps,attachments,disks,disk_gb,hdd,read_iops,read_Bps,write_iops,write_Bps,usd_per_hour,cards,ebs1"

// EncodeTable writes instances as the embedded table. Zero values are left out.
func EncodeTable(rows []InstanceType) []byte {
	var encoded bytes.Buffer
	encoded.WriteString(tableHeader + "\n")

	for i := range rows {
		machine := &rows[i]
		maximum := machine.Maximum
		if !machine.Bursts() {
			maximum = volume.Rate{}
		}

		fields := []string{machine.Name}
		add := func(n int64) {
			text := ""
			if n != 0 {
				text = strconv.FormatInt(n, 10)
			}
			fields = append(fields, text)
		}
		flag := func(is bool) {
			if is {
				add(1)
			} else {
				add(0)
			}
		}

		add(int64(machine.VCPU))
		add(int64(machine.Memory / units.MiB))
		add(int64(machine.Baseline.IOPS))
		add(int64(machine.Baseline.Throughput / 1000))
		add(int64(maximum.IOPS))
		add(int64(maximum.Throughput / 1000))
		add(int64(machine.Attachments))
		d := machine.Disk
		add(int64(d.Count))
		add(int64(d.Size / units.GB))
		flag(d.HDD)
		add(int64(d.Read.IOPS))
		add(int64(d.Read.Throughput))
		add(int64(d.Write.IOPS))
		add(int64(d.Write.Throughput))
		price := ""

		if p, ok := machine.Hourly(Region); ok {
			price = strconv.FormatFloat(float64(p.Hourly), 'f', -1, 64)
		}

		fields = append(fields, price)
		add(int64(machine.Cards))
		flag(machine.Weighting)
		encoded.WriteString(strings.TrimRight(strings.Join(fields, ","), ",") + "\n")
	}

	return encoded.Bytes()
}

func decodeTable(text []byte) ([]InstanceType, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	header, err := r.Read()
	if err != nil || strings.Join(header, ",") != tableHeader {
		return nil, fmt.Errorf("header %q, want %s", header, tableHeader)
	}

	width := len(header)
	rows := make([]InstanceType, 0, bytes.Count(text, []byte("\n")))

	fields := make([]string, width)
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}

		if err != nil {
			return nil, err
		}

		// EncodeTable drops trailing empty fields, so a record may be shorter than the header.
		clear(fields)
		copy(fields, record)
		row, err := decodeRow(fields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields[0], err)
		}

		rows = append(rows, row)
	}
}

func decodeRow(fields []string) (InstanceType, error) {
	var numbers [15]int64 // fields[1] to fields[14]
	for i := 1; i < len(numbers); i++ {
		if fields[i] == "" {
			continue
		}
		x, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return InstanceType{}, err
		}
		numbers[i] = x
	}

	row := InstanceType{
		Name: strings.Clone(fields[0]), VCPU: int(numbers[1]), Memory: units.Size(numbers[2]) * units.MiB,
		Baseline: volume.Rate{IOPS: units.Frequency(numbers[3]),
			Throughput: units.Throughput(numbers[4]) * 1000},
		Attachments: int(numbers[7]),
		Disk: LocalDisk{
			Count: int(numbers[8]), Size: units.Size(numbers[9]) * units.GB, HDD: numbers[10] != 0,
			Read:  volume.Rate{IOPS: units.Frequency(numbers[11]), Throughput: units.Throughput(numbers[12])},
			Write: volume.Rate{IOPS: units.Frequency(numbers[13]), Throughput: units.Throughput(numbers[14])},
		},
		Source: describeInstanceTypes,
	}

	// An empty maximum means that the instance does not burst.
	row.HasEBS, row.Maximum = row.Baseline.IOPS > 0, row.Baseline
	if numbers[5] != 0 {
		row.Maximum = volume.Rate{IOPS: units.Frequency(numbers[5]),
			Throughput: units.Throughput(numbers[6]) * 1000}
	}

	row.Weighting = fields[17] != ""
	if fields[16] != "" {
		cards, err := strconv.Atoi(fields[16])
		if err != nil {
			return row, err
		}
		row.Cards = cards
	}

	if fields[15] != "" {
		price, err := strconv.ParseFloat(fields[15], 64)
		if err != nil {
			return row, err
		}
		row.Prices = []InstancePrice{{Region, units.USD(price), onDemandPrices}}
	}

	return row, nil
}

func unknownInstance(name string, known []string) error {
	p := inputerror.Problem{Field: "instance", Text: fmt.Sprintf("no instance type is called %q", name)}
	near := inputerror.Near(name, known, 3)
	// Azure's portal and its price pages write D4s v5 for Standard_D4s_v5.
	if full := "standard_" + strings.ReplaceAll(strings.ToLower(name), " ", "_"); slices.Contains(known, full) {
		near = []string{full}
	}
	if len(near) > 0 {
		p.Text += "; did you mean " + strings.Join(near, ", ") + "?"
		p.Nearest = near[0]
	} else {
		p.Text += "; plimsoll catalog list instances names them, and plimsoll catalog import adds newer ones"
	}
	return p
}
