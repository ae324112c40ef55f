package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	group1 = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/db/providers/Microsoft.Compute/"
	disk   = group1 + "disks/data-1"
	vm     = group1 + "virtualMachines/db-1"
)

// loggedIn is a credential that always has a token.
type loggedIn struct{ err error }

func (c loggedIn) GetToken(_ context.Context, opt policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if len(opt.Scopes) != 1 || opt.Scopes[0] != "https://management.azure.com/.default" {
		return azcore.AccessToken{}, fmt.Errorf("scopes %v", opt.Scopes)
	}
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, c.err
}

type reply struct {
	status int
	body   string
}

// A fake answers like Azure Resource Manager, in the format of its REST API reference.
type fake struct {
	mu      sync.Mutex
	replies map[string][]reply // by the last part of the path
	asked   []string
}

var began = time.Now().Add(-10 * time.Minute).Truncate(time.Minute).UTC()

func point(minute int, average string) string {
	return fmt.Sprintf(`{"timeStamp":%q%s}`, began.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339), average)
}

func value(name, unit, lun string, points ...string) string {
	metadata := ""
	if lun != "" {
		metadata = `{"name":{"value":"lun","localizedValue":"lun"},"value":"` + lun + `"}`
	}
	return fmt.Sprintf(`{"id":"x","type":"Microsoft.Insights/metrics","name":{"value":%q,"localizedValue":%q},"displayDescription":"","unit":%q,"timeseries":[{"metadatavalues":[%s],"data":[%s]}],"errorCode":"Success"}`,
		name, name, unit, metadata, strings.Join(points, ","))
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	f.asked = append(f.asked, key)

	if r.Header.Get("Authorization") != "Bearer token" || r.URL.Query().Get("api-version") == "" {
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

	asks := r.URL.Query().Get("metricnames")
	switch {
	case key == "data-1":
		_, _ = io.WriteString(w, `{"name":"data-1","id":"`+disk+`","type":"Microsoft.Compute/disks","location":"westeurope","managedBy":"`+vm+`","sku":{"name":"PremiumV2_LRS"},"properties":{"diskSizeGB":512,"diskIOPSReadWrite":5000,"diskMBpsReadWrite":200,"diskState":"Attached"}}`)
	case key == "db-1":
		_, _ = io.WriteString(w, `{"name":"db-1","location":"West Europe","properties":{"hardwareProfile":{"vmSize":"Standard_D8s_v5"},"storageProfile":{"dataDisks":[{"lun":1,"name":"data-1","caching":"None","managedDisk":{"id":"`+disk+`"}}]}}}`)
	case strings.Contains(asks, "Composite"):
		_, _ = io.WriteString(w, `{"cost":59,"interval":"PT1M","namespace":"Microsoft.Compute/disks","value":[`+value("Composite Disk Write Operations/sec", "CountPerSecond", "", point(0, `,"average":4000`), point(1, ""), point(2, `,"average":5000`))+`]}`)
	case strings.Contains(asks, "Data Disk") && r.URL.Query().Get("$filter") == "LUN eq '*'":
		_, _ = io.WriteString(w, `{"value":[`+value("Data Disk Queue Depth", "Count", "1", point(0, `,"average":7`))+","+value("Data Disk Queue Depth", "Count", "9", point(0, `,"average":70`))+`]}`)
	default:
		_, _ = io.WriteString(w, `{"value":[]}`)
	}
}

func read(t *testing.T, f *fake, arg string, opt source.Options, login error) (*recording.Memory, source.Source, error) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	s, err := Cloud{Endpoint: server.URL, Credential: loggedIn{login}, Wait: func(int) time.Duration { return 0 }}.Open(t.Context(), arg)
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewMemory(recording.MemoryOptions{})
	return w, s, s.Read(t.Context(), w, opt)
}

func samples(t *testing.T, w *recording.Memory, selector string) string {
	t.Helper()
	found, err := w.Samples(t.Context(), recording.MustSelector(selector), began, began.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range found {
		for _, p := range s.Points {
			out = append(out, fmt.Sprintf("%s %v:%v", s.Labels.Get("device"), time.UnixMilli(p.T).Sub(began).Minutes(), p.F))
		}
	}
	return strings.Join(out, " ")
}

func TestDisk(t *testing.T) {
	for _, arg := range []string{"azure://" + disk, "azure:/" + disk} {
		w, s, err := read(t, &fake{}, arg, source.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}

		for selector, want := range map[string]string{
			"azure_microsoft_compute_disks_composite_disk_write_operations_sec_average_countpersecond": "data-1 1:4000 data-1 3:5000",
			"azure_microsoft_compute_virtualmachines_data_disk_queue_depth_average_count":              "data-1 1:7",
		} {
			if got := samples(t, w, selector); got != want {
				t.Errorf("%s: %q, not %q", selector, got, want)
			}
		}

		d := s.Describe()
		for name, want := range map[string]string{"volume.data-1": "premium-v2,512GiB,5000IOPS,200MB/s", "region": "westeurope", "instance_type": "Standard_D8s_v5", "caching.data-1": "None", "requests": "5 API calls"} {
			if d.Facts[name] != want {
				t.Errorf("%s is %q, not %q", name, d.Facts[name], want)
			}
		}
	}
	if _, s, err := read(t, &fake{}, "azure://"+vm, source.Options{}, nil); err != nil || s.Describe().Facts["volume.data-1"] == "" || s.Describe().Facts["region"] != "westeurope" {
		t.Errorf("a machine: %v, %v", s.Describe(), err)
	}
}

func TestRefusals(t *testing.T) {
	denied := reply{403, `{"error":{"code":"AuthorizationFailed","message":"The client 'a' with object id 'b' does not have authorization to perform action 'Microsoft.Insights/metrics/read' over scope '/subscriptions/...' or the scope is invalid."}}`}
	busy := reply{429, `{"error":{"code":"TooManyRequests","message":"The request was throttled."}}`}

	absent := reply{404, `{"error":{"code":"ResourceNotFound","message":"The Resource was not found."}}`}
	for name, x := range map[string]struct {
		replies       map[string][]reply
		login         error
		failed, noted string
	}{
		"no login":           {nil, errors.New("DefaultAzureCredential: failed to acquire a token"), "Azure: no credentials found: run az login", ""},
		"an expired login":   {nil, errors.New("AADSTS700082: The refresh token has expired due to inactivity"), "Azure: the credentials have expired", ""},
		"no metrics":         {map[string][]reply{"metrics": {denied}}, nil, "Azure: permission Microsoft.Insights/metrics/read is missing for these credentials on " + disk, ""},
		"no disks":           {map[string][]reply{"data-1": {denied}}, nil, "", "permission Microsoft.Compute/disks/read is missing"},
		"no machines":        {map[string][]reply{"db-1": {denied}}, nil, "", "permission Microsoft.Compute/virtualMachines/read is missing"},
		"expired":            {map[string][]reply{"data-1": {{401, `{"error":{"code":"ExpiredAuthenticationToken","message":"The access token expiry UTC time is earlier than current UTC time."}}`}}}, nil, "Azure: the credentials have expired: get new ones with az login", ""},
		"being modified":     {map[string][]reply{"data-1": {{200, `{"sku":{"name":"PremiumV2_LRS"},"properties":{"diskSizeGB":128,"provisioningState":"Updating"}}`}}}, nil, "", "data-1 is being modified (Updating)"},
		"being filled":       {map[string][]reply{"data-1": {{200, `{"sku":{"name":"PremiumV2_LRS"},"properties":{"diskSizeGB":128,"provisioningState":"Succeeded","completionPercent":42}}`}}}, nil, "", "still being filled from a snapshot (42 %)"},
		"throttled":          {map[string][]reply{"data-1": {busy, busy, {200, `{"sku":{"name":"Premium_LRS"},"properties":{"diskSizeGB":128,"diskIOPSReadWrite":500}}`}}}, nil, "", "requests throttled by the provider: 2"},
		"throttled for long": {map[string][]reply{"data-1": {busy}}, nil, "Azure: Microsoft.Compute/disks/read is throttled even after several attempts", ""},
		"not there":          {map[string][]reply{"data-1": {absent}, "metrics": {absent}}, nil, "Azure: resource " + disk + " not found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, err := read(t, &fake{replies: x.replies}, "azure://"+disk, source.Options{}, x.login)
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
	for _, arg := range []string{"azure://", "azure://disk", "azure://" + disk + "/", "azure://" + disk + "?x=y", "azure:///subscriptions/x/resourceGroups/g/providers/Microsoft.Storage/disks/d"} {
		if _, err := (Cloud{}).Open(t.Context(), arg); err == nil {
			t.Error(arg)
		}
	}
}
