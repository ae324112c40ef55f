package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Options configure the connection.
type Options struct {
	// Insecure accepts any TLS certificate.
	Insecure bool
	// Getenv replaces os.Getenv.
	Getenv func(string) string
	// Within limits the time for an answer; 0 means ten seconds.
	Within time.Duration

	dialer options.ContextDialer // for tests
}

// answerWithin is the default limit for an answer. It is long because a stalled server answers
// late, and that answer is the one that matters.
const answerWithin = 10 * time.Second

func (o *Options) within() time.Duration { return cmp.Or(o.Within, answerWithin) }

// server is the server or set behind an address; it implements source.Source.
type server struct {
	*source.Polled
	address *address
	opt     Options
	router  bool // it is a mongos
	limits  []string
}

// Open connects to a mongodb:// or mongodb+srv:// address, finds out which server answers and what
// the user may read, and disconnects. Within seconds, the error describes what is wrong: the address,
// the network, TLS, the credentials, the privileges or the server. It contains no secret.
func Open(ctx context.Context, text string, opt Options) (source.Source, error) {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}

	a, err := parse(text, opt.Getenv)
	if err != nil {
		return nil, err
	}

	l, err := connect(ctx, a, opt, openWithin)
	if err != nil {
		return nil, err
	}

	defer l.close()
	waitCtx, stop := l.endWhenUnreachable(ctx)
	defer stop()
	m := &server{address: a, opt: opt}
	d := recording.Source{Kind: "mongodb", Name: a.name, Engine: "mongodb"}

	if err := m.inspect(waitCtx, l, &d); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, l.explain(err)
	}

	m.Polled = source.NewPolled(d).AnswerWithin(opt.Within)
	return m, nil
}

// inspect finds out which server answers.
func (m *server) inspect(ctx context.Context, l *link, d *recording.Source) error {
	who, err := l.command(ctx, "hello")
	if err != nil {
		return err
	}

	// An arbiter has no data, and its own metrics would look like an idle server.
	if arbiter, _ := who.Lookup("arbiterOnly").BooleanOK(); arbiter {
		return m.address.arbiter(nil, hosts(who))
	}

	if msg, _ := who.Lookup("msg").StringValueOK(); msg == "isdbgrid" {
		if len(m.address.hosts) > 1 {
			return m.address.errorf(
				nil, "are several mongos, which the driver would use in turn: give one of them, or better a member of a shard")
		}
		m.router = true
	}

	status, err := l.command(ctx, "serverStatus", leftOut...)
	if err != nil {
		return err
	}

	m.limits = identify(ctx, l, status, d)
	if m.router {
		m.limits = append(m.limits, routed(ctx, l))
	}

	return nil
}

func hosts(who bson.Raw) (out []string) {
	list, _ := who.Lookup("hosts").ArrayOK()
	values, _ := list.Values() // empty if it is not a list
	for _, v := range values {
		if s, ok := v.StringValueOK(); ok {
			out = append(out, s)
		}
	}
	return out
}

// routed names what a mongos does not report, and the servers that do.
func routed(ctx context.Context, l *link) string {
	text := "it is a mongos, which has no storage: the shards' members report journal, cache, checkpoints and disks"
	// The user may lack the right to list them.
	answer, err := l.command(ctx, "listShards")
	if err != nil {
		return text + " (sh.status() lists them)"
	}

	var list struct {
		Shards []struct {
			Host string `bson:"host"`
		} `bson:"shards"`
	}
	if bson.Unmarshal(answer, &list) != nil || len(list.Shards) == 0 {
		return text
	}

	var hosts []string
	for _, s := range list.Shards[:min(shardsMax, len(list.Shards))] {
		hosts = append(hosts, s.Host)
	}
	return text + ": " + strings.Join(hosts, "; ")
}

// shardsMax limits the shards in a note.
const shardsMax = 16

// identify adds facts about a server and returns which of them could not be read.
func identify(ctx context.Context, l *link, status bson.Raw, d *recording.Source) (limits []string) {
	sections := []ftdc.Section{{Name: "serverStatus", Answer: status}}
	var denied []string
	for _, c := range []struct {
		command string
		value   any
	}{{"buildInfo", 1}, {"hostInfo", 1}, {"getCmdLineOpts", 1}, {"getParameter", "*"}} {
		answer, err := l.run(ctx, "admin", bson.D{{Key: c.command, Value: c.value}})
		if mongo.IsTimeout(err) { // it would not answer the next one either
			limits = append(limits,
				fmt.Sprintf("the server does not answer %s in time: cores, memory, kernel or settings are unknown",
					c.command))
			break
		}

		switch {
		case err == nil:
			sections = append(sections, ftdc.Section{Name: c.command, Answer: answer})
		// Other errors, such as an unknown command, only leave facts out.
		case refused(err):
			denied = append(denied, c.command)
		}
	}

	m := ftdc.Identify(ftdc.Join(sections...))
	d.Version, d.Host, d.Facts = m.Version, m.Host, m.Facts
	if len(denied) > 0 {
		limits = append(limits,
			fmt.Sprintf("this user may not run %s: cores, memory, kernel and settings of the server are unknown; the role clusterMonitor grants it",
				strings.Join(denied, ", ")))
	}

	return limits
}

// Read implements source.Source; see source.Polled.Poll.
func (m *server) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	l, err := connect(ctx, m.address, m.opt, againWithin)
	if err != nil {
		if errors.Is(err, ctx.Err()) {
			return nil // the end of the context ends a live source without an error
		}
		return err
	}

	defer l.close()
	s := newSampler(m, l, w, opt)
	for _, text := range m.limits {
		s.limit(text)
	}

	sizesCtx, cancel := context.WithCancel(ctx)
	sizesDone := make(chan struct{})
	go func() {
		defer close(sizesDone)
		s.pollSizes(sizesCtx)
	}()

	// dbStats can take seconds, so sizes must not delay the samples.
	err = m.Poll(ctx, w, opt, s)
	cancel()
	<-sizesDone

	return err
}

// leftOut are options of serverStatus. They exclude the sections that the server omits from its own
// capture because they are expensive or not numeric, and tcmalloc, which stops the allocator. They
// include the first and last time of the oplog.
var leftOut = []bson.E{
	{Key: "sharding", Value: false}, {Key: "timing", Value: false}, {Key: "defaultRWConcern", Value: false},
	{Key: "tenantMigrationAccessBlocker", Value: false}, {Key: "tcmalloc", Value: false},
	{Key: "oplog", Value: true},
}

var errNotCollected = errors.New("the server has not collected anything yet")
