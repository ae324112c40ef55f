//go:build linux

package server

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

	"plimsoll/internal/engine/etcd/endpoint"
	"plimsoll/internal/lab/existing"
)

func endpoints(a *existing.Address) []string {
	var out []string
	for _, h := range a.Hosts() {
		out = append(out, endpoint.WithPort(h))
	}
	return out
}

// dialTo connects to an endpoint of an existing cluster.
func dialTo(host string, config *tls.Config, t *token) (*grpc.ClientConn, error) {
	secured := insecure.NewCredentials()
	if config != nil {
		secured = credentials.NewTLS(config)
	}

	return grpc.NewClient("passthrough:///"+host,
		grpc.WithTransportCredentials(secured),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithUnaryInterceptor(t.intercept),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6,
				MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerBytesMax)))
}

// A token is what etcd returns for a user's name and password. It is requested again after it
// expires.
type token struct {
	user, password string

	mu    sync.Mutex
	value string
}

// tokenField is the request metadata field that carries the token (etcd, api/v3rpc/rpctypes,
// metadatafields.go).
const tokenField = "token"

// refused reports whether the token has expired (etcd, api/v3rpc/rpctypes, error.go, 3.4 to 3.7).
func refused(err error) bool {
	return strings.Contains(err.Error(), "invalid auth token") ||
		strings.Contains(err.Error(), "revision of auth store is old")
}

func (t *token) intercept(ctx context.Context, method string, req, reply any, c *grpc.ClientConn,
	call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if t.user == "" || strings.HasSuffix(method, "/Authenticate") {
		return call(ctx, method, req, reply, c, opts...)
	}

	value, err := t.get(ctx, c, "")
	if err != nil {
		return err
	}

	err = call(metadata.AppendToOutgoingContext(ctx, tokenField, value), method, req, reply, c, opts...)
	if err == nil || !refused(err) {
		return err
	}

	if value, err = t.get(ctx, c, value); err != nil {
		return err
	}

	return call(metadata.AppendToOutgoingContext(ctx, tokenField, value), method, req, reply, c, opts...)
}

// get returns a token other than the refused one.
func (t *token) get(ctx context.Context, c *grpc.ClientConn, not string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value != "" && t.value != not {
		return t.value, nil
	}

	got, err := etcdserverpb.NewAuthClient(c).Authenticate(ctx,
		&etcdserverpb.AuthenticateRequest{Name: t.user, Password: t.password})
	switch {
	case err != nil && strings.Contains(err.Error(), "authentication is not enabled"):
		return "", nil // authentication is off, so no token is needed
	case err != nil:
		return "", fmt.Errorf("authenticating as %s: %w", t.user, err)
	}

	t.value = got.Token
	return t.value, nil
}
