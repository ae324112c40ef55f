// Package recognise opens the sources of a recording: an [Opener] recognises what an argument is, and
// the packages below it, and the engines, read it.
//
// Users should not have to state the kind of a file, least of all while a database stalls. So a
// source is recognised by its content, never by its name. For everything else there is one error,
// which says what the argument looks like and what to give instead.
//
// The sources, and how to create each:
//
//	diagnostic.data, or the dbPath it is in, or one metrics.* file        MongoDB writes it automatically
//	iostat's log, text or JSON       S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log
//	saved pages of metrics           while sleep 1; do date +'# scraped %s'; curl -s http://host:9100/metrics; done > metrics.txt
//	http://host:9216/metrics         any exporter, etcd, IRIS (/api/monitor/metrics); read live
//	mongodb://user@host              a MongoDB server; read live
//	postgres://user@host/postgres    a PostgreSQL server; read live
//	etcd://a:2379,b:2379,c:2379      all members of an etcd cluster; read live
//	aws://vol-0123456789abcdef0      what a cloud provider measured about a volume or a machine
//	http://prometheus:9090           a Prometheus-compatible server; queried, not copied
//	host                             this machine's devices, page cache and pressure; read live
//	fio's JSON, and the logs with it fio --output-format=json --output=job.json --write_lat_log=job job.fio
//	fio's text and terse reports     also with other text around them; JSON has more
//	vmstat's output                  vmstat -t 1
//	samples of /proc/diskstats       while sleep 1; do date +%s.%N; cat /proc/diskstats; done; pt-diskstats' files
//	a Prometheus response            curl -G http://prometheus:9090/api/v1/query_range ...
//	a CloudWatch answer              aws cloudwatch get-metric-data, get-metric-statistics
//	a log of Redis or ZooKeeper      its slow syncs
//	a database's log                 also with the prefixes of journald, docker and Kubernetes
//	a benchmark's report             output of etcdctl check perf and pg_test_fsync
//	a benchmark's clients            output of sysbench and YCSB
//	a recording's folder             plimsoll record
//
// Text may be compressed with gzip, zstd or bzip2. An iostat log recorded without -t has no times;
// a gzip file stores the modification time of the log, a copied file does not.
//
// Most are a source.Source, which is read once into a recording. A recording and a Prometheus
// server are already a recording.Reader, which has its own samples.
package recognise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/record/benchmark"
	"plimsoll/internal/record/csvtable"
	"plimsoll/internal/record/diskstats"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/fio"
	"plimsoll/internal/record/host"
	"plimsoll/internal/record/httpclient"
	"plimsoll/internal/record/iostat"
	"plimsoll/internal/record/promjson"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/record/synclog"
	"plimsoll/internal/record/vmstat"
)

// An Input is an opened argument: either Source or Reader is set.
type Input struct {
	// Source must be read into a recording.
	Source source.Source
	// Reader already has samples. The caller must close it.
	Reader recording.Reader
}

// Describe describes the input with what is known before reading.
func (in Input) Describe() recording.Source {
	if in.Source != nil {
		return in.Source.Describe()
	}
	if in.Reader != nil {
		if s := in.Reader.Sources(); len(s) > 0 {
			return s[0]
		}
	}
	return recording.Source{}
}

// OpenOptions are options for opening sources.
type OpenOptions struct {
	// From and To bound the queries to a Prometheus server; zero means its last hour.
	From, To time.Time
	// Selector restricts the series of a Prometheus server: {instance=~"db-1:.*"}.
	Selector string
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Transport replaces the HTTP transport, Getenv os.Getenv.
	Transport http.RoundTripper
	Getenv    func(string) string
	// Within bounds the wait for an answer of a live source; 0 means the source's default.
	Within time.Duration
	// Room is shared by the pages of all sources that are read at the same time; nil means that
	// there is only one source.
	Room *exposition.Room
}

// Open recognises what arg is. It reads the beginning of a file, or sends one request to an
// address. Its error is one sentence: what arg is, and what to give instead.
func (o *Opener) Open(ctx context.Context, arg string, opt OpenOptions) (Input, error) {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}

	if opt.Transport == nil && opt.Insecure {
		opt.Transport = httpclient.Base(opt.Insecure)
	}

	// A file name may contain ://, but an address is far more likely.
	if scheme, _, ok := strings.Cut(arg, "://"); ok {
		return o.openURL(ctx, arg, strings.ToLower(scheme), opt)
	}

	switch {
	case arg == "":
		return Input{}, errors.New("empty argument: give a file, a folder, a URL or host")
	case arg == "-":
		return Input{},
			errors.New("standard input cannot be a source, because logs are read twice: write it to a file and give that file")
	}

	info, err := os.Stat(arg)
	switch {
	// A file named host takes precedence.
	case err != nil && host.Sniff(arg, nil):
		return asInput(host.OpenArg(arg, o.describe))
	case errors.Is(err, fs.ErrNotExist):
		return Input{}, o.notFound(arg)
	case err != nil:
		return Input{}, fmt.Errorf("open source: %w", err)
	case info.IsDir():
		return o.openFolder(arg)
	case !info.Mode().IsRegular():
		return Input{},
			fmt.Errorf("%s is %s, not a file or folder: give a file, a diagnostic.data folder, a recording, a URL or host",
				arg, special(info.Mode()))
	}

	return o.openFile(arg, info)
}

func asInput(src source.Source, err error) (Input, error) {
	if err != nil {
		return Input{}, err
	}
	return Input{Source: src}, nil
}

func asReader(r recording.Reader, err error) (Input, error) {
	if err != nil {
		return Input{}, err
	}
	return Input{Reader: r}, nil
}

func (o *Opener) notFound(arg string) error {
	if means := o.meant(arg); means != "" {
		return errors.New(means)
	}
	if m := hostPort.FindStringSubmatch(arg); m != nil {
		scheme := "http"
		if s := o.ports[m[2]]; s != "" && !isMetricsPath(m[3]) {
			scheme = s
		}
		return fmt.Errorf("file %s not found: for an address write %s://%s", arg, scheme, arg)
	}
	return fmt.Errorf("file or folder %s not found: check the path (for this machine, give host)", arg)
}

func special(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "special"
}

func (o *Opener) openFolder(dir string) (Input, error) {
	if recording.IsRecording(dir) {
		return asReader(recording.Open(dir))
	}

	if c := o.capture(dir, nil); c != nil {
		return asInput(c.Open(dir))
	}

	if means := o.serverFolder(dir); means != "" {
		return Input{}, errors.New(means)
	}

	without := fmt.Sprintf("without a recording (%s)", recording.ManifestName)
	for _, c := range o.captures {
		if c.Holds != "" {
			without += " and without " + c.Holds
		}
	}

	return Input{}, fmt.Errorf("%s is a folder %s: %s", dir, without, o.insteadOf(dir))
}

// insteadOf suggests a source in a folder that is not a source.
func (o *Opener) insteadOf(dir string) string {
	f, err := os.Open(dir)
	if err != nil {
		var denied *fs.PathError
		if errors.As(err, &denied) {
			err = denied.Err // the caller's error names the path
		}
		return "cannot list it: " + err.Error()
	}

	defer f.Close()
	// Bounded, because the folder may be a mail spool or a database with a million files.
	entries, err := f.ReadDir(200)
	if len(entries) == 0 {
		return "it is empty"
	}

	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil {
			continue
		}

		if info.IsDir() && (recording.IsRecording(path) || o.capture(path, nil) != nil) {
			return "did you mean " + path + "?"
		}

		// Only sources can be opened, so this cannot suggest an arbitrary file.
		if info.Mode().IsRegular() {
			if _, err := o.openFile(path, info); err == nil {
				return "give one of its files, for example " + path
			}
		}
	}

	_ = err // the listed entries are checked regardless
	return "give a diagnostic.data folder, a recording, or a file"
}

// openFile recognises a file by its first bytes.
func (o *Opener) openFile(path string, info fs.FileInfo) (Input, error) {
	// A user may have completed the path to the manifest of a recording.
	if filepath.Base(path) == recording.ManifestName && recording.IsRecording(filepath.Dir(path)) {
		return asReader(recording.Open(filepath.Dir(path)))
	}

	packed, err := openPacked(path, info)
	if err != nil {
		return Input{}, err
	}

	// A tar archive may contain several sources, so Plimsoll does not guess which one is meant.
	head := packed.head
	if isTar(head) {
		return Input{}, fmt.Errorf("%s %s", path, o.looksLike(head, packed.kind))
	}

	if len(head) > 0 {
		switch c := o.capture(path, head); {
		case c != nil && packed.kind == plain:
			return asInput(c.Open(path))
		case c != nil:
			return Input{}, fmt.Errorf("%s is %s compressed with %s: decompress it, or give %s", path, c.Name,
				packed.kind, c.Whole)
		}
	}

	from := source.File{Path: path, Open: packed.open, Bytes: packed.bytes, Modified: packed.modified}
	if bytes.HasPrefix(head, []byte(saMagic)) {
		if packed.kind != plain {
			return Input{}, fmt.Errorf("%s is sar's binary file compressed with %s: decompress it first",
				path, packed.kind)
		}
		if from, err = sadfFile(from); err != nil {
			return Input{}, fmt.Errorf("%s %w", path, err)
		}
		return asInput(iostat.New(from))
	}

	// Server logs come first: they may contain lines that resemble the formats below.
	for _, l := range slices.Concat(o.logs, synclog.Formats()) {
		if l.Sniff(head) {
			return asInput(l.Open(from), nil)
		}
	}
	for _, t := range o.texts {
		if t.Sniff(head) {
			return asInput(t.New(from), nil)
		}
	}

	switch {
	case iostat.Sniff(path, head):
		return asInput(iostat.New(from))
	case fio.Sniff(path, head):
		return asInput(fio.New(from), nil)
	case fio.SniffText(path, head):
		return asInput(fio.NewText(from), nil)
	case fio.SniffTerse(head):
		return asInput(fio.NewTerse(from), nil)
	case diskstats.Sniff(path, head):
		return asInput(diskstats.New(from), nil)
	case promjson.Sniff(path, head):
		return asInput(promjson.New(from), nil)
	case benchmark.SniffSysbench(head):
		return asInput(benchmark.Sysbench.NewLog(from), nil)
	case benchmark.SniffYCSB(head):
		return asInput(benchmark.YCSB.NewLog(from), nil)
	case csvtable.Sniff(head):
		return asInput(csvtable.New(from), nil)
	case vmstat.Sniff(head):
		return asInput(vmstat.New(from), nil)
	case exposition.Sniff(path, head):
		return asInput(exposition.New(from, o.exporters), nil)
	}

	// Saved answers of cloud APIs are JSON without a signature, so every other format has
	// precedence.
	for _, c := range o.saved {
		if c.IsSaved(head) {
			return Input{Source: c.Saved(from)}, nil
		}
	}

	return Input{}, fmt.Errorf("%s %s", path, o.looksLike(head, packed.kind))
}
