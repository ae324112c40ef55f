package catalog

// A VolumeReport is a volume type as `plimsoll catalog -o json` reports it: a contract. Unknown
// figures are left out.
type VolumeReport struct {
	Name        string        `json:"name"`
	Provider    string        `json:"provider"`
	Title       string        `json:"title"`
	IOPSMax     int64         `json:"iops_max,omitempty"`
	Throughput  int64         `json:"throughput_max_bytes_per_second,omitempty"`
	SizeMin     int64         `json:"size_min_bytes,omitempty"`
	SizeMax     int64         `json:"size_max_bytes,omitempty"`
	ChoosesIOPS bool          `json:"chooses_iops"`
	ChoosesRate bool          `json:"chooses_throughput"`
	Prices      []PriceReport `json:"prices"`
	Facts       []Fact        `json:"figures"`
	Example     string        `json:"example"`
}

// A PriceReport is a volume type's price in a region, in USD per month.
type PriceReport struct {
	Region     string       `json:"region"`
	PerGiB     float64      `json:"usd_per_gib,omitempty"`
	IOPS       []TierReport `json:"iops,omitempty"`       // each beyond this many
	Throughput []TierReport `json:"throughput,omitempty"` // per MiB/s beyond this many bytes a second
	Source
}

// A TierReport is the price beyond an amount.
type TierReport struct {
	Over int64   `json:"over"`
	USD  float64 `json:"usd"`
}

// An HourReport is an instance's hourly price in a region.
type HourReport struct {
	Region string  `json:"region"`
	USD    float64 `json:"usd_per_hour"`
	Source
}

// Report describes a volume type, with its prices in this catalogue.
func (c *Catalog) Report(t *VolumeType) VolumeReport {
	prices := []PriceReport{}
	for _, p := range c.Prices(t) {
		row := PriceReport{Region: p.Region, PerGiB: float64(p.PerGiB), Source: p.Source}
		for _, tier := range p.IOPS {
			row.IOPS = append(row.IOPS, TierReport{int64(tier.Over), float64(tier.Each)})
		}
		for _, tier := range p.Throughput {
			row.Throughput = append(row.Throughput, TierReport{int64(tier.Over), float64(tier.EachMiBps)})
		}
		prices = append(prices, row)
	}

	return VolumeReport{
		Name: t.Name, Provider: t.Provider, Title: t.Title,
		IOPSMax: int64(t.IOPSMax.Value), Throughput: int64(t.ThroughputMax.Value),
		SizeMin: int64(t.SizeMin.Value), SizeMax: int64(t.SizeMax.Value),
		ChoosesIOPS: t.ChoosesIOPS, ChoosesRate: t.ChoosesThroughput, Prices: prices, Facts: t.Facts(),
		Example: t.Example().String(),
	}
}

// An InstanceReport is an instance type as `plimsoll catalog -o json` reports it: a contract.
// Unknown figures are null.
type InstanceReport struct {
	Name           string       `json:"name"`
	Provider       string       `json:"provider"`
	VCPU           int          `json:"vcpu"`
	Memory         int64        `json:"memory_bytes"`
	BaselineIOPS   *int64       `json:"baseline_iops"`
	BaselineBytes  *int64       `json:"baseline_bytes_per_second"`
	MaximumIOPS    *int64       `json:"maximum_iops"`
	MaximumBytes   *int64       `json:"maximum_bytes_per_second"`
	Lanes          []LaneReport `json:"lanes,omitempty"` // limits of volumes to which the ones above do not apply
	Cards          int          `json:"ebs_cards,omitempty"`
	Weighting      bool         `json:"bandwidth_weighting,omitempty"`
	Attachments    int          `json:"attachments"`
	Disks          int          `json:"local_disks"`
	DiskSize       int64        `json:"local_disk_bytes"`
	DiskReadIOPS   *int64       `json:"local_disk_read_iops"`
	DiskWriteIOPS  *int64       `json:"local_disk_write_iops"`
	DiskReadBytes  *int64       `json:"local_disk_read_bytes_per_second"`
	DiskWriteBytes *int64       `json:"local_disk_write_bytes_per_second"`
	Prices         []HourReport `json:"prices"`
	Source
}

// A LaneReport is a machine's common limit for some of its volumes.
type LaneReport struct {
	Volumes       string `json:"volumes"` // types, separated by spaces, or "cached": those with host caching
	BaselineIOPS  int64  `json:"baseline_iops"`
	BaselineBytes int64  `json:"baseline_bytes_per_second"`
	MaximumIOPS   int64  `json:"maximum_iops"`
	MaximumBytes  int64  `json:"maximum_bytes_per_second"`
}

// Report describes an instance type.
func (i *InstanceType) Report() InstanceReport {
	known := func(ok bool, n int64) *int64 {
		if !ok {
			return nil
		}
		return &n
	}

	d, prices := &i.Disk, []HourReport{}
	var lanes []LaneReport
	for _, l := range i.Lanes {
		lanes = append(lanes, LaneReport{l.Volumes, int64(l.Baseline.IOPS), int64(l.Baseline.Throughput),
			int64(l.Maximum.IOPS), int64(l.Maximum.Throughput)})
	}

	for _, p := range i.Prices {
		prices = append(prices, HourReport{p.Region, float64(p.Hourly), p.Source})
	}

	return InstanceReport{
		Name: i.Name, Provider: i.Of(), Lanes: lanes, Cards: i.Cards, Weighting: i.Weighting, VCPU: i.VCPU,
		Memory:        int64(i.Memory),
		BaselineIOPS:  known(i.HasEBS, int64(i.Baseline.IOPS)),
		BaselineBytes: known(i.HasEBS, int64(i.Baseline.Throughput)),
		MaximumIOPS:   known(i.HasEBS, int64(i.Maximum.IOPS)),
		MaximumBytes:  known(i.HasEBS, int64(i.Maximum.Throughput)),
		Attachments:   i.Attachments, Disks: d.Count, DiskSize: int64(d.Size),
		DiskReadIOPS:   known(d.Measured(), int64(d.Read.IOPS)),
		DiskWriteIOPS:  known(d.Measured(), int64(d.Write.IOPS)),
		DiskReadBytes:  known(d.Measured(), int64(d.Read.Throughput)),
		DiskWriteBytes: known(d.Measured(), int64(d.Write.Throughput)),
		Prices:         prices, Source: i.Source,
	}
}

// An ImportReport is what an import changed. Its JSON is a contract: that of `plimsoll catalog import
// -o json`.
type ImportReport struct {
	File    string   `json:"file"`
	Changes []Change `json:"changes"`
	Skipped int      `json:"skipped"` // entries for products that the catalogue does not have
}
