// Package strictyaml reads one YAML document for a loader that must understand all of
// it: nodes with places, strict types, known keys only, and every problem listed at
// once as file:line:column.
//
// It must never skip a key, guess a type, resolve more aliases than its limits allow,
// or touch the file system.
package strictyaml
