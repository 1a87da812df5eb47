package streamhttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Defaults of ClientOptions.
const (
	DefaultMaxMessage    = 64 << 20 // bytes
	DefaultHeaderTimeout = 5 * time.Minute
	DefaultIdleTimeout   = 5 * time.Minute
	DefaultRetryDelay    = time.Second
)

const (
	maxRetry       = 10 * time.Minute // a server that wants to be left alone for longer is given up
	maxBackoff     = 30 * time.Second
	maxResumes     = 5 // reconnections in a row that bring nothing
	maxHeaderBytes = 64 << 10
	maxSessionID   = 1 << 10
	drainTime      = time.Second // for the end of a stream whose answer is there
)

// ClientOptions configure a Client. Zero fields mean the defaults.
type ClientOptions struct {
	// URL is the MCP endpoint: http or https, without user name, password and fragment.
	URL string
	// Header is sent with every request. Names that the transport or HTTP itself needs are
	// an error.
	Header http.Header
	// CAFile names a PEM file of certificates that are trusted besides the system's.
	CAFile string
	// Proxy chooses a proxy; nil reads the environment (HTTPS_PROXY, NO_PROXY, …).
	Proxy func(*http.Request) (*url.URL, error)
	// MaxMessage is the limit of one message from the server, in bytes.
	MaxMessage int
	// HeaderTimeout is how long the answer's header may take. A server that answers with
	// JSON works for that long, so it is the limit of such a call.
	HeaderTimeout time.Duration
	// IdleTimeout is how long a stream may bring not even a comment, and a JSON body not a
	// byte. Streams have no other limit: that is the caller's context.
	IdleTimeout time.Duration
	// RetryDelay is the time before a stream is resumed when the server names none; it
	// doubles with each attempt that brings nothing.
	RetryDelay time.Duration
	// Log gets what is dropped. nil: nothing.
	Log *slog.Logger
	// Refused is called with what the server sent beside the answers and is no valid message,
	// a request with a readable id among it: somebody may wait for an answer. May be nil.
	Refused func(*mcp.ParseError)
}

// Client is one connection to an MCP server, and at most one session. Safe for concurrent
// use.
type Client struct {
	opt       ClientOptions
	url       *url.URL
	transport *http.Transport
	log       *slog.Logger

	base    context.Context // ends with Close
	stop    context.CancelCauseFunc
	running sync.WaitGroup // goroutines that outlive a call

	mu      sync.Mutex
	version string
	session string
	events  *eventSession // not nil: the server speaks HTTP+SSE
}

// forbidden are the headers that a configuration may not set: those of the connection
// (RFC 9110, sections 7.6 and 8), those that say how a body is read, and those of MCP.
var forbidden = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie2", "Expect",
	"Host", "Http2-Settings", "Keep-Alive", "Last-Event-Id", "Origin", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// NewClient checks the options and returns a client. It does not connect.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := endpoint(o.URL)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, values := range o.Header {
		if err := checkHeader(name, values); err != nil {
			return nil, err
		}
		header[http.CanonicalHeaderKey(name)] = append(header[http.CanonicalHeaderKey(name)], values...)
	}
	o.Header = header
	roots, err := trusted(o.CAFile)
	if err != nil {
		return nil, err
	}
	defaults(&o)
	c := &Client{opt: o, url: u, log: o.Log, transport: newTransport(o.Proxy, roots)}
	c.base, c.stop = context.WithCancelCause(context.Background())
	return c, nil
}

func defaults(o *ClientOptions) {
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.HeaderTimeout <= 0 {
		o.HeaderTimeout = DefaultHeaderTimeout
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	if o.RetryDelay <= 0 {
		o.RetryDelay = DefaultRetryDelay
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

func endpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("the URL cannot be read") // url.Error quotes it, with what is secret in it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return nil, errors.New("the URL must begin with http:// or https:// and name a host")
	case u.User != nil:
		return nil, errors.New("the URL holds a user name or password: use a header")
	case u.Fragment != "":
		return nil, errors.New("the URL has a fragment, which no server sees")
	}
	return u, nil
}

func checkHeader(name string, values []string) error {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	if !isToken(name) {
		return errors.New("a header name has characters that HTTP does not allow")
	}
	for _, f := range forbidden {
		if canonical == f {
			return fmt.Errorf("the header %s is the transport's own", canonical)
		}
	}
	if strings.HasPrefix(canonical, "Mcp-") {
		return fmt.Errorf("the header %s is the transport's own", canonical)
	}
	for _, v := range values {
		if strings.IndexFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) >= 0 {
			return fmt.Errorf("the value of header %s has control characters", canonical)
		}
	}
	return nil
}

// isToken reports whether s is a field name (RFC 9110, section 5.1).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// trusted returns the system's certificates and those of the file; nil without a file.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("the certificate file holds no certificate")
	}
	return pool, nil
}

func newTransport(proxy func(*http.Request) (*url.URL, error), roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConns:           128,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // a compressed stream waits for its compressor
		ExpectContinueTimeout:  time.Second,
	}
}

// SetVersion tells the protocol version that initialize negotiated. From then on it is
// sent with each request whose _meta names none.
func (c *Client) SetVersion(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
}

// SessionID returns the id that the server gave to the session, "" if there is none. It
// is as secret as a password.
func (c *Client) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Close ends the session at the server, if there is one, and everything that is open.
// Calls that still run get ErrClosed. It returns when its goroutines have ended.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	session, version := c.session, c.version
	c.session = ""
	c.mu.Unlock()
	var err error
	if session != "" && c.base.Err() == nil {
		err = c.delete(ctx, session, version)
	}
	c.mu.Lock() // whoever starts a goroutine looks at base under it
	c.stop(ErrClosed)
	c.mu.Unlock()
	c.running.Wait()
	c.transport.CloseIdleConnections()
	return err
}

// delete ends a session (2025-11-25, "Session Management", 5). A server may refuse.
func (c *Client) delete(ctx context.Context, session, version string) error {
	s := c.begin(ctx, c.opt.HeaderTimeout)
	defer s.end()
	h := c.header("", version, session)
	resp, err := c.roundTrip(s, http.MethodDelete, c.url, h, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode < 300, resp.StatusCode == http.StatusMethodNotAllowed, resp.StatusCode == http.StatusNotFound:
		return nil
	}
	return statusError(resp)
}
