package amazon

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"plimsoll/internal/record/cloud"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const region = "eu-central-1"

// atOnce makes retries immediate.
var atOnce = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })

// patience bounds the startup of moto on a busy machine: it loads its parts on first use.
const patience = 5 * time.Minute

// moto is a server that responds like AWS: PyPI's moto[server], installed by `make moto`. The tests of
// this package share it, and it runs until they end.
var moto struct {
	once sync.Once
	at   string
	why  string
	end  func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if moto.end != nil {
		moto.end()
	}
	os.Exit(code)
}

// withMoto points AWS's own configuration to moto, with AWS_ENDPOINT_URL.
func withMoto(t *testing.T) *query {
	t.Helper()
	moto.once.Do(startMoto)
	if moto.at == "" {
		t.Skip(moto.why)
	}

	usual(t, moto.at)
	r, err := http.Post(moto.at+"/moto-api/reset", "", nil)
	if err != nil {
		t.Fatal(err)
	}

	r.Body.Close()
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	q := newQuery(cfg, Cloud{Backoff: atOnce, Within: patience}, &cloud.Bill{})
	do(t, q, "ec2", "DescribeRegions") // repeated until moto has loaded what it needs
	return q
}

// usual sets the environment of AWS's tools, isolated from this machine's.
func usual(t *testing.T, endpoint string) {
	t.Helper()
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
		"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none} {
		t.Setenv(name, value)
	}
}

func startMoto() {
	program, err := exec.LookPath("../../../bin/moto/bin/moto_server")
	if err != nil {
		program, err = exec.LookPath("moto_server")
	}

	if err != nil {
		moto.why = "no moto_server: make moto installs PyPI's moto[server]"
		return
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		moto.why = err.Error()
		return
	}

	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-H", "127.0.0.1", "-p", port)

	if err := cmd.Start(); err != nil {
		cancel()
		moto.why = err.Error()
		return
	}

	moto.end = func() { cancel(); _ = cmd.Wait() }
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if r, err := http.Get("http://127.0.0.1:" + port + "/moto-api/data.json"); err == nil {
			r.Body.Close()
			moto.at = "http://127.0.0.1:" + port
			return
		}
	}

	moto.why = "moto_server does not answer"
}

// do requests an action that plimsoll itself never uses.
func do(t *testing.T, q *query, service, action string, parameters ...string) made {
	t.Helper()
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		v.Set(parameters[i], parameters[i+1])
	}
	var out made
	if err := q.call(t.Context(), service, action, v, &out); err != nil {
		t.Fatalf("%s: %v", action, err)
	}
	return out
}

type made struct {
	Volume   string `xml:"volumeId"`
	Instance string `xml:"instancesSet>item>instanceId"`
	Image    string `xml:"imagesSet>item>imageId"`
}

// put writes a metric to CloudWatch, one value per minute.
func put(t *testing.T, q *query, namespace, name, dimension, id string, begin time.Time, values ...float64) {
	t.Helper()
	client := newClient(q.cfg, q.retryer)
	in := &cloudwatch.PutMetricDataInput{Namespace: &namespace}
	for i, v := range values {
		in.MetricData = append(in.MetricData, types.MetricDatum{MetricName: &name, Value: aws.Float64(v), Timestamp: aws.Time(begin.Add(time.Duration(i) * time.Minute)),
			Dimensions: []types.Dimension{{Name: &dimension, Value: &id}}})
	}
	if _, err := client.PutMetricData(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// read reads from an address.
func read(t *testing.T, c Cloud, arg string, opt source.Options) (*recording.Memory, source.Source, error) {
	t.Helper()
	c.Backoff, c.Within = atOnce, cmp.Or(c.Within, patience)
	s, err := c.Open(t.Context(), arg)
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewMemory(recording.MemoryOptions{})
	return w, s, s.Read(t.Context(), w, opt)
}

// values returns the samples of a metric: "minutes after begin: value".
func values(t *testing.T, w *recording.Memory, selector string, begin time.Time) string {
	t.Helper()
	found, err := w.Samples(t.Context(), recording.MustSelector(selector), begin.Add(-time.Hour), begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range found {
		for _, p := range s.Points {
			out = append(out, fmt.Sprintf("%v:%v", time.UnixMilli(p.T).Sub(begin).Minutes(), p.F))
		}
	}
	return strings.Join(out, " ")
}

func notes(w *recording.Memory) string {
	var all []string
	for _, n := range w.Notes() {
		all = append(all, n.Text)
	}
	return strings.Join(all, "\n")
}

// A volume under modification, and the instance that it is attached to.
func TestVolume(t *testing.T) {
	q := withMoto(t)
	v := do(t, q, "ec2", "CreateVolume", "Size", "500", "VolumeType", "gp3", "Iops", "6000", "Throughput", "250", "AvailabilityZone", region+"a").Volume
	image := do(t, q, "ec2", "DescribeImages", "Owner.1", "amazon").Image
	i := do(t, q, "ec2", "RunInstances", "ImageId", image, "MinCount", "1", "MaxCount", "1", "InstanceType", "m6i.xlarge").Instance
	do(t, q, "ec2", "AttachVolume", "VolumeId", v, "InstanceId", i, "Device", "/dev/sdf")
	do(t, q, "ec2", "ModifyVolume", "VolumeId", v, "Size", "600", "VolumeType", "gp3")
	begin := time.Now().Add(-30 * time.Minute).Truncate(time.Minute)
	put(t, q, "AWS/EBS", "VolumeWriteOps", "VolumeId", v, begin, 6000, 12000, 18000)
	put(t, q, "AWS/EBS", "VolumeQueueLength", "VolumeId", v, begin, 1, 2, 3)
	put(t, q, "AWS/EBS", "VolumeWriteOps", "VolumeId", "vol-0ffffffffffffffff", begin, 1, 1, 1)
	put(t, q, "AWS/EC2", "EBSByteBalance%", "InstanceId", i, begin, 99)

	w, s, err := read(t, Cloud{Knows: func(string) bool { return true }}, "aws://"+v, source.Options{ClockOffset: time.Second})
	if err != nil {
		t.Fatal(err)
	}

	begin = begin.Add(time.Second)
	for selector, want := range map[string]string{
		`aws_ebs_volume_write_ops_sum{volume_id="` + v + `"}`:       "1:6000 2:12000 3:18000",
		`aws_ebs_volume_write_ops_sum`:                              "1:6000 2:12000 3:18000",
		`aws_ebs_volume_queue_length_average`:                       "1:1 2:2 3:3",
		`aws_ec2_ebsbyte_balance__minimum{instance_id="` + i + `"}`: "1:99",
	} {
		if got := values(t, w, selector, begin); got != want {
			t.Errorf("%s: %s, not %s", selector, got, want)
		}
	}

	d := s.Describe()
	for name, want := range map[string]string{"region": region, "instance_type": "m6i.xlarge", "attached." + v: i + " /dev/sdf"} {
		if d.Facts[name] != want {
			t.Errorf("%s is %q, not %q", name, d.Facts[name], want)
		}
	}

	if got := d.Facts["volume."+v]; !strings.HasPrefix(got, "gp3,600GiB,") {
		t.Errorf("the volume is %s", got)
	}

	if d.Kind != "cloudwatch" || d.Period != time.Minute || d.Samples != 3 || s.Live() {
		t.Errorf("%+v", d)
	}

	// DescribeVolumes, its modifications, DescribeInstances, and one GetMetricData of 18 metrics.
	if got, want := s.(source.Charged).Charge(), "4 API calls, 18 metrics requested, 0.00018 USD at list price"; got != want {
		t.Errorf("%s, not %s", got, want)
	}

	t.Log(notes(w))

	// Two volumes of the same machine in one address request the machine's metrics only once.
	other := do(t, q, "ec2", "CreateVolume", "Size", "10", "VolumeType", "gp3", "AvailabilityZone", region+"a").Volume
	do(t, q, "ec2", "AttachVolume", "VolumeId", other, "InstanceId", i, "Device", "/dev/sdg")
	_, s, err = read(t, Cloud{Knows: func(string) bool { return true }}, "aws://"+v+","+other, source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if d := s.Describe(); !strings.HasPrefix(d.Facts["volume."+other], "gp3,10GiB,") || !strings.HasPrefix(d.Facts["requests"], "4 API calls, 30 metrics requested") {
		t.Errorf("%v", d.Facts)
	}
}
