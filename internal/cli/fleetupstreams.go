package cli

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// kept is an upstream and what it was made from. One that a reload does not change keeps
// its conversations.
type kept struct {
	from *config.Upstream
	gateway.Upstream
}

// addUpstreams makes those that are new or changed, and takes the others over.
func (f *fleet) addUpstreams(o fleetOptions) (err error) {
	defer func() {
		if err != nil {
			f.closeNew(o.before)
		}
	}()
	store, err := pinStore(f.own)
	if err != nil {
		return err
	}
	for _, u := range f.cfg.Upstreams {
		k := kept{from: u, Upstream: gateway.Upstream{Name: u.Name, Shared: u.Shared}}
		if o.before != nil {
			if b, ok := o.before.kept[u.Name]; ok && sameServer(b.from, u, o.before.timeout(b.from), f.timeout(u)) {
				k.Server = b.Server
			}
		}
		pinned := pins.URL(u.URL)
		if u.Transport == config.Stdio {
			pinned = pins.Command(command(u))
		}
		if k.Pins, err = store.Book(pinned, u.Name); err != nil {
			return err
		}
		if k.Server == nil {
			if k.Server, err = upstream.New(f.upstreamOptions(u, o)); err != nil {
				return fmt.Errorf("%s: the upstream %s: %w", u.Source, u.Name, err)
			}
		}
		f.kept[u.Name] = k
		f.options.Upstreams = append(f.options.Upstreams, k.Upstream)
	}
	return nil
}

func command(u *config.Upstream) []string { return append([]string{u.Command}, u.Args...) }

func (f *fleet) timeout(u *config.Upstream) time.Duration {
	return cmp.Or(u.Timeout, f.cfg.Server.UpstreamTimeout)
}

// sameServer reports that nothing differs that a conversation depends on. What a variable
// brings in counts, and so does what the gateway's own environment does.
func sameServer(a, b *config.Upstream, timeoutA, timeoutB time.Duration) bool {
	x, y := *a, *b
	x.Source, y.Source, x.Timeout, y.Timeout = "", "", timeoutA, timeoutB
	return reflect.DeepEqual(x, y)
}

// defaultIdle is after how long without a message a conversation with an upstream ends.
const defaultIdle = 15 * time.Minute

func (f *fleet) upstreamOptions(u *config.Upstream, o fleetOptions) upstream.Options {
	opt := upstream.Options{
		Name: u.Name, Timeout: f.timeout(u), StartTimeout: u.StartTimeout, Idle: cmp.Or(u.Idle, defaultIdle), MaxConns: u.MaxSessions,
		MaxMessage: o.maxMessage, Log: o.log,
	}
	if u.Transport == config.HTTP {
		opt.URL, opt.CAFile, opt.Header = u.URL, u.CAFile, http.Header{}
		for _, h := range u.Headers {
			opt.Header.Set(h.Name, h.Value)
		}
		return opt
	}
	opt.Command, opt.Args, opt.Dir = u.Command, u.Args, u.Cwd
	opt.Env = []string{} // not nil: that would be everything
	for _, name := range u.InheritEnv {
		if v, ok := os.LookupEnv(name); ok {
			opt.Env = append(opt.Env, name+"="+v)
		}
	}
	for _, s := range u.Env {
		opt.Env = append(opt.Env, s.Name+"="+s.Value)
	}
	return opt
}

// closeNew ends the upstreams that a fleet does not share with the one before: it is given
// up, or the other one is.
func (f *fleet) closeNew(before *fleet) {
	for name, k := range f.kept {
		if before == nil || before.kept[name].Server != k.Server {
			closeServer(k.Server)
		}
	}
}
