package iostat

import (
	"bytes"
	"math"
	"strings"
)

// A quantity is a counter of a device, with node_exporter's name.
type quantity uint8

const (
	reads quantity = iota
	readsMerged
	readBytes
	readTime
	writes
	writesMerged
	writtenBytes
	writeTime
	discards
	discardsMerged
	discardedSectors
	discardTime
	flushes
	flushTime
	ioTime
	ioTimeWeighted
	requests    // reads and writes together, if the log does not separate them
	requestTime // time of requests
	movedBytes  // bytes of requests
	quantities
)

// metricNames are node_exporter's names (collector diskstats, diskstats_common.go and
// diskstats_linux.go), and our own names for sums that only sysstat has.
var metricNames = [quantities]string{
	reads:            "node_disk_reads_completed_total",
	readsMerged:      "node_disk_reads_merged_total",
	readBytes:        "node_disk_read_bytes_total",
	readTime:         "node_disk_read_time_seconds_total",
	writes:           "node_disk_writes_completed_total",
	writesMerged:     "node_disk_writes_merged_total",
	writtenBytes:     "node_disk_written_bytes_total",
	writeTime:        "node_disk_write_time_seconds_total",
	discards:         "node_disk_discards_completed_total",
	discardsMerged:   "node_disk_discards_merged_total",
	discardedSectors: "node_disk_discarded_sectors_total",
	discardTime:      "node_disk_discard_time_seconds_total",
	flushes:          "node_disk_flush_requests_total",
	flushTime:        "node_disk_flush_requests_time_seconds_total",
	ioTime:           "node_disk_io_time_seconds_total",
	ioTimeWeighted:   "node_disk_io_time_weighted_seconds_total",
	requests:         "sysstat_disk_requests_total",
	requestTime:      "sysstat_disk_request_seconds_total",
	movedBytes:       "sysstat_disk_moved_bytes_total",
}

const (
	kib    = 1024
	mib    = 1024 * 1024
	sector = 512
)

// A column is the meaning of a heading: the rate of a counter is the printed figure times factor
// (and, for times, times the requests per second: see finish).
type column struct {
	known  bool
	q      quantity
	factor float64
}

func rate(q quantity, factor float64) column { return column{known: true, q: q, factor: factor} }

// await is a column in milliseconds per request.
func await(q quantity) column { return rate(q, 1e-3) }

// columns are the headings of sysstat 9 to 12 and the keys of its JSON (which omit the percent
// sign). Some headings are ignored on purpose: request sizes, which are quotients of others; rqm
// percentages; and svctm, which iostat itself calls meaningless.
var columns = map[string]column{
	"r/s": rate(reads, 1), "w/s": rate(writes, 1), "d/s": rate(discards, 1), "f/s": rate(flushes, 1),
	"rrqm/s": rate(readsMerged, 1), "wrqm/s": rate(writesMerged, 1), "drqm/s": rate(discardsMerged, 1),

	"rsec/s": rate(readBytes, sector), "wsec/s": rate(writtenBytes, sector), "dsec/s": rate(discardedSectors, 1),
	"rkb/s": rate(readBytes, kib), "wkb/s": rate(writtenBytes, kib), "dkb/s": rate(discardedSectors, kib/sector),
	"rmb/s": rate(readBytes, mib), "wmb/s": rate(writtenBytes, mib), "dmb/s": rate(discardedSectors, mib/sector),

	"blk_read/s": rate(readBytes, sector), "blk_wrtn/s": rate(writtenBytes, sector),
	"blk_dscd/s": rate(discardedSectors, 1),
	"kb_read/s":  rate(readBytes, kib), "kb_wrtn/s": rate(writtenBytes, kib),
	"kb_dscd/s": rate(discardedSectors, kib/sector),
	"mb_read/s": rate(readBytes, mib), "mb_wrtn/s": rate(writtenBytes, mib),
	"mb_dscd/s": rate(discardedSectors, mib/sector),

	"r_await": await(readTime), "w_await": await(writeTime),
	"d_await": await(discardTime), "f_await": await(flushTime),

	"tps": rate(requests, 1), "kb/s": rate(movedBytes, kib), "mb/s": rate(movedBytes, mib),
	"await":    await(requestTime),
	"rd_sec/s": rate(readBytes, sector), "wr_sec/s": rate(writtenBytes, sector), // sar

	"aqu-sz": rate(ioTimeWeighted, 1), "avgqu-sz": rate(ioTimeWeighted, 1),
	"%util": rate(ioTime, 0.01), "util": rate(ioTime, 0.01),
}

func columnOf(heading string) column { return columns[strings.ToLower(heading)] }

// rates are the counters of a row per second, NaN if the format has no such column.
type rates [quantities]float64

func noRates() (r rates) {
	for i := range r {
		r[i] = math.NaN()
	}
	return r
}

// set sets the value of a column. finish must be called after the last column of the row.
func (r *rates) set(c column, v float64) {
	if c.known {
		r[c.q] = v * c.factor
	}
}

// finish converts mean times per request to seconds per second: time x rate, the inverse of
// iostat's computation (rd_ticks / nr of reads).
func (r *rates) finish() {
	// A format with w_await always has w/s. If a damaged row does not, the product is NaN, that is,
	// absent.
	r[readTime] *= r[reads]
	r[writeTime] *= r[writes]
	r[discardTime] *= r[discards]
	r[flushTime] *= r[flushes]

	// Requests of both kinds together are used only if the kinds have no separate times.
	if both := r[reads] + r[writes]; both == both {
		r[requests] = both
	}

	// A single await for both kinds is the mean over the requests of both.
	r[requestTime] *= r[requests]
	if r[writeTime] == r[writeTime] {
		r[requests], r[requestTime] = math.NaN(), math.NaN()
	}
}

// idle reports whether a row shows no activity; -z omits such rows.
func (r *rates) idle() bool {
	for _, v := range r {
		if v > 0 {
			return false
		}
	}
	return true
}

// cpuModes are node_exporter's names for the columns of avg-cpu, without the percent sign.
var cpuModes = []string{"user", "nice", "system", "iowait", "steal", "idle"}

func isCPUHeading(line []byte) bool { return bytes.HasPrefix(line, []byte("avg-cpu:")) }

// isDeviceHeading recognises "Device" (sysstat 12) and "Device:" (older versions), followed by
// columns.
func isDeviceHeading(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("Device"))
	if !ok {
		return false
	}
	rest = bytes.TrimPrefix(rest, []byte(":"))
	return len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') &&
		(bytes.Contains(rest, []byte("/s")) || bytes.Contains(rest, []byte("util")))
}
