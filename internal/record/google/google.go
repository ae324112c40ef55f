// Package google reads what Google Cloud Monitoring measures of a disk, or of an instance with all its
// disks, and what Compute Engine knows of them: type, size, IOPS, throughput.
//
//	gcp://projects/P/zones/Z/disks/D
//	gcp://projects/P/zones/Z/instances/I
//
// Credentials are Google's application default ones: gcloud auth application-default login, a key
// file, workload identity, the metadata service. Nothing is written. The SDK's client of Monitoring
// takes gRPC and all that it can do, for one request that is needed, so only the SDK's credentials are
// used.
//
// Series have stackdriver_exporter's names. Google measures disks where they are attached, so a disk
// without an instance has no metrics.
package google

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/source"
)

// Cloud opens addresses of Google Cloud. The zero Cloud is ready.
type Cloud struct {
	// Compute, Monitoring, Token, Client and Wait replace Google's in tests.
	Compute, Monitoring string
	Token               auth.TokenProvider
	Client              *http.Client
	Wait                func(attempt int) time.Duration
}

// Scheme is that of its addresses.
func (Cloud) Scheme() string { return "gcp" }

// Begins are the ways in which its addresses begin.
func (Cloud) Begins() []string { return []string{"gcp://projects/"} }

var resource = regexp.MustCompile(`^projects/([a-z0-9.:-]+)/zones/([a-z0-9-]+)/(disks|instances)/([a-z0-9-]+)$`)

// Open prepares an address. It sends nothing.
func (c Cloud) Open(_ context.Context, arg string) (source.Source, error) {
	id := strings.TrimLeft(strings.TrimPrefix(arg, "gcp://"), "/")
	m := resource.FindStringSubmatch(id)
	if m == nil {
		return nil,
			errors.New("a gcp:// address is gcp://projects/PROJECT/zones/ZONE/disks/DISK or .../instances/INSTANCE, as gcloud compute disks list --uri prints it")
	}
	bill := &cloud.Bill{}
	s := &service{id: id, project: m[1], region: m[2][:max(0, strings.LastIndexByte(m[2], '-'))],
		isDisk: m[3] == "disks", name: m[4], compute: c.Compute, monitoring: c.Monitoring, provider: c.Token}
	if s.compute == "" {
		s.compute, s.monitoring = "https://compute.googleapis.com", "https://monitoring.googleapis.com"
	}
	s.rest = &cloud.REST{Token: s.token, Bill: bill, Client: c.Client, Wait: c.Wait}
	return cloud.NewSource("google-monitoring", "gcp://"+id, s, bill), nil
}

// service implements [cloud.Service].
type service struct {
	id, project, name   string
	region              string // of the zone: "europe-west1" of "europe-west1-b"
	isDisk              bool
	compute, monitoring string
	rest                *cloud.REST

	once     sync.Once
	provider auth.TokenProvider
	loginErr error

	instance string            // its number, "" for none
	disks    map[string]string // names by the name that the instance gives the device
}

func (s *service) token(ctx context.Context) (string, error) {
	s.once.Do(func() {
		if s.provider == nil {
			s.provider, s.loginErr = credentials.DetectDefault(&credentials.DetectOptions{Client: cloud.NewClient(nil),
				Scopes: []string{"https://www.googleapis.com/auth/monitoring.read", "https://www.googleapis.com/auth/compute.readonly"}})
		}
	})

	if s.loginErr != nil {
		return "",
			cloud.Refuse(
				nil, "Google Cloud: there are no credentials: gcloud auth application-default login makes them, or GOOGLE_APPLICATION_CREDENTIALS names a key file")
	}

	t, err := s.provider.Token(ctx)
	if err != nil {
		if text := err.Error(); strings.Contains(text, "invalid_grant") || strings.Contains(text, "expired") ||
			strings.Contains(text, "invalid_rapt") {
			return "",
				cloud.Refuse(
					nil, "Google Cloud: the credentials have expired: gcloud auth application-default login makes new ones")
		}
		return "", cloud.Refuse(nil, "Google Cloud: the credentials cannot be had: %v", err)
	}

	return t.Value, nil
}

// Describe implements [cloud.Service].
func (s *service) Describe(ctx context.Context, d *cloud.Description) error {
	s.disks = map[string]string{}
	d.Fact("region", s.region)
	if !s.isDisk {
		return s.describeInstance(ctx, d, s.id, true)
	}

	instance, err := s.describeDisk(ctx, d, s.id)
	if err != nil {
		return err
	}

	if instance == "" {
		if d.Absent == nil {
			d.Absent = cloud.Refuse(
				nil, "Google Cloud: %s is attached to no instance, or may not be read, so it has no metrics that can be found",
				s.id)
		}
		return nil
	}

	return s.describeInstance(ctx, d, instance, false)
}

// chosen are the types whose IOPS, or throughput, one chooses.
var chosen = []string{"hyperdisk-balanced", "hyperdisk-balanced-ha", "hyperdisk-extreme",
	"hyperdisk-throughput", "hyperdisk-ml"}

// describeDisk describes a disk and returns the first instance that it is attached to.
func (s *service) describeDisk(ctx context.Context, d *cloud.Description, id string) (instance string,
	err error) {
	var disk struct {
		Type       string   `json:"type"`
		SizeGiB    int64    `json:"sizeGb,string"`
		IOPS       int64    `json:"provisionedIops,string"`
		Throughput int64    `json:"provisionedThroughput,string"`
		Snapshot   string   `json:"sourceSnapshot"`
		Users      []string `json:"users"`
		Status     string   `json:"status"`
	}

	err = s.explain(s.rest.Get(ctx, s.compute+"/compute/v1/"+id, &disk), "compute.disks.get", id)
	if ok, err := d.Answered(err, "the disk's limits are not known: give them with --volume"); !ok {
		return "", err
	}

	name := path.Base(id)
	v := cloud.Volume{Type: path.Base(disk.Type), SizeGiB: disk.SizeGiB}
	if slices.Contains(chosen, v.Type) {
		v.IOPS = disk.IOPS
		if disk.Throughput > 0 {
			v.Throughput = fmt.Sprintf("%dMiB/s", disk.Throughput)
		}
	}

	d.Volume(name, v)

	// That its performance is being changed, Google does not say.
	if disk.Status != "" && disk.Status != "READY" {
		d.Note("%s is being modified (%s): until that is completed what is known of it may not be what it gives",
			name, disk.Status)
	}

	if disk.Snapshot != "" {
		d.Fact("from_snapshot."+name, path.Base(disk.Snapshot))
	}

	if len(disk.Users) == 0 {
		return "", nil
	}

	_, instance, _ = strings.Cut(disk.Users[0], "/compute/v1/")
	if !resource.MatchString(instance) {
		return "", nil
	}

	return instance, nil
}

// disksMax bounds the disks of an instance; Google's take 128.
const disksMax = 128

// describeInstance reads an instance's type and disks; all of them if they are asked for.
func (s *service) describeInstance(ctx context.Context, d *cloud.Description, id string, all bool) error {
	var vm struct {
		ID    string `json:"id"`
		Type  string `json:"machineType"`
		Disks []struct {
			Device string `json:"deviceName"`
			Source string `json:"source"`
		} `json:"disks"`
	}

	err := s.explain(s.rest.Get(ctx, s.compute+"/compute/v1/"+id, &vm), "compute.instances.get", id)
	if errors.Is(err, cloud.ErrNotFound) || errors.Is(err, cloud.ErrDenied) {
		d.Absent = err // metrics are found by the instance's number
		return nil
	}

	if err != nil {
		return err
	}

	if _, err := strconv.ParseUint(vm.ID, 10, 64); err != nil {
		return cloud.Refuse(nil, "Google Cloud: %s has no number", id)
	}

	s.instance = vm.ID
	d.Machine(path.Base(vm.Type), cloud.Machine{})

	for _, x := range vm.Disks[:min(len(vm.Disks), disksMax)] {
		_, disk, _ := strings.Cut(x.Source, "/compute/v1/")
		if !resource.MatchString(disk) || !all && disk != s.id {
			continue
		}
		s.disks[x.Device] = path.Base(disk)
		if all {
			if _, err := s.describeDisk(ctx, d, disk); err != nil {
				return err
			}
		}
	}

	return nil
}

// Period implements [cloud.Service]: Google keeps values of a minute for six weeks, then of ten
// minutes.
func (*service) Period(age time.Duration) time.Duration {
	if age < 42*24*time.Hour {
		return time.Minute
	}
	return 10 * time.Minute
}

// kinds are the metrics of compute.googleapis.com/instance/disk that are read.
var kinds = []string{"read_ops_count", "write_ops_count", "read_bytes_count", "write_bytes_count",
	"throttled_read_ops_count", "throttled_write_ops_count",
	"average_io_latency", "average_io_queue_depth"}

// pagesMax bounds the pages of one answer.
const pagesMax = 100

// perRequest is the time that one request asks for, so that answers stay small.
const perRequest = 24 * time.Hour

// Samples implements [cloud.Service]. Each metric is a request.
func (s *service) Samples(ctx context.Context, span cloud.Span,
	want func(string) bool, take func([]cloud.Series) error) error {
	if s.instance == "" {
		return nil
	}

	for from := span.From; from.Before(span.To); from = from.Add(perRequest) {
		to := from.Add(perRequest)
		if to.After(span.To) {
			to = span.To
		}

		for _, kind := range kinds {
			name := "stackdriver_gce_instance_compute_googleapis_com_instance_disk_" + kind
			if !want(name) {
				continue
			}
			part, err := s.read(ctx, kind, name, from, to, span.Period)
			if err == nil {
				err = take(part)
			}
			if err != nil {
				return err
			}
		}
	}

	return nil
}

// list is an answer of projects.timeSeries.list.
type list struct {
	Series []struct {
		Metric struct {
			Labels map[string]string `json:"labels"`
		} `json:"metric"`
		Points []struct {
			Interval struct {
				End time.Time `json:"endTime"`
			} `json:"interval"`
			Value struct {
				Int    *int64   `json:"int64Value,string"`
				Double *float64 `json:"doubleValue"`
			} `json:"value"`
		} `json:"points"`
	} `json:"timeSeries"`
	Next string `json:"nextPageToken"`
}

// read asks for one metric of the instance's disks, however many pages that takes. A page goes on
// where the one before ended, also within a series; points come newest first.
func (s *service) read(ctx context.Context, kind, name string, from, to time.Time,
	period time.Duration) ([]cloud.Series, error) {
	q := url.Values{"filter": {fmt.Sprintf(`metric.type = "compute.googleapis.com/instance/disk/%s" AND resource.labels.instance_id = "%s"`,
		kind, s.instance)},
		// The interval is closed, and its first moment ends the part before.
		"interval.startTime": {from.Add(time.Second).UTC().Format(time.RFC3339)},
		"interval.endTime":   {to.UTC().Format(time.RFC3339)}, "view": {"FULL"}}

	points := map[string]map[int64]float64{}
	for range pagesMax {
		var answer list
		err := s.rest.Get(ctx, s.monitoring+"/v3/projects/"+s.project+"/timeSeries?"+q.Encode(), &answer)
		if err = s.explain(err, "monitoring.timeSeries.list", "projects/"+s.project); err != nil {
			return nil, err
		}

		for _, x := range answer.Series {
			device := s.disks[x.Metric.Labels["device_name"]]
			if device == "" {
				continue
			}

			if points[device] == nil {
				points[device] = map[int64]float64{}
			}

			for _, p := range x.Points {
				value := math.NaN()
				switch {
				case p.Value.Int != nil:
					value = float64(*p.Value.Int)
				case p.Value.Double != nil:
					value = *p.Value.Double
				}
				if strings.HasSuffix(kind, "_count") {
					value *= float64(time.Minute) / float64(period) // older counts are of ten minutes
				}
				points[device][p.Interval.End.UnixMilli()] = value
			}
		}

		if answer.Next == "" {
			return laid(name, points, period), nil
		}

		q.Set("pageToken", answer.Next)
	}

	return nil, cloud.Refuse(nil, "Google Cloud: more than %d pages for one request", pagesMax)
}

// laid makes series of points by the time at which their intervals end.
func laid(name string, points map[string]map[int64]float64, period time.Duration) []cloud.Series {
	var out []cloud.Series
	for device, at := range points {
		x := cloud.Series{Labels: labels.FromStrings(labels.MetricName, name, "device_name", device)}
		for end := range at {
			x.BeginMs = append(x.BeginMs, end-period.Milliseconds())
		}
		slices.Sort(x.BeginMs)
		for _, begin := range x.BeginMs {
			x.Values = append(x.Values, at[begin+period.Milliseconds()])
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b cloud.Series) int { return labels.Compare(a.Labels, b.Labels) })
	return out
}
