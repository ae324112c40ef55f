package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// awsServer serves an account with one volume, a gp2 of 100 GiB on an m6i.xlarge, whose burst credits
// ran out an hour ago. It puts its address into a variable: aws-server VARIABLE.
func awsServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: aws-server VARIABLE")
	}
	s := httptest.NewServer(http.HandlerFunc(answerAsAWS))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

func answerAsAWS(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	const volume = "vol-0123456789abcdef0"
	switch form.Get("Action") {
	case "DescribeVolumes":
		fmt.Fprint(w, `<DescribeVolumesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><volumeSet><item><volumeId>`+volume+`</volumeId><size>100</size><snapshotId/>
<attachmentSet><item><volumeId>`+volume+`</volumeId><instanceId>i-0123456789abcdef0</instanceId><device>/dev/sdf</device></item></attachmentSet><volumeType>gp2</volumeType><iops>300</iops></item></volumeSet></DescribeVolumesResponse>`)
	case "DescribeVolumesModifications":
		fmt.Fprint(w, `<DescribeVolumesModificationsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><volumeModificationSet/></DescribeVolumesModificationsResponse>`)
	case "DescribeInstances":
		fmt.Fprint(w, `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet><item><instancesSet><item><instanceId>i-0123456789abcdef0</instanceId><instanceType>m6i.xlarge</instanceType></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`)
	default:
		metricsOfAWS(w, body)
	}
}

// metricsOfAWS answers GetMetricData: 900 writes per second until an hour ago, then, under the same
// load, the 300 that a gp2 of 100 GiB has without credits.
func metricsOfAWS(w http.ResponseWriter, body []byte) {
	var in struct {
		StartTime, EndTime float64
		MetricDataQueries  []struct {
			ID         string `json:"Id"`
			MetricStat struct {
				Metric struct{ MetricName string }
			}
		}
	}

	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}

	ended := float64(time.Now().Add(-time.Hour).Unix())
	type result struct {
		ID         string `json:"Id"`
		StatusCode string
		Timestamps []float64
		Values     []float64
	}

	var out struct{ MetricDataResults []result }
	for _, q := range in.MetricDataQueries {
		x := result{ID: q.ID, StatusCode: "Complete", Timestamps: []float64{}, Values: []float64{}}
		for t := math.Ceil(in.StartTime/60) * 60; t < in.EndTime; t += 60 {
			value := awsValue(q.MetricStat.Metric.MetricName, t >= ended, t)
			if math.IsNaN(value) {
				continue
			}
			x.Timestamps, x.Values = append(x.Timestamps, t), append(x.Values, value)
		}
		out.MetricDataResults = append(out.MetricDataResults, x)
	}

	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(out)
}

// awsValue returns a metric's value in a minute, with credits or after they have run out; NaN if there
// is none.
func awsValue(metric string, spent bool, at float64) float64 {
	const minute = 60
	writes, seconds, balance := 900+20*math.Sin(at/300), 0.0011, 60.0
	if spent {
		writes, seconds, balance = 300, 0.08, 0
	}

	reads := 20 + 10*math.Sin(at/200)
	inFlight := (reads + writes) * seconds
	switch metric {
	case "VolumeWriteOps":
		return writes * minute
	case "VolumeWriteBytes":
		return writes * minute * 16384
	case "VolumeReadOps":
		return reads * minute
	case "VolumeReadBytes":
		return reads * minute * 16384
	case "VolumeTotalWriteTime":
		return writes * seconds * minute
	case "VolumeTotalReadTime":
		return reads * seconds * minute
	case "VolumeQueueLength":
		return inFlight
	case "VolumeIdleTime":
		return minute * max(0, 1-inFlight)
	case "BurstBalance":
		return balance
	case "CPUUtilization":
		return 20
	}

	return math.NaN()
}
