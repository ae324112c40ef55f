package endpoint

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// Options configure a connection.
type Options struct {
	TLS  *tls.Config // nil: none
	User *User       // nil: none
	// Within is how long an attempt to connect may take.
	Within time.Duration
	// AnswerBytes bounds an answer.
	AnswerBytes int
}

// Dial prepares a connection to a member, and keeps retrying while it is down.
func Dial(host string, opt Options) (*grpc.ClientConn, error) {
	secured := insecure.NewCredentials()
	if opt.TLS != nil {
		secured = credentials.NewTLS(opt.TLS)
	}

	user := opt.User
	if user == nil {
		user = &User{}
	}

	return grpc.NewClient("passthrough:///"+host,
		grpc.WithTransportCredentials(secured),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithUnaryInterceptor(user.intercept),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6,
				MaxDelay: time.Second},
			MinConnectTimeout: opt.Within,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(opt.AnswerBytes)))
}

// A User authenticates the calls to the members of a cluster; without a name there is no authentication. Each
// authentication is a proposal that all members write to their logs, and hashing the password takes 0.1 s
// of CPU time. So the token, which is valid at all members, is kept until a member refuses it.
type User struct {
	Name, Password string

	mu    sync.Mutex
	Token string // "" before the first call, and if authentication is off
}

// TokenField is the request metadata field that carries the token (etcd, api/v3rpc/rpctypes,
// metadatafields.go).
const TokenField = "token"

// expired reports whether a token is no longer valid (etcd, api/v3rpc/rpctypes, error.go, 3.4 to 3.7:
// ErrInvalidAuthToken, ErrAuthOldRevision).
func expired(err error) bool {
	return strings.Contains(err.Error(), "invalid auth token") ||
		strings.Contains(err.Error(), "revision of auth store is old")
}

func (u *User) intercept(ctx context.Context, method string, req, reply any, c *grpc.ClientConn,
	call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if u.Name == "" || strings.HasSuffix(method, "/Authenticate") {
		return call(ctx, method, req, reply, c, opts...)
	}

	refused := ""
	for try := 1; ; try++ {
		token, err := u.tokenOtherThan(ctx, c, refused)
		if err != nil {
			return err
		}
		with := ctx
		if token != "" {
			with = metadata.AppendToOutgoingContext(ctx, TokenField, token)
		}
		if err = call(with, method, req, reply, c, opts...); err == nil || !expired(err) || try == 2 {
			return err
		}
		refused = token
	}
}

// tokenOtherThan returns the kept token or, if a member refused that one, a new one.
func (u *User) tokenOtherThan(ctx context.Context, c *grpc.ClientConn, refused string) (string, error) {
	u.mu.Lock()
	kept := u.Token
	u.mu.Unlock()
	if kept != "" && kept != refused {
		return kept, nil
	}

	// Without the lock: a member that does not answer must not hold up the others.
	got, err := etcdserverpb.NewAuthClient(c).Authenticate(ctx,
		&etcdserverpb.AuthenticateRequest{Name: u.Name, Password: u.Password})
	switch {
	case err != nil && strings.Contains(err.Error(), "authentication is not enabled"):
		return "", nil // authentication is off, so no token is needed
	case err != nil:
		return "", fmt.Errorf("authenticating as %s: %w", u.Name, err)
	}

	u.mu.Lock()
	defer u.mu.Unlock()
	u.Token = got.Token
	return u.Token, nil
}
