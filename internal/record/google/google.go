// Package google reads what Google Cloud Monitoring measures about a disk, or about an instance
// with all its disks, and their properties from Compute Engine: type, size, IOPS, throughput.
//
//	gcp://projects/P/zones/Z/disks/D
//	gcp://projects/P/zones/Z/instances/I
//
// Credentials are Google's application default credentials: gcloud auth application-default login,
// a key file, workload identity, the metadata service. The package only reads. The SDK's Monitoring
// client pulls in gRPC and much more for the single request that is needed, so only the SDK's
// credentials are used.
//
// Series have stackdriver_exporter's names. Google measures disks where they are attached, so a
// disk without an instance has no metrics.
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

// Cloud opens addresses of Google Cloud. The zero Cloud is ready to use.
type Cloud struct {
	// Compute, Monitoring, Token, Client and Wait replace Google's own in tests.
	Compute, Monitoring string
	Token               auth.TokenProvider
	Client              *http.Client
	Wait                func(attempt int) time.Duration
}

// Scheme returns the scheme of the addresses.
func (Cloud) Scheme() string { return "gcp" }

// Begins returns the prefixes of the addresses.
func (Cloud) Begins() []string { return []string{"gcp://projects/"} }

var resource = regexp.MustCompile(`^projects/([a-z0-9.:-]+)/zones/([a-z0-9-]+)/(disks|instances)/([a-z0-9-]+)$`)

// Open prepares an address. It sends no requests.
func (c Cloud) Open(_ context.Context, arg string) (source.Source, error) {
	id := strings.TrimLeft(strings.TrimPrefix(arg, "gcp://"), "/")
	m := resource.FindStringSubmatch(id)
	if m == nil {
		return nil,
			errors.New("the gcp:// address is not valid: want gcp://projects/PROJECT/zones/ZONE/disks/DISK or .../instances/INSTANCE, as printed by gcloud compute disks list --uri")
	}
	bill := &cloud.Bill{}
	s := &service{id: id, project: m[1], region: m[2][:max(0, strings.LastIndexByte(m[2], '-'))],
		isDisk: m[3] == "disks", compute: c.Compute, monitoring: c.Monitoring, provider: c.Token}
	if s.compute == "" {
		s.compute, s.monitoring = "https://compute.googleapis.com", "https://monitoring.googleapis.com"
	}
	s.rest = &cloud.REST{Token: s.token, Bill: bill, Client: c.Client, Wait: c.Wait}
	return cloud.NewSource("google-monitoring", "gcp://"+id, s, bill), nil
}

// service implements [cloud.Service].
type service struct {
	id, project         string
	region              string // of the zone: "europe-west1" of "europe-west1-b"
	isDisk              bool
	compute, monitoring string
	rest                *cloud.REST

	once     sync.Once
	provider auth.TokenProvider
	loginErr error

	instance string            // its numeric id, "" for none
	disks    map[string]string // disk names by the device name in the instance
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
				nil, "Google Cloud: no credentials found: run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file")
	}

	t, err := s.provider.Token(ctx)
	if err != nil {
		if text := err.Error(); strings.Contains(text, "invalid_grant") || strings.Contains(text, "expired") ||
			strings.Contains(text, "invalid_rapt") {
			return "",
				cloud.Refuse(
					nil, "Google Cloud: the credentials have expired: get new ones with gcloud auth application-default login")
		}
		return "", cloud.Refuse(nil, "Google Cloud: cannot obtain credentials: %v", err)
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
				nil, "Google Cloud: %s is not attached to an instance, or may not be read, so its metrics cannot be found",
				s.id)
		}
		return nil
	}

	return s.describeInstance(ctx, d, instance, false)
}

// chosen lists the types with provisioned IOPS or throughput.
var chosen = []string{"hyperdisk-balanced", "hyperdisk-balanced-ha", "hyperdisk-extreme",
	"hyperdisk-throughput", "hyperdisk-ml"}

// describeDisk describes a disk and returns the first instance that it is attached to.
func (s *service) describeDisk(ctx context.Context, described *cloud.Description, id string) (instance string,
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
	if ok, err := described.Answered(err, "the limits of the disk are unknown: give them with --volume"); !ok {
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

	described.Volume(name, v)

	// Google does not report pending changes of performance, only the disk's status.
	if disk.Status != "" && disk.Status != "READY" {
		described.Note("%s is being modified (%s): until that completes, its performance may differ from its settings",
			name, disk.Status)
	}

	if disk.Snapshot != "" {
		described.Fact("from_snapshot."+name, path.Base(disk.Snapshot))
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

// disksMax bounds the disks of an instance. Google supports 128.
const disksMax = 128

// describeInstance reads the type of an instance and its disks: all of them, or only the disk of
// the address.
func (s *service) describeInstance(ctx context.Context, described *cloud.Description, id string,
	all bool) error {
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
		described.Absent = err // metrics are found by the numeric id of the instance
		return nil
	}

	if err != nil {
		return err
	}

	// The id becomes a part of a filter, so anything but a number is refused.
	if _, err := strconv.ParseUint(vm.ID, 10, 64); err != nil {
		return cloud.Refuse(nil, "Google Cloud: %s has no numeric id", id)
	}

	s.instance = vm.ID
	described.Machine(path.Base(vm.Type), cloud.Machine{})

	for _, x := range vm.Disks[:min(len(vm.Disks), disksMax)] {
		_, disk, _ := strings.Cut(x.Source, "/compute/v1/")
		if !resource.MatchString(disk) || !all && disk != s.id {
			continue
		}
		s.disks[x.Device] = path.Base(disk)
		if all {
			if _, err := s.describeDisk(ctx, described, disk); err != nil {
				return err
			}
		}
	}

	return nil
}

// Period implements [cloud.Service]. Google keeps one-minute values for six weeks, then ten-minute
// values.
func (*service) Period(age time.Duration) time.Duration {
	if age < 42*24*time.Hour {
		return time.Minute
	}
	return 10 * time.Minute
}

// kinds are the metrics of compute.googleapis.com/instance/disk to read.
var kinds = []string{"read_ops_count", "write_ops_count", "read_bytes_count", "write_bytes_count",
	"throttled_read_ops_count", "throttled_write_ops_count",
	"average_io_latency", "average_io_queue_depth"}

// pagesMax bounds the pages of one answer.
const pagesMax = 100

// perRequest is the span of one request, so that answers stay small.
const perRequest = 24 * time.Hour

// Samples implements [cloud.Service]. Each metric needs its own request.
func (s *service) Samples(ctx context.Context, span cloud.Span,
	want func(string) bool, emit func([]cloud.Series) error) error {
	if s.instance == "" {
		return nil
	}

	for from, to := range span.Parts(perRequest) {

		for _, kind := range kinds {
			name := "stackdriver_gce_instance_compute_googleapis_com_instance_disk_" + kind
			if !want(name) {
				continue
			}
			part, err := s.read(ctx, kind, name, from, to, span.Period)
			if err == nil {
				err = emit(part)
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

// read requests one metric of the disks of the instance, in any number of pages. A page continues
// where the previous one ended, even within a series; the newest points come first.
func (s *service) read(ctx context.Context, kind, name string, from, to time.Time,
	period time.Duration) ([]cloud.Series, error) {
	query := url.Values{"filter": {fmt.Sprintf(`metric.type = "compute.googleapis.com/instance/disk/%s" AND resource.labels.instance_id = "%s"`,
		kind, s.instance)},
		// The interval is closed: its first moment belongs to the previous part.
		"interval.startTime": {from.Add(time.Second).UTC().Format(time.RFC3339)},
		"interval.endTime":   {to.UTC().Format(time.RFC3339)}, "view": {"FULL"}}

	points := map[string]map[int64]float64{}
	for range pagesMax {
		var answer list
		err := s.rest.Get(ctx, s.monitoring+"/v3/projects/"+s.project+"/timeSeries?"+query.Encode(), &answer)
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
					value *= float64(time.Minute) / float64(period) // older counts cover ten minutes
				}
				points[device][p.Interval.End.UnixMilli()] = value
			}
		}

		if answer.Next == "" {
			return seriesOf(name, points, period), nil
		}

		// The other parameters must not change between pages.
		query.Set("pageToken", answer.Next)
	}

	return nil, cloud.Refuse(nil, "Google Cloud: more than %d pages for one request", pagesMax)
}

// seriesOf converts points, by the ends of their intervals, to series.
func seriesOf(name string, points map[string]map[int64]float64, period time.Duration) []cloud.Series {
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
