package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/exporter-toolkit/web"
)

// The bounds of a server's connections. A page takes milliseconds; who is slower than this reads a page over a bad line.
const (
	headerWithin   = 5 * time.Second
	requestWithin  = 10 * time.Second
	answerWithin   = time.Minute
	idleWithin     = 2 * time.Minute
	headerBytesMax = 64 << 10
	// endWithin is how long the end waits for answers that are under way.
	endWithin = 500 * time.Millisecond
	// webConfigBytesMax bounds what is read of a web configuration.
	webConfigBytesMax = 1 << 20
)

// A Server listens. It is made by [Listen].
type Server struct {
	listeners []net.Listener
	config    string
	exposed   string // an address that others reach without TLS or password; "" if there is none
	clear     bool   // with a password, but without TLS
}

// Listen takes the addresses ("127.0.0.1:9814") and checks the web configuration, a file as all of Prometheus' exporters take it
// (TLS, basic authentication); "" is none. The configuration is read anew for each connection.
func Listen(ctx context.Context, addresses []string, config string) (*Server, error) {
	s := &Server{config: config}
	tls, auth, err := protection(config)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			s.Close()
			if op := (*net.OpError)(nil); errors.As(err, &op) {
				err = op.Err // the address was told
			}
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		s.listeners = append(s.listeners, l)
		if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && !tls {
			s.exposed, s.clear = l.Addr().String(), auth
		}
	}
	return s, nil
}

// protection tells whether a web configuration asks for TLS, and for who is asking.
func protection(config string) (tls, auth bool, err error) {
	if config == "" {
		return false, false, nil
	}
	f, err := os.Open(config)
	if err != nil {
		return false, false, fmt.Errorf("web configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, webConfigBytesMax))
	if err != nil {
		return false, false, fmt.Errorf("web configuration: %w", err)
	}
	if err := web.Validate(config); err != nil {
		return false, false, fmt.Errorf("web configuration %s: %w", config, err)
	}
	var c struct {
		TLS   map[string]any `yaml:"tls_server_config"`
		Users map[string]any `yaml:"basic_auth_users"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return false, false, fmt.Errorf("web configuration %s: it cannot be read as YAML", config) // the error may repeat secrets
	}
	_, certificates := c.TLS["client_auth_type"]
	return len(c.TLS) > 0, len(c.Users) > 0 || certificates, nil
}

// Check reads the web configuration as the next connection will, and says what is wrong with it.
func (s *Server) Check() error {
	_, _, err := protection(s.config)
	return err
}

// Addresses are those that are listened on, with the port that was taken where 0 was asked for.
func (s *Server) Addresses() (out []string) {
	for _, l := range s.listeners {
		out = append(out, l.Addr().String())
	}
	return out
}

// Close gives up the addresses without having served them.
func (s *Server) Close() {
	for _, l := range s.listeners {
		_ = l.Close() // nobody was served
	}
}

// Serve serves h until the context ends, which is no error.
func (s *Server) Serve(ctx context.Context, h http.Handler, log *slog.Logger) error {
	switch {
	case s.exposed != "" && s.clear:
		log.Warn("passwords are sent in the clear: others reach this address and it has no TLS; give --web.config.file with tls_server_config", "address", s.exposed)
	case s.exposed != "":
		log.Warn("anybody who reaches this address can read what is found; give --web.config.file with TLS or passwords, or listen on 127.0.0.1", "address", s.exposed)
	}
	addresses := s.Addresses()
	flags := &web.FlagConfig{WebListenAddresses: &addresses, WebConfigFile: &s.config}
	var serving sync.WaitGroup
	errs := make([]error, len(s.listeners))
	servers := make([]*http.Server, len(s.listeners))
	for i, l := range s.listeners {
		servers[i] = &http.Server{
			Handler: h, ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, WriteTimeout: answerWithin,
			IdleTimeout: idleWithin, MaxHeaderBytes: headerBytesMax, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		}
		serving.Go(func() {
			if errs[i] = web.Serve(l, servers[i], flags, log); errors.Is(errs[i], http.ErrServerClosed) {
				errs[i] = nil
			}
		})
	}
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		for _, sv := range servers {
			if sv.Shutdown(end) != nil {
				_ = sv.Close() // who has not got an answer by now gets none
			}
		}
	})
	defer stop()
	serving.Wait()
	return errors.Join(errs...)
}
