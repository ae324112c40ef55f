package amazon

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/source"
)

// A reply is an AWS response that moto cannot give.
type reply struct {
	status int
	body   string
}

// A fake answers each action with its replies in turn, then repeats the last one.
type fake struct {
	mu      sync.Mutex
	replies map[string][]reply
	asked   []string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, action, json := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if form, err := url.ParseQuery(string(body)); err == nil && !json {
		action = form.Get("Action")
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, action)

	all := f.replies[action]
	if len(all) == 0 {
		all = usually[action]
	}

	if len(all) == 0 || !strings.Contains(r.Header.Get("Authorization"), "/"+region+"/") {
		http.Error(w, "no reply to "+action, http.StatusInternalServerError)
		return
	}

	if len(all) > 1 {
		f.replies[action] = all[1:]
	}

	if json {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	}

	w.WriteHeader(all[0].status)
	_, _ = io.WriteString(w, all[0].body)
}

const id = "vol-0123456789abcdef0"

// usually returns normal AWS responses in the formats of the EC2 API, version 2016-11-15, the RDS API,
// version 2014-10-31, and CloudWatch.
var usually = map[string][]reply{
	"DescribeVolumes": {{200, `<?xml version="1.0" encoding="UTF-8"?>
<DescribeVolumesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>59dbff89-35bd-4eac-99ed-be587EXAMPLE</requestId><volumeSet><item>
<volumeId>` + id + `</volumeId><size>100</size><snapshotId>snap-0123456789abcdef0</snapshotId><availabilityZone>eu-central-1a</availabilityZone><status>in-use</status>
<createTime>2026-01-02T03:04:05.678Z</createTime><attachmentSet><item><volumeId>` + id + `</volumeId><instanceId>i-0123456789abcdef0</instanceId><device>/dev/sdf</device>
<status>attached</status><attachTime>2026-01-02T03:04:06.000Z</attachTime><deleteOnTermination>false</deleteOnTermination></item></attachmentSet>
<volumeType>gp2</volumeType><iops>300</iops><encrypted>true</encrypted><multiAttachEnabled>false</multiAttachEnabled></item></volumeSet></DescribeVolumesResponse>`}},
	"DescribeVolumesModifications": {{200, `<DescribeVolumesModificationsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>5jkdf074-37ed-4004-8671-a78ee82bf1cb</requestId><volumeModificationSet/></DescribeVolumesModificationsResponse>`}},
	"DescribeInstances": {{200, `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><reservationId>r-0123456789abcdef0</reservationId><instancesSet><item>
<instanceId>i-0123456789abcdef0</instanceId><instanceType>m9z.large</instanceType><blockDeviceMapping><item><deviceName>/dev/sdf</deviceName><ebs><volumeId>` + id + `</volumeId><status>attached</status></ebs></item></blockDeviceMapping>
</item></instancesSet></item></reservationSet></DescribeInstancesResponse>`}},
	"DescribeInstanceTypes": {{200, `<DescribeInstanceTypesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceTypeSet><item><instanceType>m9z.large</instanceType><ebsInfo><ebsOptimizedSupport>default</ebsOptimizedSupport>
<ebsOptimizedInfo><baselineBandwidthInMbps>650</baselineBandwidthInMbps><baselineThroughputInMBps>81.25</baselineThroughputInMBps><baselineIops>3600</baselineIops>
<maximumBandwidthInMbps>10000</maximumBandwidthInMbps><maximumThroughputInMBps>1250.0</maximumThroughputInMBps><maximumIops>40000</maximumIops></ebsOptimizedInfo></ebsInfo></item></instanceTypeSet></DescribeInstanceTypesResponse>`}},
	"DescribeDBInstances": {{200, `<DescribeDBInstancesResponse xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><DescribeDBInstancesResult><DBInstances><DBInstance>
<DBInstanceIdentifier>orders</DBInstanceIdentifier><DBInstanceClass>db.m9z.large</DBInstanceClass><Engine>postgres</Engine><EngineVersion>16.4</EngineVersion><DBInstanceStatus>storage-optimization</DBInstanceStatus>
<StorageType>io2</StorageType><AllocatedStorage>400</AllocatedStorage><Iops>12000</Iops><DedicatedLogVolume>true</DedicatedLogVolume></DBInstance></DBInstances></DescribeDBInstancesResult></DescribeDBInstancesResponse>`}},
	"GetMetricData": {{200, metricData("m0", "")}},
}

// metricData returns a response with two points, a minute apart, starting at began.
func metricData(series, next string) string {
	t := began.Unix()
	if next != "" {
		next = `,"NextToken":"` + next + `"`
		t -= 120
	}
	return fmt.Sprintf(`{"Messages":[],"MetricDataResults":[{"Id":%q,"Label":"VolumeReadOps","StatusCode":"Complete","Timestamps":[%d,%d],"Values":[60.0,120.0]}]%s}`, series, t, t+60, next)
}

var began = time.Now().Add(-10 * time.Minute).Truncate(time.Minute)

func ec2Error(status int, code, message string) reply {
	return reply{status, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>" + code + "</Code><Message>" + message + "</Message></Error></Errors><RequestID>46002310-0e51-4f21-99ef-100739c97477</RequestID></Response>"}
}

func jsonError(kind, message string) reply {
	return reply{400, fmt.Sprintf(`{"__type":%q,"message":%q}`, kind, message)}
}

func denied(action string) string {
	return "You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/db/i-0123456789abcdef0 is not authorized to perform: " + action + " because no identity-based policy allows the " + action + " action"
}

// Each AWS refusal becomes one sentence, as an error or a note.
func TestRefusals(t *testing.T) {
	const volumeAddress = "aws://" + id
	throttling := ec2Error(503, "RequestLimitExceeded", "Request limit exceeded.")
	for name, x := range map[string]struct {
		address string
		replies map[string][]reply
		failed  string // the error; "" if reading succeeds
		noted   string // in one of the notes
	}{
		"expired": {volumeAddress, map[string][]reply{"DescribeVolumes": {ec2Error(400, "RequestExpired", "Request has expired.")}},
			"AWS: the credentials have expired: get new ones, for example by aws sso login", ""},
		"expired for CloudWatch": {volumeAddress, map[string][]reply{"GetMetricData": {jsonError("com.amazon.coral.service#ExpiredTokenException", "The security token included in the request is expired")}},
			"AWS: the credentials have expired: get new ones, for example by aws sso login", ""},
		"not accepted": {volumeAddress, map[string][]reply{"DescribeVolumes": {ec2Error(401, "AuthFailure", "AWS was not able to validate the provided access credentials")}},
			"AWS: credentials not accepted in eu-central-1 (AuthFailure): check the profile, and that this region is enabled for the account", ""},
		"no metrics allowed": {volumeAddress, map[string][]reply{"GetMetricData": {jsonError("com.amazon.coral.service#AccessDeniedException", denied("cloudwatch:GetMetricData"))}},
			"AWS: permission cloudwatch:GetMetricData is missing for arn:aws:sts::123456789012:assumed-role/db/i-0123456789abcdef0: docs/clouds.md has a sufficient policy", ""},
		"no volumes allowed": {volumeAddress, map[string][]reply{"DescribeVolumes": {ec2Error(403, "UnauthorizedOperation", denied("ec2:DescribeVolumes"))}},
			"", "permission ec2:DescribeVolumes is missing for arn:aws:sts::123456789012:assumed-role/db/i-0123456789abcdef0: docs/clouds.md has a sufficient policy; without it, the limits of the volumes are unknown"},
		"no instances allowed": {volumeAddress, map[string][]reply{"DescribeInstances": {ec2Error(403, "UnauthorizedOperation", denied("ec2:DescribeInstances"))}},
			"", "permission ec2:DescribeInstances is missing"},
		"no modifications allowed": {volumeAddress, map[string][]reply{"DescribeVolumesModifications": {ec2Error(403, "UnauthorizedOperation", denied("ec2:DescribeVolumesModifications"))}},
			"", "Plimsoll cannot detect a volume that is being modified"},
		"no instance types allowed": {volumeAddress, map[string][]reply{"DescribeInstanceTypes": {ec2Error(403, "UnauthorizedOperation", denied("ec2:DescribeInstanceTypes"))}},
			"", "the EBS limits of m9z.large are unknown"},
		"throttled, then not": {volumeAddress, map[string][]reply{"DescribeVolumes": {throttling, throttling, usually["DescribeVolumes"][0]}, "GetMetricData": {jsonError("com.amazon.coral.availability#ThrottlingException", "Rate exceeded"), usually["GetMetricData"][0]}},
			"", "requests throttled by the provider: 3; they were retried with backoff"},
		"throttled for long": {volumeAddress, map[string][]reply{"DescribeVolumes": {throttling}},
			"AWS: ec2:DescribeVolumes is throttled in eu-central-1 even after 6 attempts: other clients use up the account's request rate; try again later", ""},
		"no volume": {volumeAddress, map[string][]reply{"DescribeVolumes": {ec2Error(400, "InvalidVolume.NotFound", "The volume does not exist.")}, "GetMetricData": {{200, `{"Messages":[],"MetricDataResults":[]}`}}},
			"AWS: volume vol-0123456789abcdef0 not found in eu-central-1 for this account: check its id, ?region= and ?profile=", ""},
		"a deleted volume": {volumeAddress, map[string][]reply{"DescribeVolumes": {ec2Error(400, "InvalidVolume.NotFound", "The volume does not exist.")}},
			"", "its metrics are still available"},
		"no instance": {"aws://i-0123456789abcdef0", map[string][]reply{"DescribeInstances": {ec2Error(400, "InvalidInstanceID.NotFound", "The instance ID does not exist")}, "GetMetricData": {{200, `{"MetricDataResults":[]}`}}},
			"AWS: instance i-0123456789abcdef0 not found in eu-central-1 for this account", ""},
		"no database": {"aws://rds/orders", map[string][]reply{"DescribeDBInstances": {{404, `<ErrorResponse xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><Error><Type>Sender</Type><Code>DBInstanceNotFound</Code><Message>DBInstance orders not found.</Message></Error></ErrorResponse>`}}, "GetMetricData": {{200, `{"MetricDataResults":[]}`}}},
			"AWS: RDS instance orders not found in eu-central-1 for this account", ""},
		"storage that is being modified": {"aws://rds/orders", nil, "", "the storage of orders is being modified (storage-optimization)"},
		"without samples": {volumeAddress, map[string][]reply{"GetMetricData": {{200, `{"MetricDataResults":[]}`}}},
			"aws://vol-0123456789abcdef0: no samples from ", ""},
		"being modified": {volumeAddress, map[string][]reply{"DescribeVolumesModifications": {{200, `<DescribeVolumesModificationsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><volumeModificationSet><item><targetIops>6000</targetIops><originalIops>300</originalIops><modificationState>optimizing</modificationState><targetSize>100</targetSize><targetVolumeType>gp3</targetVolumeType><targetThroughput>250</targetThroughput><volumeId>` + id + `</volumeId><progress>40</progress><startTime>2026-11-23T06:00:00.000Z</startTime><originalSize>100</originalSize><originalVolumeType>gp2</originalVolumeType></item></volumeModificationSet></DescribeVolumesModificationsResponse>`}}},
			"", "vol-0123456789abcdef0 has been under modification since 2026-11-23T06:00:00Z, from gp2 of 100 GiB, 300 IOPS to gp3 of 100 GiB, 6000 IOPS, 250 MiB/s (optimizing, 40 %)"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&fake{replies: x.replies})
			defer server.Close()
			usual(t, server.URL)

			w, _, err := read(t, Cloud{}, x.address, source.Options{})
			switch {
			case x.failed == "" && err != nil:
				t.Error(err)
			case x.failed != "" && (err == nil || !strings.HasPrefix(err.Error(), x.failed)):
				t.Errorf("%v, not %s", err, x.failed)
			case x.noted != "" && !strings.Contains(notes(w), x.noted):
				t.Errorf("%q, not %s", notes(w), x.noted)
			}
		})
	}
}

// The data of the APIs becomes facts, so that users need not type it. The response comes in pages.
func TestFacts(t *testing.T) {
	f := &fake{replies: map[string][]reply{"GetMetricData": {{200, metricData("m0", "next")}, {200, metricData("m0", "")}}}}
	server := httptest.NewServer(f)
	defer server.Close()
	usual(t, server.URL)

	w, s, err := read(t, Cloud{}, "aws://i-0123456789abcdef0", source.Options{Want: func(name string) bool { return name == "aws_ebs_volume_read_ops_sum" }})
	if err != nil {
		t.Fatal(err)
	}

	if got, want := values(t, w, "aws_ebs_volume_read_ops_sum", began), "-1:60 0:120 1:60 2:120"; got != want {
		t.Errorf("%s, not %s", got, want)
	}

	for name, want := range map[string]string{"volume." + id: "gp2,100GiB", "size." + id: "107374182400", "from_snapshot." + id: "snap-0123456789abcdef0", "instance_type": "m9z.large",
		"instance.iops": "3600", "instance.throughput": "81250000", "instance.burst_iops": "40000", "instance.burst_throughput": "1250000000",
		"requests": "6 API calls, 2 metrics requested, 2e-05 USD at list price"} {
		if got := s.Describe().Facts[name]; got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}

	if _, s, err = read(t, Cloud{}, "aws://rds/orders", source.Options{}); err != nil || s.Describe().Facts["volume.orders"] != "io2,400GiB,12000IOPS" || s.Describe().Facts["volume.orders-log-volume"] != "io2,1000GiB,3000IOPS" || s.Describe().Facts["rds_engine"] != "postgres 16.4" {
		t.Errorf("%v, %v", s.Describe().Facts, err)
	}
}

func TestLogin(t *testing.T) {
	usual(t, "http://127.0.0.1:1")
	for name, x := range map[string]struct{ variable, value, want string }{
		"no credentials": {"AWS_ACCESS_KEY_ID", "", "AWS: no credentials found: "},
		"no region":      {"AWS_REGION", "", "AWS: no region is set: "},
		"no profile":     {"AWS_PROFILE", "absent", "AWS: there is no profile \"absent\": "},
		"no answer":      {"AWS_ENDPOINT_URL", "http://127.0.0.1:1", "AWS: ec2:DescribeVolumes in eu-central-1: no answer: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(x.variable, x.value)
			if _, _, err := read(t, Cloud{}, "aws://"+id, source.Options{}); err == nil || !strings.HasPrefix(err.Error(), x.want) {
				t.Errorf("%v, not %s", err, x.want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for arg, want := range map[string]target{
		"aws://vol-0123456789abcdef0?region=us-gov-west-1": {volume, "vol-0123456789abcdef0", "us-gov-west-1", ""},
		"aws://vol-0123abcd,vol-0123abce":                  {volume, "vol-0123abcd,vol-0123abce", "", ""},
		"aws://i-0123abcd":                                 {instance, "i-0123abcd", "", ""},
		"aws://rds/orders-1?profile=prod":                  {database, "orders-1", "", "prod"},
	} {
		if got, err := parse(arg); err != nil || got != want {
			t.Errorf("%s: %v, %v", arg, got, err)
		}
	}
	for _, arg := range []string{"aws://", "aws://vol-", "aws://vol-0123abcd,", "aws://vol-0123abcd,i-0123abcd", "aws://vol-0123456789abcdef0/x", "aws://rds/", "aws://rds/a/b", "aws://bucket", "aws://i-0123abcd?region=Frankfurt", "aws://i-0123abcd?zone=a", "aws://me:x@i-0123abcd"} {
		if got, err := parse(arg); err == nil {
			t.Errorf("%s: %v", arg, got)
		}
	}
}

// CloudWatch deletes one-minute points after 15 days.
func TestPeriods(t *testing.T) {
	const day = 24 * time.Hour
	for age, want := range map[time.Duration]time.Duration{0: time.Minute, 14 * day: time.Minute, 16 * day: 5 * time.Minute, 64 * day: time.Hour} {
		if got := (&service{}).Period(age); got != want {
			t.Errorf("%s ago: %s, not %s", age, got, want)
		}
	}
	has := inventory{volumes: make([]string, 128), instances: []string{"i"}}
	all := has.requests(time.Minute, func(string) bool { return true })
	if len(all) != 128*12+6 || all[len(all)-1].labels.Get(labels.MetricName) != "aws_ec2_cpucredit_balance_minimum" {
		t.Errorf("%d requests, the last %s", len(all), all[len(all)-1].labels)
	}
}

// The metadata service, version 2 only (with a token), identifies this machine. The EC2 API then
// describes the attached volumes.
func TestHost(t *testing.T) {
	server := httptest.NewServer(&fake{})
	defer server.Close()
	usual(t, server.URL)
	t.Setenv("AWS_REGION", "")
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
			_, _ = io.WriteString(w, "AQAEAEXAMPLE==")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "AQAEAEXAMPLE==":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/latest/dynamic/instance-identity/document":
			_, _ = io.WriteString(w, `{"accountId":"123456789012","architecture":"x86_64","availabilityZone":"eu-central-1a","imageId":"ami-0123456789abcdef0","instanceId":"i-0123456789abcdef0","instanceType":"m9z.large","kernelId":null,"pendingTime":"2026-11-01T10:00:00Z","privateIp":"10.0.0.5","ramdiskId":null,"region":"eu-central-1","version":"2017-09-30"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))

	defer metadata.Close()
	c := Cloud{Backoff: atOnce}

	facts, noted := c.DescribeHost(t.Context(), []string{id})
	if len(facts) != 0 || len(noted) != 1 || !strings.HasPrefix(noted[0], "the instance metadata service does not answer") {
		t.Errorf("where it is disabled: %v, %v", facts, noted)
	}

	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)

	facts, noted = c.DescribeHost(t.Context(), []string{id})
	for name, want := range map[string]string{"instance_id": "i-0123456789abcdef0", "instance_type": "m9z.large", "region": "eu-central-1", "volume." + id: "gp2,100GiB", "instance.iops": "3600"} {
		if facts[name] != want {
			t.Errorf("%s is %q, not %q", name, facts[name], want)
		}
	}

	if len(noted) > 0 {
		t.Error(noted)
	}

	// If no region is set, a source gets it from the metadata service as well.
	if _, s, err := read(t, Cloud{}, "aws://"+id, source.Options{}); err != nil || s.Describe().Facts["region"] != region {
		t.Errorf("%v, %v", s.Describe().Facts, err)
	}

	// Outside EC2, nothing hangs.
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", silent.URL)

	if _, noted = c.DescribeHost(t.Context(), []string{id}); len(noted) != 1 || !strings.Contains(noted[0], "does not answer") {
		t.Error(noted)
	}
}

// The bill is human-readable.
func TestBill(t *testing.T) {
	b := &cloud.Bill{}
	if b.Call(0); b.Text() != "1 API call" {
		t.Error(b.Text())
	}
	b.Unit, b.USD = "metrics requested", usdPerMetric
	if b.Call(17); b.Text() != "2 API calls, 17 metrics requested, 0.00017 USD at list price" {
		t.Error(b.Text())
	}
}
