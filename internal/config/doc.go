// Package config reads the configuration file: one YAML document, understood whole or
// refused whole, with every problem listed at once by place.
//
// It turns the file into settings, policies and contracts and applies none of them.
// It must never load a file in part, skip a key, or take the environment from anywhere
// but its caller; it touches the file system only in [ReadFile].
//
// Of the language, flow.profile and flow.party wait and are refused with a message that
// says so: they need labels on outputs.
package config
