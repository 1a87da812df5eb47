// Package confine decides whether a path lies inside a set of directory prefixes.
//
// It compares components, never text prefixes, after "." and ".." are collapsed and,
// through a function that the caller supplies, after symbolic links are resolved as
// far as the path exists. It does no I/O itself (package confine/osresolve has the
// resolver for the local file system), and anything it cannot read as one plain
// absolute path is outside.
//
// What it cannot see: a change of the file system between the check and the use, hard
// links, and bind mounts. A relative path is read against a base that the caller
// gives, never against a working directory.
package confine
