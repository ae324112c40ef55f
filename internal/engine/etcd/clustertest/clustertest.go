//go:build linux

// Package clustertest runs a real kube-apiserver on a real etcd for tests.
//
// There is no kubelet, no scheduler and no controller: a [Play] does their part, with the rules
// that matter here. Tests that need them skip if the programs are missing.
package clustertest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/lab/process"
	"plimsoll/internal/record/kubeclient"
)

// perSecond is the client's request limit, high enough not to slow down a test.
const perSecond = 10000

// patience is how long the programs may take to start serving on a busy machine.
const patience = 5 * time.Minute

// A Server is a running API server.
type Server struct {
	Dir string
	url string
}

// Tokens of the server's two users: one may do everything, the other nothing until a test grants it
// permissions.
const (
	Admin = "admin"
	Guest = "guest"
)

// Run provides a test with an API server, which is stopped when the test ends. Without the programs the
// test is skipped.
func Run(t testing.TB) *Server {
	t.Helper()
	etcd, api := built(t, "etcd-current", "etcd"), built(t, "kube-apiserver", "kube-apiserver")
	server := &Server{Dir: t.TempDir()}
	client, peer, port := free(t), free(t), free(t)
	server.url = fmt.Sprintf("https://127.0.0.1:%d", port)
	store := fmt.Sprintf("http://127.0.0.1:%d", client)
	start(t, etcd, "--data-dir", filepath.Join(server.Dir, "etcd"), "--listen-client-urls", store,
		"--advertise-client-urls", store,
		"--listen-peer-urls", fmt.Sprintf("http://127.0.0.1:%d", peer), "--unsafe-no-fsync", "--log-level", "error")
	key, tokens := filepath.Join(server.Dir, "key.pem"), filepath.Join(server.Dir, "tokens.csv")

	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}

	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	put(t, key, string(text))
	put(t, tokens, "admin,admin,1,system:masters\nguest,guest,2\n")
	policy := filepath.Join(server.Dir, "audit.yaml")
	put(t, policy, auditPolicy)
	running := start(t, api, "--etcd-servers", store, "--cert-dir",
		filepath.Join(server.Dir, "certs"), "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(port), "--service-cluster-ip-range", "10.0.0.0/24", "--token-auth-file",
		tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key,
		"--service-account-signing-key-file", key,
		"--disable-admission-plugins", "ServiceAccount", "--endpoint-reconciler-type", "none",
		"--audit-policy-file", policy, "--audit-log-path", server.auditLog(), "--audit-log-mode", "blocking")

	c := server.Client(t, Admin, "db")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	serves := func(ctx context.Context) error {
		if _, err := kubeclient.Nodes.List(ctx, c, "", ""); err != nil {
			return err
		}
		return server.namespaced(ctx, c)
	}
	if err := running.Await(ctx, 200*time.Millisecond, "the API server is not serving", serves); err != nil {
		t.Fatal(err)
	}
	return server
}

// namespaced makes the namespace db.
func (s *Server) namespaced(ctx context.Context, c *kubeclient.Client) error {
	_, err := Namespaces.Create(ctx, c, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "db"}}, false)
	if kubeclient.IsThere(err) {
		return nil
	}
	return err
}

// Kubeconfig writes a kubeconfig file for a user and a namespace, and returns its path.
func (s *Server) Kubeconfig(t testing.TB, token, namespace string) string {
	t.Helper()
	return s.kubeconfig(t, "token: "+token, namespace)
}

func (s *Server) kubeconfig(t testing.TB, credentials, namespace string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	put(t, path, fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: it, user: {%s}}]
contexts: [{name: test, context: {cluster: test, user: it, namespace: %s}}]
current-context: test
`, s.url, credentials, namespace))
	return path
}

// Client returns a client for the user with the token.
func (s *Server) Client(t testing.TB, token, namespace string) *kubeclient.Client {
	t.Helper()
	c, err := kubeclient.Open(kubeclient.Options{Kubeconfig: s.Kubeconfig(t, token, namespace),
		PerSecond: perSecond, Within: patience})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// built finds a program that make builds, or skips the test.
func built(t testing.TB, name, target string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if path := filepath.Join(dir, "bin", name); executable(path) {
			return path
		}
	}
	t.Skipf("no bin/%s: make %s builds it", name, target)
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o100 != 0
}

// start runs a program until the test ends.
func start(t testing.TB, program string, args ...string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Options{Path: program, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() }) // it may have ended
	return p
}

func free(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback here: ", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
