package relay

import (
	"testing"

	"github.com/sallyport-dev/sallyport"
)

// A URI that the client may not read does not reach the server by way of unsubscribe, one
// that it has subscribed to can be given up, at no cost.
func TestUnsubscribeIsJudged(t *testing.T) {
	g := newRig(t, rigOptions{engine: func(o *sallyport.Options) {
		o.RateLimits = map[string]sallyport.RateLimit{"once": {Rate: 1.0 / 3600, Burst: 1}}
	}, config: `
version: 1
rate_limits:
  once: {rate: 1, per: 1h, burst: 1}
policies:
  p:
    default: allow
    rules:
      - {name: some, effect: allow, resources: ["https://*"]}
      - {name: once, effect: allow, resources: ["file:///ok"], rate_limits: [once]}
`})
	g.client(`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"file:///secret"}}`)
	g.wantError("1", -31403)

	g.client(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"https://never-seen.example/?q=carried"}}`)
	g.wantError("2", -31403) // asked: the destination is not known

	for i, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		f := `{"jsonrpc":"2.0","id":` + string(rune('3'+i)) + `,"method":"` + method + `","params":{"uri":"file:///ok"}}`
		g.client(f)
		g.serverWants(f)
		answer := `{"jsonrpc":"2.0","id":` + string(rune('3'+i)) + `,"result":{}}`
		g.server(answer)
		g.clientWants(answer)
	}
	g.quiet()
}
