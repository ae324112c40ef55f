//go:build linux

package server

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A cluster whose database reaches its quota refuses writes (alarm NOSPACE) until someone compacts,
// defragments and disarms it. So Plimsoll refuses a run that would come near the quota, and stops
// one that does.
const (
	quotaExpected = 0.8 // share of the quota that a run may be expected to reach
	quotaStop     = 0.9 // share of the quota at which a run is stopped
	// quotaDefault is etcd's default (etcd, server/storage/quota.go, DefaultQuotaBytes), used if
	// the quota is unknown.
	quotaDefault = 2 * units.GiB
	// revisionBytes is the space that a revision takes in the backend in addition to key and value: its
	// own key of 17 bytes, the fields of mvccpb.KeyValue, and the page element of 16 bytes. pageShare
	// accounts for the part of a page that bbolt leaves free when writing in order (measured, etcd 3.4:
	// 1.2).
	revisionBytes = 64
	pageShare     = 1.3
)

// grows returns an upper bound on the space that this many writes add to a database.
func grows(key int, size units.Size, writes int64) int64 {
	return int64(float64(writes) * float64(int64(size)+int64(key)+revisionBytes) * pageShare)
}

// room checks whether the database has room. The note informs the user about its growth.
func (v *Existing) room(size units.Size, writes int64) (note string, err error) {
	more := grows(max(len(v.keys.prefix)+16, v.keys.bytes), size, writes)
	whose := "quota"
	if !v.known {
		whose = "quota (assumed: /metrics does not report it)"
	}
	if float64(v.least+more) > quotaExpected*float64(v.quota) {
		return "",
			fmt.Errorf("etcd's database of %v would grow by up to %v, beyond %.0f %% of its %s (%v): at the quota the whole cluster refuses writes. Compact and defragment it, or reduce the run",
				units.Size(v.least), units.Size(more), quotaExpected*100, whose,
				units.Size(float64(v.quota)*quotaExpected))
	}
	return fmt.Sprintf("its database of %v grows by up to %v; its %s is %v", units.Size(v.least),
		units.Size(more), whose, units.Size(v.quota)), nil
}

// readQuota takes the quota from the first endpoint that reports it.
func (v *Existing) readQuota(ctx context.Context) {
	v.quota, v.known = int64(quotaDefault), false
	for _, host := range v.hosts {
		src, err := v.source(host)
		if err != nil {
			continue
		}

		page, err := scrape(ctx, src, func(name string) bool { return name == "etcd_server_quota_backend_bytes" })
		if err != nil {
			continue
		}

		for _, s := range page {
			if s.Values[0] > 0 {
				v.quota, v.known = int64(s.Values[0]), true
				return
			}
		}
	}
}

// scrape reads a metrics page once.
func scrape(ctx context.Context, src source.Source, want func(string) bool) ([]recording.Column, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	p := &scraped{}
	// The next sample would be too late, so there is one.
	err := src.Read(ctx, p, source.Options{Want: want, Parallel: 1, For: time.Nanosecond})
	if !p.done && err == nil {
		err = ctx.Err()
	}
	return p.columns, err
}

// scraped is a recording of one page.
type scraped struct {
	columns []recording.Column
	done    bool
}

// Append implements recording.Writer.
func (p *scraped) Append(_ context.Context, b *recording.Batch) error {
	p.columns, p.done = append(p.columns, b.Columns...), true
	return nil
}

// Source and Note implement recording.Writer.
func (*scraped) Source(recording.Source) {}
func (*scraped) Note(recording.Note)     {}

// A guard watches a database's size while a run writes.
type guard struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
	passed atomic.Pointer[error]
}

// guardEvery is how often the guard checks: at 15,000 writes of a kilobyte per second a database
// grows by 4 MB in between.
const guardEvery = 200 * time.Millisecond

func watchRoom(c *grpc.ClientConn, most int64) *guard {
	ctx, cancel := context.WithCancel(context.Background())
	g := &guard{cancel: cancel}
	g.all.Go(func() {
		client := etcdserverpb.NewMaintenanceClient(c)
		for {
			pause(ctx, guardEvery)
			if ctx.Err() != nil {
				return
			}
			s, err := client.Status(ctx, &etcdserverpb.StatusRequest{})
			if err == nil && s.DbSize > most {
				err = fmt.Errorf("stopped: etcd's database has grown to %v, near its quota, at which the whole cluster would refuse writes",
					units.Size(s.DbSize))
				g.passed.Store(&err)
				return
			}
		}
	})

	return g
}

// full returns the reason why writing has stopped; nil while there is room.
func (g *guard) full() error {
	if err := g.passed.Load(); err != nil {
		return *err
	}
	return nil
}

func (g *guard) stop() {
	g.cancel()
	g.all.Wait()
}
