package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Google's machines do not support all of its disks. The table, the restrictions below it and the
// footnote are from "About Hyperdisk", section "Machine series support". It does not mention Persistent
// Disk. Nothing is refused for series that are not in the table.
var seriesDocs = Source{"Google Cloud documentation, \"About Hyperdisk\", machine series support", "2026"}

// hyperdiskSeries are the machine series of the catalogue, and some that users often need, with the
// Hyperdisks that they support: b Balanced, h Balanced High Availability, x Extreme, t Throughput, m
// ML. Capital letters: only after an agreement with Google.
var hyperdiskSeries = map[string]string{
	"c2": "", "c2d": "BH", "c3": "bhxtm", "c3d": "bhxtm", "c4": "bhxtm", "c4a": "bhxtm", "c4d": "bhxm",
	"e2": "BH", "g2": "tm", "h3": "bt", "h4d": "b", "m1": "bx", "m2": "bx", "m3": "bhxt", "m4": "bx",
	"n1": "BH", "n2": "BHxt", "n2d": "BHt", "n4": "bhtm", "t2a": "", "t2d": "t", "z3": "bhxt",
}

// hyperdiskLetters are the letters above.
var hyperdiskLetters = map[string]string{
	"hyperdisk-balanced": "b", "hyperdisk-balanced-ha": "h", extremeName: "x", "hyperdisk-throughput": "t",
	"hyperdisk-ml": "m",
}

// hyperdiskOnly are the series that support no Persistent Disk (Google Cloud documentation,
// "General-purpose machine family", C4 and N4: "limitations", 2026).
var hyperdiskOnly = map[string]bool{"c4": true, "c4a": true, "c4d": true, "n4": true}

const extremeName = "hyperdisk-extreme"

// extremeCores are the minimum numbers of vCPUs with which machines of a series support Hyperdisk
// Extreme.
var extremeCores = map[string]int{"c3": 88, "c3d": 60, "c4": 96, "c4a": 64, "c4d": 64, "m1": 80, "m3": 64,
	"m4": 64, "n2": 80}

// Refuses returns why a machine does not support volumes of a type, as the end of a sentence; "" if it
// does, or if that is unknown. An unknown machine is nil: then it returns the requirement that not
// every machine meets.
func (i *InstanceType) Refuses(t *VolumeType) string {
	letter := hyperdiskLetters[t.Name]
	if letter == "" {
		return i.refusesPersistent(t)
	}

	if i == nil {
		if t.Name == extremeName {
			return fmt.Sprintf("it needs a machine with %d or more vCPUs: name one with host.instance",
				leastExtremeCores())
		}
		return ""
	}

	series, _, _ := strings.Cut(i.Name, "-")
	takes, known := hyperdiskSeries[series]

	least := extremeCores[series]
	switch {
	// Documentation that does not mention a series is no reason to refuse it.
	case !known:
		return ""
	// A capital letter means that the series supports the disk on request, which is not a refusal.
	case !strings.Contains(strings.ToLower(takes), letter):
		return fmt.Sprintf("%s is of series %s, which does not support it", i.Name, strings.ToUpper(series))
	case t.Name == extremeName && i.VCPU < least:
		return fmt.Sprintf("%s has %d vCPUs, but series %s supports it only from %d on", i.Name, i.VCPU,
			strings.ToUpper(series), least)
	}

	return ""
}

// refusesPersistent is Refuses for disks other than Hyperdisk.
func (i *InstanceType) refusesPersistent(t *VolumeType) string {
	if i == nil || t.Provider != "gcp" {
		return ""
	}
	if series, _, _ := strings.Cut(i.Name, "-"); hyperdiskOnly[series] {
		return fmt.Sprintf("%s is of series %s, which supports only Hyperdisk", i.Name, strings.ToUpper(series))
	}
	return ""
}

// OnRequest reports whether a machine supports volumes of a type only after an agreement with its provider.
func (i *InstanceType) OnRequest(t *VolumeType) bool {
	letter := hyperdiskLetters[t.Name]
	if i == nil || letter == "" {
		return false
	}
	series, _, _ := strings.Cut(i.Name, "-")
	return strings.Contains(hyperdiskSeries[series], strings.ToUpper(letter))
}

func leastExtremeCores() int { return slices.Min(slices.Collect(maps.Values(extremeCores))) }

// diskTypes returns the Google disks that a machine supports, for an error.
func (i *InstanceType) diskTypes() string {
	var out []string
	for _, t := range types {
		if t.Provider == i.Of() && i.Refuses(t) == "" {
			out = append(out, t.Name)
		}
	}
	return strings.Join(out, ", ")
}
