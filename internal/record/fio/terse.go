package fio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// fio's terse output (fio: HOWTO, "Terse output", versions 3 to 5): a line per job or group, with
// semicolons. It has no syncs.
const (
	terseFrom   = 5  // fields before the first direction: version, fio, job, group, error
	terseFields = 41 // fields of a direction, in version 5 with samples and IOPS
	terseMore   = 47
)

// terseLine is a line of it, with or without other text around it.
var terseLine = regexp.MustCompile(`(?m)^([345]);fio-[0-9][^;\n]*;[^;\n]+;\d+;-?\d+;\d+;`)

// SniffTerse reports whether head has a line of fio's terse output.
func SniffTerse(head []byte) bool {
	return bytes.Contains(head, []byte(";fio-")) && terseLine.Match(head)
}

// NewTerse prepares a file with fio's terse output.
func NewTerse(from source.File) source.Source { return &terseFile{file: New(from).(*file)} }

// terseFile is one terse report; it implements source.Source.
type terseFile struct{ *file }

// Read implements source.Source.
func (f *terseFile) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	// Terse output has no time of day; the end of the run is close to when the file was written.
	out := &result{Version: "fio", TimestampMs: endMs(f.Modified)}
	err := f.eachLine(ctx, "fio terse output", func(line string) error {
		// Warnings and status lines of fio may be between the results.
		if !terseLine.MatchString(line) || len(out.Jobs) > jobsMax {
			return nil
		}
		j, version, err := terseJob(line)
		out.Version, out.Jobs = version, append(out.Jobs, j)
		return err
	})

	switch {
	case err != nil:
		return err
	case len(out.Jobs) > jobsMax:
		return fmt.Errorf("fio terse output %s: more than %d jobs", f.Path, jobsMax)
	case len(out.Jobs) == 0:
		return fmt.Errorf("fio terse output %s: no job: run fio with --output-format=json", f.Path)
	}
	return f.report(ctx, writer, opt, out)
}

// terseJob parses a line.
func terseJob(line string) (j job, version string, err error) {
	fields := strings.Split(strings.TrimRight(line, "\r"), ";")
	each := terseFields
	if fields[0] == "5" {
		each = terseMore
	}
	if len(fields) < terseFrom+2*each {
		return j, "", errors.New("it was cut short")
	}

	j = job{Name: fields[2], Options: map[string]any{}}
	if j.Error, err = strconv.Atoi(fields[4]); err != nil {
		return j, "", fmt.Errorf("error %q: want a number", fields[4])
	}

	dirs := []*direction{&j.Read, &j.Write}
	if fields[0] != "3" && len(fields) >= terseFrom+3*each {
		dirs = append(dirs, &j.Trim)
	}
	for i, d := range dirs {
		if err := d.terse(fields[terseFrom+i*each:][:each]); err != nil {
			return j, "", err
		}
		j.Runtime = max(j.Runtime, d.Runtime)
	}

	return j, fields[1], nil
}

// terse fills a direction: KiB, bandwidth, IOPS, milliseconds, then submission latency, completion
// latency, its percentiles and total latency, in microseconds.
func (d *direction) terse(fields []string) error {
	const slat, clat, percentiles, lat, bandwidth = 4, 8, 12, 32, 36

	var n [bandwidth]float64
	for i := range n {
		if i >= percentiles && i < lat {
			continue
		}
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || v < 0 {
			return fmt.Errorf("%.40q: want a number", fields[i])
		}
		n[i] = v
	}
	if n[3] > yearsMs {
		return errors.New("runtime out of range")
	}

	d.Bytes, d.IOPS, d.Runtime = n[0]*1024, n[2], int64(n[3])

	// The line has no count of requests, so it follows from the rate.
	d.IOs = d.IOPS * n[3] / 1000
	const us = 1e3 // nanoseconds
	d.Clat = latency{Max: n[clat+1] * us, Mean: n[clat+2] * us, N: d.IOs, Percentile: map[string]float64{}}
	d.Lat = latency{Max: n[lat+1] * us, Mean: n[lat+2] * us, N: d.IOs}

	for _, x := range fields[percentiles:lat] {
		q, value, ok := strings.Cut(x, "%=")
		if !ok {
			return fmt.Errorf("%.40q: want a percentile", x)
		}
		p, err1 := strconv.ParseFloat(q, 64)
		v, err2 := strconv.ParseFloat(value, 64)
		if err1 != nil || err2 != nil || p < 0 || p > 100 {
			return fmt.Errorf("%.40q: want a percentile", x)
		}
		if p > 0 { // unused ones are 0%
			d.Clat.Percentile[fmt.Sprintf("%.6f", p)] = v * us
		}
	}

	return nil
}
