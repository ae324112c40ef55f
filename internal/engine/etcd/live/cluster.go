package live

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plimsoll/internal/engine/etcd/endpoint"
)

const (
	// askWithin is how long a member may take to identify itself.
	askWithin = 5 * time.Second
	// answerBytesMax bounds an answer: a list of members takes a few kilobytes.
	answerBytesMax = 1 << 20
)

// A member is a member of a cluster; some fields may be unknown.
type member struct {
	endpoint string // host:port, the label instance
	id       uint64 // 0: unknown
	name     string
	leads    bool
	learns   bool
	version  string
	bytes    int64 // of its database
}

func (m *member) facts() map[string]string {
	if m.id == 0 {
		return nil
	}

	role := "follower"
	switch {
	case m.learns:
		role = "learner"
	case m.leads:
		role = "leader"
	}

	f := map[string]string{"etcd.member_id": strconv.FormatUint(m.id, 16), "etcd.role": role}
	if m.name != "" {
		f["etcd.member"] = m.name
	}

	if m.bytes > 0 {
		f["etcd.db_size_bytes"] = strconv.FormatInt(m.bytes, 10)
	}

	return f
}

// cluster requests the identity of each member in the address, and the full member list from one of them; it
// also returns that member's view. The result includes at least the members in the address. If none answers,
// the error is that of the first.
func (a *address) cluster(ctx context.Context, config *tls.Config) ([]*member, *roll, error) {
	members := make([]*member, len(a.endpoints))
	lists := make([]*roll, len(a.endpoints))
	errs := make([]error, len(a.endpoints))

	var asking sync.WaitGroup
	for i, e := range a.endpoints {
		members[i] = &member{endpoint: e}
		asking.Go(func() { lists[i], errs[i] = a.ask(ctx, config, members[i]) })
	}

	asking.Wait()

	// Membership is replicated, so any member's list is as good as another's.
	best := slices.IndexFunc(lists, func(l *roll) bool { return l != nil })
	if best < 0 {
		return members, nil, errs[0]
	}

	for _, x := range lists[best].members {
		i := slices.IndexFunc(members,
			func(m *member) bool { return m.id == x.ID || m.id == 0 && serves(x, m.endpoint) })

		// The address need not name every member: the others are found in the list.
		if i < 0 {
			e := firstEndpoint(x)
			if e == "" || len(members) >= membersMax {
				continue // not started yet
			}
			members = append(members, &member{endpoint: e})
			i = len(members) - 1
		}

		members[i].id, members[i].name, members[i].learns, members[i].leads = x.ID, x.Name, x.IsLearner,
			x.ID == lists[best].leader
	}

	return members, lists[best], nil
}

// serves reports whether a member lists an endpoint as its own.
func serves(x *etcdserverpb.Member, endpoint string) bool {
	return slices.ContainsFunc(x.ClientURLs, func(u string) bool { return hostPort(u) == endpoint })
}

func firstEndpoint(x *etcdserverpb.Member) string {
	for _, u := range x.ClientURLs {
		if e := hostPort(u); e != "" {
			return e
		}
	}
	return ""
}

// hostPort returns the host:port of a URL; "" if it is not a URL.
func hostPort(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	e, err := endpointOf(u.Host)
	if err != nil {
		return ""
	}
	return e
}

// A roll is a member's view of its cluster. errors are what it reports as wrong: alarms of any member, or
// that it has no leader (3.4 and later).
type roll struct {
	leader  uint64
	members []*etcdserverpb.Member
	errors  []string
}

// ask asks a member for its identity and for the member list.
func (a *address) ask(ctx context.Context, config *tls.Config, asked *member) (*roll, error) {
	ctx, cancel := context.WithTimeout(ctx, a.within)
	defer cancel()
	c, err := endpoint.Dial(asked.endpoint, endpoint.Options{TLS: config, User: &a.user, Within: a.within,
		AnswerBytes: answerBytesMax})
	if err != nil {
		return nil, err
	}

	defer c.Close()
	list, err := asked.identify(ctx, c)
	if err != nil {
		return nil, a.explain(asked.endpoint, err)
	}
	return list, nil
}

// identify asks a member for its identity and for the member list, on an open connection.
func (m *member) identify(ctx context.Context, c *grpc.ClientConn) (*roll, error) {
	s, err := etcdserverpb.NewMaintenanceClient(c).Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		return nil, err
	}
	m.id, m.version, m.bytes = s.GetHeader().GetMemberId(), s.Version, s.DbSize
	list, err := etcdserverpb.NewClusterClient(c).MemberList(ctx, &etcdserverpb.MemberListRequest{})
	if err != nil {
		return nil, err
	}
	return &roll{leader: s.Leader, members: list.Members, errors: s.Errors}, nil
}

// explain describes why a request to a member failed and what to do, without the password.
func (a *address) explain(endpoint string, err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // the user's name is in the messages below
	}
	text := status.Convert(err).Message()

	// The password must not appear in an error, whatever the server puts into its text.
	if a.user.Password != "" {
		text = strings.ReplaceAll(text, a.user.Password, "***")
	}

	switch {
	case strings.Contains(text, "authentication failed"):
		return fmt.Errorf("%s denies access to user %s: check ETCDCTL_USER, or the user and password in the address",
			endpoint, a.user.Name)
	case strings.Contains(text, "user name is empty"), strings.Contains(text, "permission denied"),
		strings.Contains(text, "invalid auth token"):
		return fmt.Errorf("%s requires a user (%s): set ETCDCTL_USER=name:password", endpoint, text)
	case strings.Contains(text, "certificate"), strings.Contains(text, "tls:"), strings.Contains(text, "x509:"):
		return errors.New(endpoint + ": " + aboutTLS(text))
	case status.Code(err) == codes.DeadlineExceeded:
		return fmt.Errorf("%s does not respond within %s", endpoint, a.within)
	case strings.HasPrefix(text, "grpc: failed to unmarshal"),
		strings.HasPrefix(text, "grpc: error unmarshalling"):
		return fmt.Errorf("%s sent an answer that is not etcd's: check that this is etcd's client port", endpoint)
	}

	return fmt.Errorf("%s: %s", endpoint, text)
}

// aboutTLS adds advice to the text of a TLS error.
func aboutTLS(text string) string {
	switch {
	case strings.Contains(text, "unknown authority"):
		return "its certificate is signed by an unknown authority: give the authority's file with ETCDCTL_CACERT or ?cacert="
	case strings.Contains(text, "certificate required"), strings.Contains(text, "bad certificate"):
		return "it requires a client certificate that it trusts: give its files with ETCDCTL_CERT and ETCDCTL_KEY, or ?cert= and &key="
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return "it does not speak TLS: give etcd:// instead of etcds://, without certificates"
	}
	return text
}
