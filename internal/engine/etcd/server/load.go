//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/sync/errgroup"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
)

// loaders is how many transactions are in flight while loading.
const loaders = 16

// batch returns how many documents a transaction has: a third of the request limit, so that a raft
// message of 1 MB holds one or two transactions.
func batch(size units.Size) uint64 {
	return uint64(min(max(requestBytes/3/(max(size, SeqBytes)+64), 1), operationsMax))
}

// load puts the documents that exist before the run.
func (s *Server) load(ctx context.Context, l *links, documents uint64, progress lab.Progress) error {
	if s.mean > requestBytes {
		return fmt.Errorf("documents of %s: etcd accepts at most %s per request", s.mean.Exact(),
			requestBytes.Exact())
	}

	// At its quota etcd refuses every write, so loading would fail halfway.
	if all := float64(documents) * float64(s.mean); all > float64(s.cfg.Quota) {
		return fmt.Errorf("%d documents of %s exceed engine.etcd.quota of %s: raise it, or use fewer documents",
			documents, s.mean.Exact(), s.cfg.Quota.Exact())
	}
	return put(ctx, l, keys{}, s.mean, documents, loaders, progress)
}

// put puts documents of the given mean size, with parallel transactions in flight.
func put(ctx context.Context, l *links, k keys, mean units.Size, documents uint64, parallel int,
	progress lab.Progress) error {
	var at atomic.Uint64
	var mu sync.Mutex
	var done uint64
	each := batch(mean + units.Size(k.bytes))

	group, ctx := errgroup.WithContext(ctx)
	for i := range parallel {
		group.Go(func() error {
			kv, w := l.kv(i), writer{}
			for {
				// Each goroutine claims a whole batch at a time; the last batch may be smaller.
				from := at.Add(each) - each
				if from >= documents {
					return nil
				}

				to := min(from+each, documents)
				txn := &etcdserverpb.TxnRequest{}
				for key := from; key < to; key++ {
					put := &etcdserverpb.PutRequest{Key: k.of(key), Value: w.value(mean, 0)}
					txn.Success = append(txn.Success,
						&etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: put}})
				}

				if _, err := kv.Txn(ctx, txn); err != nil {
					return fmt.Errorf("putting documents %d to %d: %w", from, to-1, explain(err))
				}

				mu.Lock()
				done += to - from
				if progress != nil {
					progress("putting documents", int64(done), int64(documents))
				}

				mu.Unlock()
			}
		})
	}

	return group.Wait()
}

// lead makes the configured member the leader. etcd moves leadership on request, but only to a
// member that is not behind, so it may take several attempts.
func (s *Server) lead(ctx context.Context, l *links) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()

	// The leader is configured from 1, members are numbered from 0.
	want, last := s.cfg.Leader-1, errors.New("no member reports a leader")
	for ctx.Err() == nil {
		ids := make([]uint64, len(l.members))
		var leader uint64
		for k, c := range l.members {
			status, err := etcdserverpb.NewMaintenanceClient(c).Status(ctx, &etcdserverpb.StatusRequest{})
			if err != nil {
				last = err
				continue
			}
			ids[k] = status.Header.MemberId
			// Only the wanted member's view counts: it must report itself as the leader.
			if k == want {
				leader = status.Leader
			}
		}

		for k, id := range ids {
			// A member that did not respond has the ID 0, and so has an unknown leader.
			if id == 0 || id != leader {
				continue
			}
			if k == want {
				return nil
			}
			_, last = etcdserverpb.NewMaintenanceClient(l.members[k]).MoveLeader(ctx,
				&etcdserverpb.MoveLeaderRequest{TargetID: ids[want]})
		}

		pause(ctx, movePause)
	}

	return fmt.Errorf("member %d does not become the leader: %w", s.cfg.Leader,
		cmp.Or(errors.Join(ctx.Err(), last), errors.New("another member remains the leader")))
}
