package live

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// alarmsMetric counts the members with an alarm.
const alarmsMetric = "plimsoll_etcd_alarms"

// alarmTypes are etcd's alarms (api/etcdserverpb, rpc.proto: AlarmType).
var alarmTypes = []string{"NOSPACE", "CORRUPT"}

// alarms appends the alarms of the cluster for each member that is read: an alarm of any member makes all
// of them refuse requests. A view of nil means that no member answered, and nothing is known.
func (f *follower) alarms(ctx context.Context, view *roll) error {
	if view == nil || f.opt.Want != nil && !f.opt.Want(alarmsMetric) {
		return nil
	}

	b := recording.Batch{TimesMs: []int64{time.Now().Add(f.opt.ClockOffset).UnixMilli()}}
	for _, kind := range alarmTypes {
		raised := view.raised(kind)
		for _, m := range f.members {
			b.Columns = append(b.Columns, recording.Column{Values: []float64{raised},
				Labels: labels.FromStrings("__name__", alarmsMetric, "instance", m.endpoint, "alarm_type", kind)})
		}
	}

	return f.w.Append(ctx, &b)
}

// raised counts the members with an alarm. A status lists alarms as the text of a protocol buffer:
// "memberID:10276657743932975437 alarm:NOSPACE ".
func (r *roll) raised(kind string) (members float64) {
	for _, e := range r.errors {
		for _, word := range strings.Fields(e) {
			if word == "alarm:"+kind {
				members++
			}
		}
	}
	return members
}
