package live

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/engine/mongodb/mongotest"
)

// answering gives a server a minimal serverStatus, so that only the tested fault is wrong with it.
func answering(s *mongotest.Server) *mongotest.Server {
	s.Version = "8.0.4"
	if s.Reply == nil {
		s.Reply = func(name string, _ bson.Raw) any {
			if name == "serverStatus" {
				return bson.D{{Key: "host", Value: "db"}, {Key: "version", Value: "8.0.4"}, {Key: "uptimeMillis", Value: int64(5)}, {Key: "ok", Value: 1.0}}
			}
			return nil
		}
	}
	return s
}

// pair returns a certificate for a name, issued by its own authority, and the authority's file.
func pair(t *testing.T, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	long := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, long, long, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// Every failure is reported within seconds, in one sentence that says what to do and contains no
// secret.
func TestErrors(t *testing.T) {
	cert, ca := pair(t, "db")
	speaks := &tls.Config{Certificates: []tls.Certificate{cert}}
	wire := func(most int32) bson.D {
		return bson.D{{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: most}}
	}
	secondary := bson.D{{Key: "isWritablePrimary", Value: false}, {Key: "ismaster", Value: false}, {Key: "secondary", Value: true}}

	only := mongotest.Server{User: "me", Password: "s3cret"}
	for name, c := range map[string]struct {
		server  *mongotest.Server // at db:27017; nil: no server
		address string
		env     map[string]string
		want    string // "": opening succeeds
	}{
		"open":               {&mongotest.Server{}, "mongodb://db", nil, ""},
		"password":           {&only, "mongodb://me:s3cret@db:27017/?authSource=admin", nil, ""},
		"password elsewhere": {&only, "mongodb://me@db", map[string]string{"PLIMSOLL_PASSWORD": "s3cret"}, ""},
		"user elsewhere":     {&only, "mongodb://db", map[string]string{"PLIMSOLL_USER": "me", "PLIMSOLL_PASSWORD": "s3cret"}, ""},
		"wrong password":     {&only, "mongodb://me:s3cret2@db", nil, "rejects the user or password: check them (they may also come from PLIMSOLL_USER and PLIMSOLL_PASSWORD) and ?authSource="},
		"no password":        {&only, "mongodb://db", nil, "requires authentication: give user and password in the address or in PLIMSOLL_USER"},
		"no privilege": {&mongotest.Server{User: "me", Password: "s3cret", Refuse: map[string]bool{"serverStatus": true}}, "mongodb://me:s3cret@db", nil,
			"does not allow this user to run serverStatus: grant it the role clusterMonitor"},
		"TLS":               {&mongotest.Server{TLS: speaks}, "mongodb://db/?tls=true&tlsCAFile=" + ca, nil, ""},
		"unknown authority": {&mongotest.Server{TLS: speaks}, "mongodb://db/?tls=true", nil, "name it with ?tlsCAFile=FILE"},
		"another's name":    {&mongotest.Server{TLS: speaks}, "mongodb://other:27017/?tls=true&tlsCAFile=" + ca, nil, "its certificate is for another name"},
		"no TLS":            {&mongotest.Server{}, "mongodb://db/?tls=true", nil, "it does not seem to speak TLS: remove tls=true"},
		"TLS wanted":        {&mongotest.Server{TLS: speaks}, "mongodb://db", nil, "if it requires TLS, add ?tls=true"},
		"no such file":      {nil, "mongodb://db/?tls=true&tlsCAFile=/nowhere/ca.pem", nil, "/nowhere/ca.pem"},
		"too old":           {&mongotest.Server{Hello: wire(8)}, "mongodb://db", nil, "runs a MongoDB version older than 4.4, which the driver does not support: give its diagnostic.data folder"},
		"arbiter":           {&mongotest.Server{Set: "rs0", Hello: bson.D{{Key: "isWritablePrimary", Value: false}, {Key: "ismaster", Value: false}, {Key: "arbiterOnly", Value: true}}}, "mongodb://db", nil, "is an arbiter, which holds no data: give a data-bearing member: db:27017"},
		"no server":         {nil, "mongodb://db", nil, "cannot be reached: dial tcp db:27017: connection refused: check host and port"},
		"none of three":     {nil, "mongodb://db,db:27018,db:27019/?replicaSet=rs0", nil, "cannot be reached"},
		"no primary":        {&mongotest.Server{Set: "rs0", Hello: secondary}, "mongodb://db/?replicaSet=rs0", nil, "currently has no primary: to read one member, give it alone, such as mongodb://db:27017"},
		"a secondary":       {&mongotest.Server{Set: "rs0", Hello: secondary}, "mongodb://db", nil, ""},
		"another set":       {&mongotest.Server{Set: "rs0"}, "mongodb://db/?replicaSet=rs1", nil, `belongs to replica set "rs0", not "rs1": correct ?replicaSet=`},
		"no set":            {&mongotest.Server{}, "mongodb://db,db:27018", nil, "belongs to no replica set: give it alone, mongodb://db:27017"},
		"several mongos":    {&mongotest.Server{Hello: bson.D{{Key: "msg", Value: "isdbgrid"}}}, "mongodb://db,other:27017", nil, "are several mongos"},
		"unescaped":         {nil, "mongodb://me:s3cret/x@db", nil, "percent-encoded"},
		"unescaped too":     {nil, "mongodb://me:s3cret@x@db", nil, "percent-encoded"},
		"unknown mechanism": {nil, "mongodb://me:s3cret@db/?authMechanism=NOSUCH", nil, "cannot be used"},
		"invalid port":      {nil, "mongodb://me:s3cret@db:port", nil, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w mongotest.Wire
				if c.server != nil {
					s := answering(c.server)
					defer w.Start("db:27017", s)()
					if strings.Contains(c.address, "other") {
						defer w.Start("other:27017", s)()
					}
				}

				begin := time.Now()
				src, err := Open(t.Context(), c.address, Options{dialer: &w, Getenv: func(k string) string { return c.env[k] }})
				if took := time.Since(begin); took > 6*time.Second {
					t.Errorf("the user waited for %s", took)
				}

				if c.want == "" && err == nil {
					if n := src.Describe().Name; strings.Contains(n, "s3cret") || strings.Contains(n, "me") {
						t.Errorf("%s shows secrets", n)
					}
					return
				}

				if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, not %q", err, c.want)
				}
			})
		})
	}
}

// A server that requires a client certificate rejects the connection only when the handshake seems
// complete.
func TestClientCertificate(t *testing.T) {
	cert, ca := pair(t, "localhost")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go answering(&mongotest.Server{TLS: &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert}}).Serve(l)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, err = Open(t.Context(), "mongodb://localhost:"+port+"/?tls=true&tlsCAFile="+ca, Options{})
	if err == nil || !strings.Contains(err.Error(), "?tlsCertificateKeyFile=FILE") {
		t.Errorf("%v", err)
	}
}

// Cancelling returns the context's error and no other.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w mongotest.Wire
		ctx, cancel := contextFor(t, time.Second)
		defer cancel()
		defer w.Start("db:27017", &mongotest.Server{Set: "rs0", Hello: bson.D{{Key: "isWritablePrimary", Value: false}, {Key: "ismaster", Value: false}, {Key: "secondary", Value: true}}})()
		_, err := Open(ctx, "mongodb://db/?replicaSet=rs0", Options{dialer: &w, Getenv: os.Getenv})
		if err == nil || err != ctx.Err() { //nolint:errorlint // that very error, unwrapped: callers compare it
			t.Errorf("%v", err)
		}
	})
}

// A server that uses another protocol is not recognised as MongoDB.
func TestNoMongoDB(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 16))
			_, _ = c.Write(bytes.Repeat([]byte("HTTP/1.1 400 Bad Request\r\n"), 4))
			c.Close()
		}
	}()

	_, err = Open(t.Context(), "mongodb://"+l.Addr().String(), Options{})
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("%v", err)
	}
}
