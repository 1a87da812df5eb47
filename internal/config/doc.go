// Package config reads the configuration file: one YAML document, understood whole or
// refused whole, with every problem listed at once by place.
//
// It turns the file into settings, policies and contracts and applies none of them.
// It must never load a file in part, skip a key, or take the environment from anywhere
// but its caller; it touches the file system only in [ReadFile].
package config
