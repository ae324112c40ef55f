package azure

import (
	"strings"
	"time"
)

// A metric is an Azure Monitor metric and its name in the recording.
type metric struct{ name, as string }

// A group is the metrics of one resource that one request reads.
type group struct {
	resource string
	byLUN    bool // a series for each data disk
	metrics  []metric
}

func (g *group) find(name string) (metric, bool) {
	for _, m := range g.metrics {
		if strings.EqualFold(m.name, name) {
			return m, true
		}
	}
	return metric{}, false
}

// named returns metrics with the exporter's names: azure_{type}_{metric}_{aggregation}_{unit}.
func named(kind string, units map[string][]string) []metric {
	spelled := strings.NewReplacer("-", "_", " ", "_", "/", "_", ".", "_")
	var out []metric
	// In a fixed order, because the order of a map would change requests from run to run.
	for _, unit := range []string{"CountPerSecond", "BytesPerSecond", "Count", "MilliSeconds", "Percent"} {
		for _, name := range units[unit] {
			out = append(out, metric{name,
				strings.ToLower("azure_microsoft_compute_" + kind + "_" + spelled.Replace(name) + "_average_" + unit)})
		}
	}
	return out
}

var (
	ofDisk = named("disks", map[string][]string{
		"CountPerSecond": {"Composite Disk Read Operations/sec", "Composite Disk Write Operations/sec"},
		"BytesPerSecond": {"Composite Disk Read Bytes/sec", "Composite Disk Write Bytes/sec"},
	})
	ofDataDisks = named("virtualmachines", map[string][]string{
		"CountPerSecond": {"Data Disk Read Operations/Sec", "Data Disk Write Operations/Sec"},
		"BytesPerSecond": {"Data Disk Read Bytes/sec", "Data Disk Write Bytes/sec"},
		"Count":          {"Data Disk Queue Depth"},
		"MilliSeconds":   {"Data Disk Latency"},
		"Percent":        {"Data Disk IOPS Consumed Percentage", "Data Disk Bandwidth Consumed Percentage"},
	})
	ofMachine = named("virtualmachines", map[string][]string{
		"Percent": {"Percentage CPU", "VM Uncached IOPS Consumed Percentage",
			"VM Uncached Bandwidth Consumed Percentage",
			"VM Cached IOPS Consumed Percentage", "VM Cached Bandwidth Consumed Percentage"},
	})
)

// groups returns the requests that the address needs.
func (s *service) groups() []group {
	var out []group
	if s.isDisk {
		out = append(out, group{s.id, false, ofDisk})
	}
	if s.machine != "" {
		if len(s.disks) > 0 {
			out = append(out, group{s.machine, true, ofDataDisks})
		}
		out = append(out, group{s.machine, false, ofMachine})
	}
	return out
}

// metrics is an answer of Microsoft.Insights/metrics.
type metrics struct {
	Value []struct {
		Name struct {
			Value string `json:"value"`
		} `json:"name"`
		Series []series `json:"timeseries"`
	} `json:"value"`
}

type series struct {
	Metadata []struct {
		Name struct {
			Value string `json:"value"`
		} `json:"name"`
		Value string `json:"value"`
	} `json:"metadatavalues"`
	Data []struct {
		At      time.Time `json:"timeStamp"`
		Average *float64  `json:"average"`
	} `json:"data"`
}

// lun returns the number of the data disk.
func (s *series) lun() string {
	for _, m := range s.Metadata {
		if strings.EqualFold(m.Name.Value, "LUN") {
			return m.Value
		}
	}
	return ""
}
