package live

import (
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/status"

	"plimsoll/internal/check/hostile"
	"plimsoll/internal/engine/etcd/endpoint"
)

// A rawCodec passes messages on unchanged, so that they can be damaged.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}
func (rawCodec) Name() string { return "proto" }

// A damagedMember answers a member's calls, one in three with a damaged message or an error.
type damagedMember struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *damagedMember) answer(method string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var m any
	switch {
	case strings.HasSuffix(method, "/Authenticate"):
		m = &etcdserverpb.AuthenticateResponse{Header: &etcdserverpb.ResponseHeader{MemberId: 7}, Token: "token.1"}
	case strings.HasSuffix(method, "/Status"):
		m = &etcdserverpb.StatusResponse{Header: &etcdserverpb.ResponseHeader{MemberId: 7}, Version: "3.6.0", Leader: 7, DbSize: 4096,
			Errors: []string{"memberID:7 alarm:NOSPACE "}}
	default:
		m = &etcdserverpb.MemberListResponse{Header: &etcdserverpb.ResponseHeader{MemberId: 7}, Members: []*etcdserverpb.Member{
			{ID: 7, Name: "a", ClientURLs: []string{"http://127.0.0.1:2379"}, PeerURLs: []string{"http://127.0.0.1:2380"}},
			{ID: 8, Name: "b", ClientURLs: []string{"http://[::1]:2379"}, IsLearner: true}}}
	}

	marshalled, err := encoding.GetCodecV2("proto").Marshal(m)
	if err != nil {
		return nil, err
	}
	good := marshalled.Materialize()

	switch d.r.IntN(12) {
	case 0:
		return nil, status.Error(codes.Code(d.r.IntN(20)), string(hostile.Mutate(d.r, []byte("etcdserver: permission denied"), nil)))
	case 1, 2, 3:
		return hostile.Mutate(d.r, good, [][]byte{good}), nil
	}
	return good, nil
}

// TestHostileAnswers reads from a member whose messages are damaged (gRPC): none may cause a panic,
// take long or fail with a decoder's message. Its information about other members is used in the same way as
// by a follower.
func TestHostileAnswers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	d := &damagedMember{r: hostile.Rand(t)}
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		var in []byte
		if err := s.RecvMsg(&in); err != nil {
			return err
		}
		method, _ := grpc.MethodFromServerStream(s)
		out, err := d.answer(method)
		if err != nil {
			return err
		}
		return s.SendMsg(&out)
	}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Stop
	defer serving.Wait()
	defer server.Stop()

	readable, worst := 0, time.Duration(0)
	tries := hostile.Tries(200, hostile.ParserTries)
	for n := range tries {
		a := &address{within: askWithin, user: endpoint.User{Name: "root", Password: "secret"}}
		m := &member{endpoint: listener.Addr().String()}
		began := time.Now()
		_, err := a.ask(t.Context(), nil, m)
		worst = max(worst, time.Since(began))
		if err == nil {
			readable++
			continue
		}
		if word := hostile.Internal(err.Error()); word != "" {
			t.Fatalf("try %d: the error says %q: %.500s", n, word, err)
		}
	}

	t.Logf("%d tries, %d of them readable; the slowest took %s", tries, readable, worst)
	if worst > hostile.Within || readable == 0 {
		t.Errorf("one took %s; %d were readable", worst, readable)
	}
}
