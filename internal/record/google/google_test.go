package google

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	disk     = "projects/shop-prod/zones/europe-west1-b/disks/db-data"
	instance = "projects/shop-prod/zones/europe-west1-b/instances/db-1"
)

type loggedIn struct{ err error }

func (c loggedIn) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: "token"}, c.err
}

type reply struct {
	status int
	body   string
}

// A fake answers like Compute Engine and Monitoring, in the format of their REST API references.
type fake struct{ replies map[string][]reply }

var began = time.Now().Add(-10 * time.Minute).Truncate(time.Minute).UTC()

// counted is a page of a series: values by the minute in which they end, newest first.
func counted(device, next string, minutes ...int) string {
	var points []string
	for _, m := range minutes {
		end := began.Add(time.Duration(m) * time.Minute)
		points = append(points, fmt.Sprintf(`{"interval":{"startTime":%q,"endTime":%q},"value":{"int64Value":"%d"}}`, end.Add(-time.Minute).Format(time.RFC3339), end.Format(time.RFC3339), 100*m))
	}
	if next != "" {
		next = `,"nextPageToken":"` + next + `"`
	}
	return `{"timeSeries":[{"metric":{"labels":{"device_name":"` + device + `","device_type":"permanent","instance_name":"db-1","storage_type":"hyperdisk-balanced"},"type":"compute.googleapis.com/instance/disk/write_ops_count"},
"resource":{"type":"gce_instance","labels":{"instance_id":"4567","zone":"europe-west1-b","project_id":"shop-prod"}},"metricKind":"DELTA","valueType":"INT64","points":[` + strings.Join(points, ",") + `]}],"unit":"1"` + next + `}`
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if r.Header.Get("Authorization") != "Bearer token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}

	if all := f.replies[key]; len(all) > 0 {
		if len(all) > 1 {
			f.replies[key] = all[1:]
		}
		w.WriteHeader(all[0].status)
		_, _ = io.WriteString(w, all[0].body)
		return
	}

	base := `"https://www.googleapis.com/compute/v1/`
	switch filter := r.URL.Query().Get("filter"); {
	case key == "db-data":
		_, _ = io.WriteString(w, `{"kind":"compute#disk","id":"123","name":"db-data","sizeGb":"500","type":`+base+`projects/shop-prod/zones/europe-west1-b/diskTypes/hyperdisk-balanced","provisionedIops":"6000","provisionedThroughput":"290","users":[`+base+instance+`"]}`)
	case key == "db-1":
		_, _ = io.WriteString(w, `{"kind":"compute#instance","id":"4567","name":"db-1","machineType":`+base+`projects/shop-prod/zones/europe-west1-b/machineTypes/n4-standard-8","disks":[{"index":1,"deviceName":"data","source":`+base+disk+`"}]}`)
	case strings.Contains(filter, "disk/write_ops_count") && strings.Contains(filter, `instance_id = "4567"`):
		switch r.URL.Query().Get("pageToken") {
		case "":
			_, _ = io.WriteString(w, counted("data", "more", 3, 2))
		case "more":
			_, _ = io.WriteString(w, counted("data", "last", 1))
		default:
			_, _ = io.WriteString(w, counted("other", "", 1))
		}
	default:
		_, _ = io.WriteString(w, `{"unit":"1"}`)
	}
}

func read(t *testing.T, f *fake, arg string, login error) (*recording.Memory, source.Source, error) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	s, err := Cloud{Compute: server.URL, Monitoring: server.URL, Token: loggedIn{login}, Wait: func(int) time.Duration { return 0 }}.Open(t.Context(), arg)
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewMemory(recording.MemoryOptions{})
	return w, s, s.Read(t.Context(), w, source.Options{})
}

func TestDisk(t *testing.T) {
	for _, arg := range []string{"gcp://" + disk, "gcp://" + instance} {
		w, s, err := read(t, &fake{}, arg, nil)
		if err != nil {
			t.Fatal(err)
		}

		found, err := w.Samples(t.Context(), recording.MetricSelector("stackdriver_gce_instance_compute_googleapis_com_instance_disk_write_ops_count"), began, began.Add(time.Hour))
		if err != nil || len(found) != 1 || found[0].Labels.Get("device_name") != "db-data" || len(found[0].Points) != 3 || found[0].Points[2].F != 300 || found[0].Points[2].T != began.Add(3*time.Minute).UnixMilli() {
			t.Errorf("%v, %v", found, err)
		}

		for name, want := range map[string]string{"volume.db-data": "hyperdisk-balanced,500GiB,6000IOPS,290MiB/s", "instance_type": "n4-standard-8", "region": "europe-west1", "requests": "12 API calls"} {
			if got := s.Describe().Facts[name]; got != want {
				t.Errorf("%s is %q, not %q", name, got, want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	denied := reply{403, `{"error":{"code":403,"message":"Permission monitoring.timeSeries.list denied (or the resource may not exist).","status":"PERMISSION_DENIED"}}`}
	busy := reply{429, `{"error":{"code":429,"message":"Quota exceeded for quota metric 'Time series queries'","status":"RESOURCE_EXHAUSTED"}}`}

	absent := reply{404, `{"error":{"code":404,"message":"The resource was not found","errors":[{"message":"The resource was not found","domain":"global","reason":"notFound"}]}}`}
	for name, x := range map[string]struct {
		replies       map[string][]reply
		login         error
		failed, noted string
	}{
		"an expired login":   {nil, errors.New(`auth: "invalid_grant" "reauth related error (invalid_rapt)"`), "Google Cloud: the credentials have expired: get new ones with gcloud auth", ""},
		"no metrics":         {map[string][]reply{"timeSeries": {denied}}, nil, "Google Cloud: permission monitoring.timeSeries.list is missing for these credentials on projects/shop-prod", ""},
		"no instances":       {map[string][]reply{"db-1": {denied}}, nil, "Google Cloud: permission compute.instances.get is missing", ""},
		"not accepted":       {map[string][]reply{"db-data": {{401, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`}}}, nil, "Google Cloud: credentials not accepted", ""},
		"being restored":     {map[string][]reply{"db-data": {{200, `{"sizeGb":"10","type":"x/pd-ssd","status":"RESTORING","users":["x/compute/v1/` + instance + `"]}`}}}, nil, "", "db-data is being modified (RESTORING)"},
		"throttled":          {map[string][]reply{"timeSeries": {busy, {200, counted("data", "", 1)}}}, nil, "", "requests throttled by the provider: 1"},
		"throttled for long": {map[string][]reply{"timeSeries": {busy}}, nil, "Google Cloud: requests that need monitoring.timeSeries.list are throttled", ""},
		"not there":          {map[string][]reply{"db-data": {absent}}, nil, "Google Cloud: resource " + disk + " not found", ""},
		"attached nowhere":   {map[string][]reply{"db-data": {{200, `{"sizeGb":"10","type":"x/pd-ssd"}`}}}, nil, "Google Cloud: " + disk + " is not attached to an instance", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, err := read(t, &fake{replies: x.replies}, "gcp://"+disk, x.login)
			said := ""
			for _, n := range w.Notes() {
				said += n.Text + "\n"
			}
			switch {
			case x.failed == "" && err != nil, x.failed != "" && (err == nil || !strings.HasPrefix(err.Error(), x.failed)):
				t.Errorf("%v, not %q", err, x.failed)
			case !strings.Contains(said, x.noted):
				t.Errorf("%q, not %q", said, x.noted)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for _, arg := range []string{"gcp://", "gcp://projects/p", "gcp://" + disk + "/x", "gcp://" + disk + "?x=y", "gcp://projects/p/zones/z/snapshots/s"} {
		if _, err := (Cloud{}).Open(t.Context(), arg); err == nil {
			t.Error(arg)
		}
	}
}
