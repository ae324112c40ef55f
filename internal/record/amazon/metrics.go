package amazon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/cloud"
)

// usdPerMetric is the price of GetMetricData per metric requested, in most regions: 0.01 USD per
// 1,000 (Amazon CloudWatch pricing, 2026).
const usdPerMetric = 0.01 / 1000

// Limits of one GetMetricData request (CloudWatch API Reference), and of the pages of one answer.
const (
	queriesMax = 500
	pointsMax  = 100_800
	pagesMax   = 100
)

// An inventory lists the resources to read metrics of.
type inventory struct{ volumes, instances, databases []string }

// A metric is a CloudWatch metric and its name in the spelling of prometheus/cloudwatch_exporter.
type metric struct{ name, statistic, as string }

// A space is a CloudWatch namespace and the dimension that distinguishes its series.
type space struct {
	namespace, dimension, label string
	metrics                     []metric
}

var spaces = [...]space{
	volume: {"AWS/EBS", "VolumeId", "volume_id", []metric{
		{"VolumeReadOps", "Sum", "aws_ebs_volume_read_ops_sum"},
		{"VolumeWriteOps", "Sum", "aws_ebs_volume_write_ops_sum"},
		{"VolumeReadBytes", "Sum", "aws_ebs_volume_read_bytes_sum"},
		{"VolumeWriteBytes", "Sum", "aws_ebs_volume_write_bytes_sum"},
		{"VolumeTotalReadTime", "Sum", "aws_ebs_volume_total_read_time_sum"},
		{"VolumeTotalWriteTime", "Sum", "aws_ebs_volume_total_write_time_sum"},
		{"VolumeIdleTime", "Sum", "aws_ebs_volume_idle_time_sum"},
		{"VolumeQueueLength", "Average", "aws_ebs_volume_queue_length_average"},
		{"BurstBalance", "Average", "aws_ebs_burst_balance_average"},
		{"VolumeIOPSExceededCheck", "Maximum", "aws_ebs_volume_iopsexceeded_check_maximum"},
		{"VolumeThroughputExceededCheck", "Maximum", "aws_ebs_volume_throughput_exceeded_check_maximum"},
		{"VolumeStalledIOCheck", "Maximum", "aws_ebs_volume_stalled_iocheck_maximum"},
	}},
	instance: {"AWS/EC2", "InstanceId", "instance_id", []metric{
		{"EBSIOBalance%", "Minimum", "aws_ec2_ebsiobalance__minimum"},
		{"EBSByteBalance%", "Minimum", "aws_ec2_ebsbyte_balance__minimum"},
		{"InstanceEBSIOPSExceededCheck", "Maximum", "aws_ec2_instance_ebsiopsexceeded_check_maximum"},
		{"InstanceEBSThroughputExceededCheck", "Maximum", "aws_ec2_instance_ebsthroughput_exceeded_check_maximum"},
		{"CPUUtilization", "Average", "aws_ec2_cpuutilization_average"},
		{"CPUCreditBalance", "Minimum", "aws_ec2_cpucredit_balance_minimum"},
	}},
	database: {"AWS/RDS", "DBInstanceIdentifier", "dbinstance_identifier", []metric{
		{"ReadIOPS", "Average", "aws_rds_read_iops_average"},
		{"WriteIOPS", "Average", "aws_rds_write_iops_average"},
		{"ReadThroughput", "Average", "aws_rds_read_throughput_average"},
		{"WriteThroughput", "Average", "aws_rds_write_throughput_average"},
		{"ReadLatency", "Average", "aws_rds_read_latency_average"},
		{"WriteLatency", "Average", "aws_rds_write_latency_average"},
		{"DiskQueueDepth", "Average", "aws_rds_disk_queue_depth_average"},
		{"ReadIOPSLogVolume", "Average", "aws_rds_read_iopslog_volume_average"},
		{"WriteIOPSLogVolume", "Average", "aws_rds_write_iopslog_volume_average"},
		{"ReadThroughputLogVolume", "Average", "aws_rds_read_throughput_log_volume_average"},
		{"WriteThroughputLogVolume", "Average", "aws_rds_write_throughput_log_volume_average"},
		{"ReadLatencyLogVolume", "Average", "aws_rds_read_latency_log_volume_average"},
		{"WriteLatencyLogVolume", "Average", "aws_rds_write_latency_log_volume_average"},
		{"DiskQueueDepthLogVolume", "Average", "aws_rds_disk_queue_depth_log_volume_average"},
		{"BurstBalance", "Average", "aws_rds_burst_balance_average"},
		{"EBSIOBalance%", "Minimum", "aws_rds_ebsiobalance__minimum"},
		{"EBSByteBalance%", "Minimum", "aws_rds_ebsbyte_balance__minimum"},
		{"CPUUtilization", "Average", "aws_rds_cpuutilization_average"},
		{"CPUCreditBalance", "Minimum", "aws_rds_cpucredit_balance_minimum"},
	}},
}

// A request is a request for one series.
type request struct {
	query  types.MetricDataQuery
	labels labels.Labels
}

// requests returns requests for the wanted series of an inventory.
func (has inventory) requests(period time.Duration, want func(string) bool) []request {
	var out []request
	for k, ids := range [...][]string{volume: has.volumes, instance: has.instances, database: has.databases} {
		of := &spaces[k]
		for _, id := range ids {
			for _, m := range of.metrics {
				if !want(m.as) {
					continue
				}
				out = append(out, request{
					labels: labels.FromStrings(labels.MetricName, m.as, of.label, id),
					query: types.MetricDataQuery{Id: aws.String(fmt.Sprintf("m%d", len(out))), ReturnData: aws.Bool(true),
						MetricStat: &types.MetricStat{
							Metric: &types.Metric{Namespace: aws.String(of.namespace), MetricName: aws.String(m.name),
								Dimensions: []types.Dimension{{Name: aws.String(of.dimension), Value: aws.String(id)}}},
							Period: aws.Int32(int32(period / time.Second)), Stat: aws.String(m.statistic)}},
				})
			}
		}
	}

	return out
}

// Samples implements [cloud.Service].
func (s *service) Samples(ctx context.Context, span cloud.Span,
	want func(string) bool, emit func([]cloud.Series) error) error {
	client := newClient(bounded(s.cfg, cmp.Or(s.cloud.Within, answerWithin)),
		newRetryer(s.cloud.Backoff, s.bill))
	for group := range slices.Chunk(s.has.requests(span.Period, want), queriesMax) {
		// As many points per series as one answer can hold for the whole group.
		step := time.Duration(pointsMax/len(group)) * span.Period
		for from, to := range span.Parts(step) {
			part, err := s.part(ctx, client, group, from, to)
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

// newClient returns a CloudWatch client. It uses JSON instead of the default protocol, CBOR,
// because the emulators of AWS in tests support JSON.
func newClient(cfg aws.Config, r aws.Retryer) *cloudwatch.Client {
	return cloudwatch.NewFromConfig(cfg, func(o *cloudwatch.Options) {
		o.Retryer = r
		o.Protocol = awsjson.New10(schemas.GraniteServiceVersion20100801)
	})
}

// part reads a span that fits into one answer, of any number of pages.
func (s *service) part(ctx context.Context, client *cloudwatch.Client, group []request, from,
	to time.Time) ([]cloud.Series, error) {
	in := &cloudwatch.GetMetricDataInput{StartTime: &from, EndTime: &to, ScanBy: types.ScanByTimestampAscending}
	at := map[string]int{}

	out := make([]cloud.Series, len(group))
	for i, r := range group {
		in.MetricDataQueries = append(in.MetricDataQueries, r.query)
		at[*r.query.Id], out[i].Labels = i, r.labels
	}

	points := 0
	for range pagesMax {
		answer, err := client.GetMetricData(ctx, in)
		if err != nil {
			return nil, explain(err, "cloudwatch:GetMetricData", s.cfg.Region)
		}

		s.bill.Call(len(group))
		for _, r := range answer.MetricDataResults {
			// A series may be spread over several pages, so results are found by the id of the
			// query.
			i, ok := at[aws.ToString(r.Id)]
			if !ok || len(r.Timestamps) != len(r.Values) {
				return nil, fmt.Errorf("AWS: CloudWatch returned a series %q that was not requested",
					aws.ToString(r.Id))
			}

			// The limit is AWS's own, so an answer beyond it is not from AWS or not for this
			// request.
			if points += len(r.Values); points > pointsMax {
				return nil,
					fmt.Errorf("AWS: CloudWatch returned more than %d values for one request, which is its documented limit",
						pointsMax)
			}

			for k, t := range r.Timestamps {
				out[i].BeginMs, out[i].Values = append(out[i].BeginMs, t.UnixMilli()), append(out[i].Values, r.Values[k])
			}
		}

		if in.NextToken = answer.NextToken; aws.ToString(in.NextToken) == "" {
			return out, nil
		}
	}

	return nil, fmt.Errorf("AWS: CloudWatch returned more than %d pages for one request", pagesMax)
}
