// Package config reads the configuration file: one YAML document, understood whole or
// refused whole, with every problem listed at once by place.
//
// It turns the file into settings, policies and contracts and applies none of them.
// It must never load a file in part, skip a key, or take the environment from anywhere
// but its caller; it touches the file system only in [ReadFile].
//
// Of the language, these keys wait and are refused with a message that says so:
//
//   - server, upstreams, tokens, rate_limits: they need the gateway in front of several
//     servers; this version wraps one;
//   - flow.profile, flow.party: they need labels on outputs;
//   - in policies: a rule's when and rate_limits, a policy's mode, hide_denied_tools,
//     hide_denied_resources, hide_denied_prompts.
package config
