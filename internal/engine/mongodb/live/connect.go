package live

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

const (
	// openWithin is how long Open waits for a server, unless the address sets
	// serverSelectionTimeoutMS. It is short because a user is waiting.
	openWithin = 5 * time.Second
	// againWithin is the same while sampling. A longer absence is recorded as a gap, and sampling
	// retries.
	againWithin = 2 * time.Second
	// connectWithin limits connecting, unless the address sets connectTimeoutMS.
	connectWithin = 5 * time.Second
	// connections is two: one for samples, and one for sizes, which are read concurrently.
	connections = 2
	// resolveWithin is how long resolving a mongodb+srv name may take.
	resolveWithin = 5 * time.Second
)

// A link is a client that remembers the outcome of its attempts to connect.
type link struct {
	*mongo.Client
	address *address
	tls     bool
	within  time.Duration // limit for a command, including server selection

	mu     sync.Mutex
	failed map[string]error // by server, the last failure
	mended error            // the last failure before an answer
	seen   *event.ServerDescription
	// cancelWait ends the wait for a server once all have failed; nil if nothing waits.
	cancelWait context.CancelCauseFunc
	seeds      int
}

// connect prepares a client. The driver connects when necessary and reconnects broken connections.
func connect(ctx context.Context, a *address, opt Options, within time.Duration) (*link, error) {
	l := &link{address: a, failed: map[string]error{}, within: opt.within()}
	o, err := clientOptions(ctx, a, opt, within)
	if err != nil {
		return nil, err
	}

	l.seeds = len(o.Hosts)
	if d, ok := o.Dialer.(*boundedDialer); ok {
		l.tls = d.tls != nil
	}

	// The selection timeout covers finding the server; the command still needs its own time.
	if _, has := a.option("serverSelectionTimeoutMS"); has && o.ServerSelectionTimeout != nil {
		l.within = max(l.within, *o.ServerSelectionTimeout+againWithin)
	}

	o.SetServerMonitor(&event.ServerMonitor{
		ServerHeartbeatFailed: func(e *event.ServerHeartbeatFailedEvent) { l.beat(e.ConnectionID, nil, e.Failure) },
		ServerHeartbeatSucceeded: func(e *event.ServerHeartbeatSucceededEvent) {
			l.beat(e.ConnectionID, &e.Reply, nil)
		},
	})

	if l.Client, err = mongo.Connect(o); err != nil {
		return nil, a.errorf(err, "cannot be used: %v", err)
	}

	return l, nil
}

// clientOptions returns the address's options, with Plimsoll's defaults.
func clientOptions(ctx context.Context, addr *address, opt Options,
	within time.Duration) (*options.ClientOptions, error) {
	type made struct {
		o   *options.ClientOptions
		err error
	}

	// ApplyURI resolves mongodb+srv names without a context, so a slow DNS server must not block.
	done := make(chan made, 1)
	go func() {
		o := options.Client().ApplyURI(addr.secret)
		done <- made{o, o.Validate()}
	}()

	var m made
	wait := time.NewTimer(resolveWithin)
	defer wait.Stop()

	select {
	case m = <-done:
	case <-wait.C:
		return nil,
			addr.errorf(
				context.DeadlineExceeded, "cannot be resolved: no answer within %s; check the name and this machine's DNS server",
				resolveWithin)
	case <-ctx.Done():
		return nil, ctx.Err()
	}

	driver, err := m.o, m.err
	if err != nil {
		return nil, addr.unresolved(err)
	}

	// A retried read would hide how long the server took. Polling needs no extra connection.
	driver.SetAppName("plimsoll").SetMaxPoolSize(connections).SetRetryReads(false).SetServerMonitoringMode("poll")
	if _, has := addr.option("serverSelectionTimeoutMS"); !has {
		driver.SetServerSelectionTimeout(min(within, opt.within()))
	}

	if _, has := addr.option("connectTimeoutMS"); !has {
		driver.SetConnectTimeout(min(connectWithin, opt.within()))
	}

	if addr.one() {
		driver.SetDirect(true)
	} else {
		driver.SetReadPreference(readpref.Primary())
	}

	if opt.Insecure && driver.TLSConfig != nil {
		driver.TLSConfig.InsecureSkipVerify = true
	}

	var dialer options.ContextDialer = &net.Dialer{}
	if opt.dialer != nil {
		dialer = opt.dialer
	}

	// TLS moves from the driver to the dialer, below the message limits.
	driver.SetDialer(&boundedDialer{next: dialer, tls: driver.TLSConfig})
	driver.TLSConfig = nil
	return driver, nil
}

// beat records an attempt to reach a server. The driver aborts attempts when a parallel connection
// fails; such an abort says nothing about the server, and the user should see why the other
// connection failed.
func (l *link) beat(id string, reply *event.ServerDescription, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}

	server, _, _ := strings.Cut(id, "[")
	l.mu.Lock()
	defer l.mu.Unlock()

	if err != nil {
		l.failed[server] = err
		if l.seen != nil && l.seen.Addr.String() == server {
			l.seen = nil
		}
	} else {
		if was, failed := l.failed[server]; failed {
			l.mended = was
		}
		delete(l.failed, server)
		l.seen = reply
	}

	if l.cancelWait != nil && l.seen == nil && len(l.failed) >= l.seeds {
		l.cancelWait(err)
	}
}

// last returns the description of one reachable server, and why another could not be reached.
func (l *link) last() (seen *event.ServerDescription, failure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, server := range slices.Sorted(maps.Keys(l.failed)) {
		return l.seen, l.failed[server] // one is enough to report
	}
	return l.seen, nil
}

// before returns the failure that preceded the last answer. It explains why no server could be
// selected just now although one answers again.
func (l *link) before() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mended
}

// endWhenUnreachable returns a context that ends as soon as all servers of the address have failed
// once.
func (l *link) endWhenUnreachable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	l.cancelWait = cancel
	l.mu.Unlock()
	return ctx, func() {
		l.mu.Lock()
		l.cancelWait = nil
		l.mu.Unlock()
		cancel(nil)
	}
}

// command runs a command on the admin database.
func (l *link) command(ctx context.Context, name string, more ...bson.E) (bson.Raw, error) {
	return l.run(ctx, "admin", append(bson.D{{Key: name, Value: 1}}, more...))
}

// run runs a command with its own deadline, because the driver sets none.
func (l *link) run(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, l.within)
	defer cancel()
	return l.Database(database).RunCommand(ctx, command).Raw()
}

// close disconnects.
func (l *link) close() {
	ctx, cancel := context.WithTimeout(context.Background(), againWithin)
	defer cancel()
	_ = l.Disconnect(ctx) // all data has been read
}
