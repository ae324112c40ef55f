package live

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"plimsoll/internal/engine/etcd/endpoint"
)

// A lockedMember is a member that requires a token, and counts the requests for one.
type lockedMember struct {
	etcdserverpb.UnimplementedAuthServer
	etcdserverpb.UnimplementedMaintenanceServer
	etcdserverpb.UnimplementedClusterServer

	mu     sync.Mutex
	asked  int
	valid  string
	refuse string // the error for an invalid token
}

func (l *lockedMember) Authenticate(_ context.Context, r *etcdserverpb.AuthenticateRequest) (*etcdserverpb.AuthenticateResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Name != "root" || r.Password != "secret" {
		return nil, status.Error(codes.InvalidArgument, "etcdserver: authentication failed, invalid user ID or password")
	}
	l.asked++
	l.valid = fmt.Sprintf("token.%d", l.asked)
	return &etcdserverpb.AuthenticateResponse{Token: l.valid}, nil
}

func (l *lockedMember) check(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	if got := strings.Join(md.Get(endpoint.TokenField), ","); got != l.valid {
		return status.Error(codes.Unauthenticated, l.refuse)
	}
	return nil
}

func (l *lockedMember) Status(ctx context.Context, _ *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Header: &etcdserverpb.ResponseHeader{MemberId: 7}, Version: "3.6.0", Leader: 7}, l.check(ctx)
}

func (l *lockedMember) MemberList(ctx context.Context, _ *etcdserverpb.MemberListRequest) (*etcdserverpb.MemberListResponse, error) {
	return &etcdserverpb.MemberListResponse{Members: []*etcdserverpb.Member{{ID: 7, Name: "a"}}}, l.check(ctx)
}

// TestTokenIsKept: a user authenticates once, and again only when the token has become invalid. Each
// authentication is written to the logs of all members.
func TestTokenIsKept(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	l := &lockedMember{refuse: "etcdserver: invalid auth token"}
	server := grpc.NewServer()
	etcdserverpb.RegisterAuthServer(server, l)
	etcdserverpb.RegisterMaintenanceServer(server, l)
	etcdserverpb.RegisterClusterServer(server, l)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Stop
	defer serving.Wait()
	defer server.Stop()

	a := &address{within: askWithin, user: endpoint.User{Name: "root", Password: "secret"}}
	look := func(wantAsked int) {
		t.Helper()
		m := &member{endpoint: listener.Addr().String()}
		r, err := a.ask(t.Context(), nil, m)
		if err != nil || len(r.members) != 1 || m.id != 7 {
			t.Fatalf("the member answers %+v, %v", r, err)
		}
		if l.asked != wantAsked {
			t.Errorf("authenticated %d times, want %d", l.asked, wantAsked)
		}
	}

	for range 5 {
		look(1)
	}

	for i, refuse := range []string{"etcdserver: invalid auth token", "etcdserver: revision of auth store is old"} {
		l.valid, l.refuse = "another", refuse
		look(2 + i)
		look(2 + i)
	}

	// A user who may not list the members is not authenticated again and again.
	l.valid, l.refuse = "another", "etcdserver: permission denied"
	before := l.asked
	if _, err := a.ask(t.Context(), nil, &member{endpoint: listener.Addr().String()}); err == nil || l.asked != before {
		t.Errorf("%v, and %d further authentications, want an error and none", err, l.asked-before)
	}
}
