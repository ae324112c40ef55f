package fio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/record/recording"
)

// The rows of a log are "msec, value, ddir, bs, offset[, prio]" (fio: iolog.c, flush_samples):
// milliseconds since the job's start; the latency in nanoseconds, requests per second or KiB per
// second; 0 for read, 1 for write, 2 for trim; the bytes of the request. With log_avg_msec, a row
// is the mean of a window and its bs is 0.
const (
	slotMs      = 1000
	slotRowsMax = 4 << 20 // latencies in memory for the quantiles of one second
	logLineMax  = 4096
	logsPerJob  = 64 // processes whose logs are read
	logMsMax    = 400 * 24 * 3600 * 1000
	flushSlots  = 256
)

// logKinds are the logs to read, by the option with their prefix. Among the latency logs, total
// latency is preferred to completion latency.
var logKinds = []struct {
	option string
	names  []string // the first that exists
	add    func(*slot, row)
	emit   func(*logReader, values, int64, int, *slot)
}{
	{"write_lat_log", []string{"lat", "clat"}, (*slot).addLatency, (*logReader).emitLatency},
	{"write_iops_log", []string{"iops"}, (*slot).addMean, (*logReader).emitIOPS},
	{"write_bw_log", []string{"bw"}, (*slot).addMean, (*logReader).emitBandwidth},
}

// row is one line of a log.
type row struct {
	ms    int64
	value float64
	dir   int
	bytes float64 // 0 if the row is a mean
}

// slot collects one second of one direction.
type slot struct {
	n, sum, bytes float64
	single        float64 // number of rows that are single requests
	latencies     []float64
}

func (s *slot) addMean(r row) {
	s.n++
	s.sum += r.value
	s.bytes += r.bytes
	if r.bytes > 0 {
		s.single++
	}
}

func (s *slot) addLatency(r row) {
	s.addMean(r)
	if r.bytes > 0 && len(s.latencies) < slotRowsMax {
		s.latencies = append(s.latencies, r.value)
	}
}

func (s *slot) reset() { *s = slot{latencies: s.latencies[:0]} }

// logs reads the logs that the options of the jobs name, if they are next to the JSON.
func (e *emitter) logs(dir string) error {
	for i, p := range e.procs {
		if i >= logsPerJob {
			e.limit(fmt.Sprintf("skipped the logs of processes beyond the first %d", logsPerJob))
			break
		}

		// Jobs without usable figures have no history.
		h := e.jobs[p.job]
		if h == nil {
			continue
		}

		measured := false // another log has requests per second
		for _, kind := range logKinds {
			prefix := h.options[kind.option]
			if prefix == "" {
				continue
			}

			if prefix == "1" || prefix == "(null)" {
				prefix = p.job // the option was given without a value
			}

			for _, name := range kind.names {
				// Only the base name, because the JSON may have been moved together with its logs.
				path := filepath.Join(dir, fmt.Sprintf("%s_%s.%d.log", filepath.Base(prefix), name, i+1))
				r := &logReader{e: e, p: p, process: strconv.Itoa(i + 1), path: path, measured: &measured}
				found, err := r.read(kind.add, kind.emit)
				if err != nil {
					return err
				}
				if found {
					break
				}
			}
		}
	}
	return nil
}

// logReader reads one log.
type logReader struct {
	e        *emitter
	p        process
	process  string
	path     string
	measured *bool
	slots    [directions]slot
}

// read writes the samples of the log, second by second. found is false if the log does not exist or
// is empty.
func (r *logReader) read(add func(*slot, row), emit func(*logReader, values, int64, int, *slot)) (found bool,
	err error) {
	f, err := safefile.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("fio log: %w", err)
	}

	defer f.Close()
	br := bufio.NewReaderSize(f, logLineMax)
	slotValues := values{}
	current, line, bad := int64(-1), 0, 0
	end := func() {
		for d := range r.slots {
			if r.slots[d].n > 0 {
				// The figures of a slot cover the second that ends here.
				emit(r, slotValues, r.p.startMs+(current+1)*slotMs, d, &r.slots[d])
			}
			r.slots[d].reset()
		}
	}

	for {
		text, err := br.ReadSlice('\n')
		if err == io.EOF {
			break // a last line without a line end may have lost digits
		}

		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, fmt.Errorf("fio log %s: %w", r.path, err)
		}

		if line++; line%65536 == 0 && r.e.ctx.Err() != nil {
			return false, r.e.ctx.Err()
		}

		parsed, ok := parseRow(string(text))
		if !ok {
			if bad++; bad == 1 {
				r.e.notes = append(r.e.notes, recording.Note{Kind: recording.NoteDamage, File: r.path,
					Text: fmt.Sprintf("skipped line %d and others like it: want \"msec, value, direction, bytes, offset\"",
						line)})
			}
			continue
		}

		// The row of a window has the time of its end, the row of a request that of its completion.
		// With several requests in flight, rows may be slightly out of order.
		if s := (max(parsed.ms, 1) - 1) / slotMs; s > current {
			if current >= 0 {
				end()
			}
			current = s
			if len(slotValues) >= flushSlots {
				if err := r.e.flush(slotValues); err != nil {
					return false, err
				}
				clear(slotValues)
			}
		}

		found = true
		add(&r.slots[parsed.dir], parsed)
	}

	if current >= 0 {
		end()
	}

	return found, r.e.flush(slotValues)
}

func parseRow(line string) (r row, ok bool) {
	f := strings.SplitN(line, ",", 6)
	if len(f) < 4 {
		return r, false
	}

	var n [4]int64
	for i := range n {
		v, err := strconv.ParseInt(strings.TrimSpace(f[i]), 10, 64)
		if err != nil || v < 0 {
			return r, false
		}
		n[i] = v
	}

	if n[0] > logMsMax || n[2] >= directions {
		return r, false
	}

	return row{ms: n[0], value: float64(n[1]), dir: int(n[2]), bytes: float64(n[3])}, true
}

func (r *logReader) pairs(more ...string) []string {
	return append([]string{"job", r.p.job, "process", r.process}, more...)
}

func (r *logReader) emitLatency(v values, ms int64, dir int, s *slot) {
	prefix := "fio_log_" + directionNames[dir]
	v.add(ms, seconds(s.sum/s.n), prefix+"_latency_mean_seconds", r.pairs()...)
	if len(s.latencies) == 0 {
		return // the means of windows have no quantiles
	}
	slices.Sort(s.latencies)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
		// The smallest latency that at least a share q of the latencies do not exceed.
		i := max(int(q*float64(len(s.latencies))+0.999999)-1, 0)
		v.add(ms, seconds(s.latencies[min(i, len(s.latencies)-1)]), prefix+"_latency_seconds",
			r.pairs("quantile", strconv.FormatFloat(q, 'f', -1, 64))...)
	}
	r.emitRates(v, ms, prefix, s)
}

// emitRates computes requests and bytes per second from a log with one row per request.
func (r *logReader) emitRates(v values, ms int64, prefix string, s *slot) {
	*r.measured = true
	v.add(ms, s.single*1000/slotMs, prefix+"_iops", r.pairs()...)
	v.add(ms, s.bytes*1000/slotMs, prefix+"_bytes_per_second", r.pairs()...)
}

func (r *logReader) emitIOPS(v values, ms int64, dir int, s *slot) {
	if *r.measured || s.single > 0 {
		return // the latency log has the rate, or each row is a request and its value is meaningless
	}
	v.add(ms, s.sum/s.n, "fio_log_"+directionNames[dir]+"_iops", r.pairs()...)
}

func (r *logReader) emitBandwidth(v values, ms int64, dir int, s *slot) {
	if *r.measured || s.single > 0 {
		return
	}
	// fio logs bandwidth in KiB/s.
	v.add(ms, s.sum/s.n*1024, "fio_log_"+directionNames[dir]+"_bytes_per_second", r.pairs()...)
}
