package advise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/engine/etcd/endpoint"
	"plimsoll/internal/record/httpclient"
)

const (
	// answerWithin is how long a member may take to answer a request.
	answerWithin   = 10 * time.Second
	answerBytesMax = 1 << 20
)

// Procedure describes how to move a member's WAL.
func Procedure() rollout.Procedure {
	return rollout.Procedure{
		Log: "member/wal", Into: "wal",
		IsLog:   func(name string) bool { return strings.HasSuffix(name, ".wal") },
		Answers: answers, Ready: ready, Healthy: healthy, Configure: configure,
	}
}

func answers(ctx context.Context, m *rollout.Member) error {
	_, err := call(ctx, m, m.Address, "/version", nil)
	var status *statusError
	// Any HTTP status is an answer: the process runs.
	if errors.As(err, &status) {
		return nil
	}
	return err
}

// healthy makes a linearizable read through the member. The read succeeds only if the member has a leader and
// has applied all committed entries (etcd 3.5, server/etcdserver/api/etcdhttp/health.go).
func healthy(ctx context.Context, m *rollout.Member) error {
	if m.Address == "" {
		return errors.New("the site file has no address for the member, so its health is unknown")
	}
	return healthyAt(ctx, m, m.Address)
}

func healthyAt(ctx context.Context, m *rollout.Member, at string) error {
	body, err := call(ctx, m, at, "/health", nil)
	if err != nil {
		return err
	}
	var is struct{ Health, Reason string }
	if err := json.Unmarshal(body, &is); err != nil {
		return fmt.Errorf("%s/health: %w", at, err)
	}
	if is.Health != "true" {
		return fmt.Errorf("the member at %s is not healthy: %s", at, is.Reason)
	}
	return nil
}

// electing is how long the others may be without a leader: ten of etcd's default election timeouts
// of 1 s. An election after a start or stop is over sooner.
const electing = 10 * time.Second

// ready fails if the other members could form a majority without this one but do not. They may be
// electing a leader, so it retries for a while.
func ready(ctx context.Context, m *rollout.Member) error {
	enough, cancel := context.WithTimeout(ctx, electing)
	defer cancel()
	for {
		err := othersWell(ctx, m)
		if err == nil {
			return nil
		}
		select {
		case <-enough.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func othersWell(ctx context.Context, member *rollout.Member) error {
	body, err := call(ctx, member, member.Address, "/v3/cluster/member/list", []byte("{}"))
	if err != nil {
		return err
	}

	var list struct {
		Header struct {
			MemberID string `json:"member_id"`
		} `json:"header"`
		Members []struct {
			ID         string   `json:"ID"`
			Name       string   `json:"name"`
			ClientURLs []string `json:"clientURLs"`
			IsLearner  bool     `json:"isLearner"`
		} `json:"members"`
	}

	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("cannot parse the member list: %w", err)
	}

	voters, well := 0, 0
	var ill []error
	for _, o := range list.Members {
		// Learners do not vote, so they do not count for a majority.
		if o.IsLearner {
			continue
		}

		voters++
		// The member that answers is the one to be stopped.
		if o.ID == list.Header.MemberID {
			continue
		}

		err := errors.New(o.Name + " was never started")
		// One healthy address is enough. A member that was never started reports none.
		for _, at := range o.ClientURLs {
			if err = healthyAt(ctx, member, at); err == nil {
				break
			}
		}

		if err == nil {
			well++
		} else {
			ill = append(ill, err)
		}
	}

	// A single member, or one of two, never leaves a majority behind; only unhealthy members
	// are a reason to wait.
	if majority := voters/2 + 1; well < majority && len(ill) > 0 {
		return fmt.Errorf("the cluster has %d voters and only %d are healthy without this member: %w", voters, well,
			errors.Join(ill...))
	}

	return nil
}

// A statusError is an answer with an unexpected HTTP status.
type statusError struct{ text string }

func (e *statusError) Error() string { return e.text }

// call sends a member an HTTP request, with TLS as in etcdctl's variables.
func call(ctx context.Context, m *rollout.Member, at, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}

	address, err := url.Parse(at)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("%s: %q is not an address such as http://127.0.0.1:2379, or https:// with TLS",
			m.Name, at)
	}

	files := endpoint.Files{Cert: os.Getenv("ETCDCTL_CERT"), Key: os.Getenv("ETCDCTL_KEY"),
		CACert: os.Getenv("ETCDCTL_CACERT")}
	secure := address.Scheme == "https"
	// etcdctl's variables may be set for another cluster; plain HTTP ignores them.
	if !secure {
		files = endpoint.Files{}
	}

	config, err := files.Config(endpoint.Names{Both: "ETCDCTL_CERT and ETCDCTL_KEY", Client: "ETCDCTL_CERT",
		Authority: "ETCDCTL_CACERT"}, secure, false)
	if err != nil {
		return nil, err
	}

	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}

	address.Host, address.Path = endpoint.WithPort(address.Host), path
	req, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}

	client := httpclient.New(httpclient.Options{Base: httpclient.Direct(config),
		Most: httpclient.Bounds{Bytes: answerBytesMax}})
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}

	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}

	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{fmt.Sprintf("%s says %s: %s", address, resp.Status, strings.TrimSpace(string(text)))}
	}

	return text, nil
}

// configure sets the WAL's folder in a configuration file (--config-file, YAML) or an environment
// file.
func configure(file string, text []byte, dir string) ([]byte, error) {
	key, line := "ETCD_WAL_DIR=", "ETCD_WAL_DIR="+strconv.Quote(dir)
	if e := filepath.Ext(file); e == ".yml" || e == ".yaml" {
		key, line = "wal-dir:", "wal-dir: "+strconv.Quote(dir)
	}

	var out []string
	set := false
	for l := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n") {
		// A key that is set twice keeps one line, so that the old folder cannot win.
		if strings.HasPrefix(l, key) {
			if set {
				continue
			}
			l, set = line, true
		}
		out = append(out, l)
	}

	if !set {
		out = append(out, line)
	}

	return []byte(strings.Join(out, "\n") + "\n"), nil
}
