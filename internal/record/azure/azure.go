// Package azure reads what Azure Monitor measures about a managed disk, or about a virtual machine
// with its data disks, and their properties: type, size, IOPS, throughput.
//
//	azure:///subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/disks/D
//	azure:///subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachines/V
//
// Credentials come from the same places that Azure's own tools use: environment, workload and managed
// identity, az login. The package only reads. The SDK's service clients are larger than the four
// requests that it needs, so it uses only the SDK's credentials.
//
// Series have the names that azure-metrics-exporter gives them with Grafana's template,
// azure_{type}_{metric}_{aggregation}_{unit}. The label device is the disk's name.
package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/source"
)

// Cloud opens addresses of Azure. The zero Cloud is ready.
type Cloud struct {
	// Endpoint, Credential, Client and Wait replace Azure's own in tests.
	Endpoint   string
	Credential azcore.TokenCredential
	Client     *http.Client
	Wait       func(attempt int) time.Duration
}

// management is the endpoint of Azure Resource Manager, in the public cloud.
const management = "https://management.azure.com"

// Scheme returns the scheme of the addresses.
func (Cloud) Scheme() string { return "azure" }

// Begins returns the prefixes of the addresses.
func (Cloud) Begins() []string { return []string{"azure:///subscriptions/"} }

// resource matches the id of a resource. Types and names are case-insensitive.
var resource = regexp.MustCompile(`(?i)^/subscriptions/[0-9a-f-]+/resourceGroups/[^/?]+/providers/Microsoft\.Compute/(disks|virtualMachines)/([^/?]+)$`)

// Open prepares an address. It sends no requests.
func (c Cloud) Open(_ context.Context, arg string) (source.Source, error) {
	id := "/" + strings.TrimLeft(strings.TrimPrefix(arg, "azure://"), "/")
	m := resource.FindStringSubmatch(id)
	if m == nil {
		return nil,
			errors.New("the azure:// address is not valid: want the id of a disk or a virtual machine, azure:///subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/disks/D, as printed by az disk list --query '[].id'")
	}
	bill := &cloud.Bill{}
	s := &service{id: id, name: m[2], isDisk: strings.EqualFold(m[1], "disks"), at: c.Endpoint,
		credential: c.Credential}
	if s.at == "" {
		s.at = management
	}
	s.rest = &cloud.REST{Token: s.token, Bill: bill, Client: c.Client, Wait: c.Wait}
	return cloud.NewSource("azure-monitor", "azure://"+id, s, bill), nil
}

// service implements [cloud.Service].
type service struct {
	id, name, at string
	isDisk       bool
	rest         *cloud.REST

	once       sync.Once
	credential azcore.TokenCredential
	loginErr   error

	machine string            // the resource id of the virtual machine, "" for none
	disks   map[string]string // names of data disks by LUN
}

func (s *service) token(ctx context.Context) (string, error) {
	s.once.Do(func() {
		if s.credential == nil {
			s.credential, s.loginErr = azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
				ClientOptions: azcore.ClientOptions{Transport: cloud.NewClient(nil)}})
		}
	})
	if s.loginErr != nil {
		return "", s.loginErr
	}
	t, err := s.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{management + "/.default"}})
	if err != nil {
		return "", &loginError{err}
	}
	return t.Token, nil
}

// A loginError reports missing or expired credentials.
type loginError struct{ err error }

func (e *loginError) Unwrap() error { return e.err }
func (e *loginError) Error() string {
	if strings.Contains(e.err.Error(), "expired") || strings.Contains(e.err.Error(), "AADSTS700082") {
		return "Azure: the credentials have expired: get new ones with az login"
	}
	return "Azure: no credentials found: run az login, set AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, or use a managed identity"
}

// API versions that this package was written for.
const (
	versionDisks    = "2024-03-02"
	versionMachines = "2024-07-01"
	versionMetrics  = "2018-01-01"
)

// Describe implements [cloud.Service].
func (s *service) Describe(ctx context.Context, d *cloud.Description) error {
	s.disks = map[string]string{}
	if !s.isDisk {
		s.machine = s.id
		return s.describeMachine(ctx, d, true)
	}
	if err := s.describeDisk(ctx, d, s.id, s.name); err != nil || s.machine == "" {
		return err
	}
	return s.describeMachine(ctx, d, false)
}

// products maps Azure's kinds of disks to their names in the catalogue.
var products = map[string]string{"PremiumV2": "premium-v2", "UltraSSD": "ultra", "Premium": "premium-ssd"}

func (s *service) describeDisk(ctx context.Context, described *cloud.Description, id, name string) error {
	var disk struct {
		Location  string `json:"location"`
		ManagedBy string `json:"managedBy"`
		SKU       struct {
			Name string `json:"name"`
		} `json:"sku"`
		Properties struct {
			SizeGiB int64    `json:"diskSizeGB"`
			IOPS    int64    `json:"diskIOPSReadWrite"`
			MBps    int64    `json:"diskMBpsReadWrite"`
			State   string   `json:"provisioningState"`
			Copied  *float64 `json:"completionPercent"` // of a background copy
		} `json:"properties"`
	}

	err := s.explain(s.rest.Get(ctx, s.at+id+"?api-version="+versionDisks, &disk),
		"Microsoft.Compute/disks/read", id)
	if ok, err := described.Answered(err, "the limits of the disk are unknown: give them with --volume"); !ok {
		return err
	}

	kind, _, _ := strings.Cut(disk.SKU.Name, "_")

	// Only these types have IOPS and throughput that users choose; for the others they follow from
	// the size.
	v := cloud.Volume{Type: products[kind], SizeGiB: disk.Properties.SizeGiB}
	if kind == "PremiumV2" || kind == "UltraSSD" {
		v.IOPS = disk.Properties.IOPS
		if disk.Properties.MBps > 0 {
			v.Throughput = fmt.Sprintf("%dMB/s", disk.Properties.MBps)
		}
	}

	described.Volume(name, v)
	described.Fact("sku."+name, disk.SKU.Name)

	switch p := disk.Properties; {
	case p.State == "Updating" || p.State == "Creating":
		described.Note("%s is being modified (%s): until that completes, it has its old performance or something in between",
			name, p.State)
	case p.Copied != nil && *p.Copied < 100:
		described.Note("%s is still being filled from a snapshot (%.0f %%): reading blocks that are not copied yet takes longer",
			name, *p.Copied)
	}

	if id == s.id {
		s.machine = disk.ManagedBy
		described.Fact("region", region(disk.Location))
	}

	return nil
}

// describeMachine reads the size of the machine and its data disks: all of them, or only the disk
// of the address.
func (s *service) describeMachine(ctx context.Context, described *cloud.Description, all bool) error {
	var vm struct {
		Location   string `json:"location"`
		Properties struct {
			Hardware struct {
				Size string `json:"vmSize"`
			} `json:"hardwareProfile"`
			Storage struct {
				Disks []struct {
					LUN     int    `json:"lun"`
					Name    string `json:"name"`
					Caching string `json:"caching"`
					Managed struct {
						ID string `json:"id"`
					} `json:"managedDisk"`
				} `json:"dataDisks"`
			} `json:"storageProfile"`
		} `json:"properties"`
	}

	err := s.explain(s.rest.Get(ctx, s.at+s.machine+"?api-version="+versionMachines, &vm),
		"Microsoft.Compute/virtualMachines/read", s.machine)
	if ok, err := described.Answered(err, "the size of the machine and its disks are unknown"); !ok {
		return err
	}

	described.Machine(vm.Properties.Hardware.Size, cloud.Machine{})
	if all {
		described.Fact("region", region(vm.Location))
	}

	for _, x := range vm.Properties.Storage.Disks[:min(len(vm.Properties.Storage.Disks), disksMax)] {
		if !all && !strings.EqualFold(x.Managed.ID, s.id) {
			continue
		}
		// Metrics of data disks have the LUN as a dimension, not the name.
		s.disks[fmt.Sprint(x.LUN)] = x.Name
		described.Fact("caching."+x.Name, x.Caching)
		if all && resource.MatchString(x.Managed.ID) {
			if err := s.describeDisk(ctx, described, x.Managed.ID, x.Name); err != nil {
				return err
			}
		}
	}

	return nil
}

// region returns a location in the spelling of the price list: "westeurope"; older resources have
// "West Europe".
func region(location string) string { return strings.ToLower(strings.ReplaceAll(location, " ", "")) }

// disksMax bounds the data disks of a machine. Azure's largest machines support 64.
const disksMax = 64

// Period implements [cloud.Service]. Azure keeps one-minute values for 93 days.
func (*service) Period(time.Duration) time.Duration { return time.Minute }

// perRequest is the span of one request, so that answers stay small.
const perRequest = 24 * time.Hour

// Samples implements [cloud.Service].
func (s *service) Samples(ctx context.Context, span cloud.Span,
	want func(string) bool, emit func([]cloud.Series) error) error {
	for from, to := range span.Parts(perRequest) {

		var part []cloud.Series
		for _, of := range s.groups() {
			found, err := s.read(ctx, of, from, to, want)
			if err != nil {
				return err
			}
			part = append(part, found...)
		}

		if err := emit(part); err != nil {
			return err
		}
	}
	return nil
}

// read requests the metrics of a group, in one request.
func (s *service) read(ctx context.Context, of group, from, to time.Time,
	want func(string) bool) ([]cloud.Series, error) {
	var names []string
	for _, m := range of.metrics {
		if want(m.as) {
			names = append(names, m.name)
		}
	}

	if len(names) == 0 {
		return nil, nil
	}

	q := url.Values{"api-version": {versionMetrics}, "interval": {"PT1M"}, "aggregation": {"Average"},
		"metricnames": {strings.Join(names, ",")},
		"timespan":    {from.UTC().Format(time.RFC3339) + "/" + to.UTC().Format(time.RFC3339)}}
	if of.byLUN {
		q.Set("$filter", "LUN eq '*'")
	}

	var answer metrics

	// Azure does not accept + for a space in a query.
	err := s.rest.Get(ctx, s.at+of.resource+"/providers/Microsoft.Insights/metrics?"+
		strings.ReplaceAll(q.Encode(), "+", "%20"), &answer)
	if err = s.explain(err, "Microsoft.Insights/metrics/read", of.resource); err != nil {
		return nil, err
	}

	var out []cloud.Series
	for _, v := range answer.Value {
		m, ok := of.find(v.Name.Value)
		if !ok {
			continue
		}

		for _, series := range v.Series {
			device := s.name
			if of.byLUN {
				if device = s.disks[series.lun()]; device == "" {
					continue
				}
			}

			x := cloud.Series{Labels: labels.FromStrings(labels.MetricName, m.as, "device", device)}
			for _, p := range series.Data {
				if p.Average != nil {
					x.BeginMs, x.Values = append(x.BeginMs, p.At.UnixMilli()), append(x.Values, *p.Average)
				}
			}

			out = append(out, x)
		}
	}

	return out, nil
}

// explain turns the error of an action on a resource into one sentence.
func (s *service) explain(err error, action, id string) error {
	var refused *cloud.StatusError
	if !errors.As(err, &refused) {
		return err
	}

	refuse := func(kind error, format string, args ...any) error {
		return cloud.Refuse(kind, "Azure: "+format, args...)
	}
	switch {
	case refused.Throttled():
		return refuse(nil, "%s is throttled even after several attempts: try again later", action)
	case refused.Code == "ExpiredAuthenticationToken" || strings.Contains(refused.Message, "expired"):
		return refuse(nil, "the credentials have expired: get new ones with az login")
	case refused.Status == http.StatusUnauthorized:
		return refuse(nil, "credentials not accepted (%s): check the tenant with az account show",
			refused.Code)
	case refused.Status == http.StatusForbidden:
		return refuse(
			cloud.ErrDenied, "permission %s is missing for these credentials on %s: docs/clouds.md has a sufficient role",
			action, id)
	case refused.Status == http.StatusNotFound:
		return refuse(cloud.ErrNotFound,
			"resource %s not found: check the subscription, the group and the name", id)
	}

	return refuse(nil, "%s: %v", action, refused)
}
