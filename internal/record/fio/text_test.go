package fio_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/fio"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// fio3 is the output of fio 3.x, shortened.
const fio3 = `$ fio --rw=write --ioengine=sync --fdatasync=1 --directory=d --size=22m --bs=2300 --name=wal
wal: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, (T) 2300B-2300B, ioengine=sync, iodepth=1
fio-3.28
Starting 1 process
Jobs: 1 (f=1): [W(1)][100.0%][w=2630KiB/s][w=1171 IOPS][eta 00m:00s]
wal: (groupid=0, jobs=1): err= 0: pid=2185: Tue Jun 11 16:44:54 2019
  write: IOPS=620, BW=1394KiB/s (1427kB/s)(21.0MiB/15425msec); 0 zone resets
    clat (usec): min=4, max=637, avg=11.20, stdev= 8.12
     lat (usec): min=4, max=638, avg=12.10, stdev= 8.20
    clat percentiles (usec):
     |  1.00th=[    6],  5.00th=[    7], 99.00th=[   33], 99.95th=[  112]
  fsync/fdatasync/sync_file_range:
    sync (usec): min=534, max=15766, avg=1.59k, stdev=1084.70
    sync percentiles (usec):
     |  1.00th=[  553],  5.00th=[  578], 50.00th=[ 1004],
     | 99.00th=[ 5997], 99.90th=[12000]
     issued rwts: total=0,10029,0,10028 short=10029,0,0,0 dropped=0,0,0,0
`

const fio2 = `create-files: (g=0): rw=write, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1
fio-2.2.10
create-files: (groupid=0, jobs=1): err= 0: pid=2619: Mon Apr 23 15:41:29 2018
  write: io=3200.0KB, bw=1935.9KB/s, iops=483, runt=  1653msec
    clat (usec): min=1695, max=18617, avg=2036.36, stdev=703.40
`

func textFile(text string) source.File {
	return source.File{Path: "fio.txt", Modified: time.Unix(1_700_000_000, 0), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func readText(t *testing.T, text string) (*recording.Memory, error) {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	return m, fio.NewText(textFile(text)).Read(t.Context(), m, source.Options{})
}

func last(t *testing.T, m *recording.Memory, selector string) float64 {
	t.Helper()
	s, err := m.Samples(t.Context(), recording.MustSelector(selector), time.UnixMilli(0), time.UnixMilli(recording.TimeMaxMs))
	if err != nil || len(s) != 1 {
		t.Fatalf("%s: %d series, %v", selector, len(s), err)
	}
	return s[0].Points[len(s[0].Points)-1].F
}

// Text reports of both generations give the same values as their JSON would.
func TestText(t *testing.T) {
	for _, x := range []struct {
		name, text, selector string
		want                 float64
	}{
		{"3.x, writes per second", fio3, `fio_write_iops{job="wal"}`, 620},
		{"3.x, mean of syncs with a suffix", fio3, `fio_sync_latency_mean_seconds`, 0.00159},
		{"3.x, p99 of syncs", fio3, `fio_sync_latency_seconds{quantile="0.99"}`, 0.005997},
		{"3.x, p99 of writes is another", fio3, `fio_write_latency_seconds{quantile="0.99"}`, 0.000033},
		{"3.x, options", fio3, `fio_job_info{rw="write",ioengine="sync"}`, 1},
		{"2.x, writes per second", fio2, `fio_write_iops`, 483},
		{"2.x, mean of writes", fio2, `fio_write_latency_mean_seconds`, 0.00203636},
		{"2.x, bytes", fio2, `fio_write_bytes_total`, 3200 * 1024},
	} {
		m, err := readText(t, "some text before\n"+x.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := last(t, m, x.selector); got < x.want*0.999999 || got > x.want*1.000001 {
			t.Errorf("%s: %g, want %g", x.name, got, x.want)
		}
	}

	m, err := readText(t, fio2)
	if err != nil {
		t.Fatal(err)
	}

	if s, _ := m.Samples(t.Context(), recording.MetricSelector(`fio_sync_latency_mean_seconds`), time.UnixMilli(0), time.UnixMilli(recording.TimeMaxMs)); len(s) != 0 {
		t.Error("syncs that the report does not have")
	}
}

func TestTextErrors(t *testing.T) {
	_, err := readText(t, strings.Replace(fio3, "99.00th=[ 5997]", "999.00th=[ 5997]", 1))
	if err == nil || !strings.Contains(err.Error(), "fio.txt: line 16") {
		t.Errorf("error %v", err)
	}
	if _, err := readText(t, "wal: (g=0): rw=write, bs=4k\n"); err == nil || !strings.Contains(err.Error(), "no results of a job") {
		t.Errorf("error %v", err)
	}
}

// Other formats that look similar are not recognised as fio's.
func TestSniffText(t *testing.T) {
	for _, x := range []string{fio3, fio2, "pasted:\n" + fio2} {
		if !fio.SniffText("x", []byte(x)) {
			t.Errorf("not recognised: %.60q", x)
		}
	}
	for _, x := range []string{
		`{"fio version" : "fio-3.33", "jobs" : []}`, "Linux 5.10 (h) \t01/01/24 \t_x86_64_\t(2 CPU)\n", "name: x\nrw: write\n",
		"# TYPE a counter\na{job=\"wal: (g=0)\"} 1\n", "  write: IOPS=620, BW=1394KiB/s\n", "fdatasync   608.573 ops/sec    1643 usecs/op\n",
	} {
		if fio.SniffText("x", []byte(x)) {
			t.Errorf("recognised: %.60q", x)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(fio3)
	f.Add(fio2)
	f.Add(fio3[:400])
	f.Fuzz(func(t *testing.T, text string) {
		m := recording.NewMemory(recording.MemoryOptions{})
		_ = fio.NewText(textFile(text)).Read(t.Context(), m, source.Options{})
	})
}
