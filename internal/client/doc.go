// Package client finds out to which client process this process belongs, so that the wrap
// processes that one client started know each other and those of two clients do not.
//
// It never guesses: what cannot be shown by the system is [ErrUnknown], and the process
// that asked then has a session of its own. It never reads a process's memory,
// environment or arguments, and never goes by a process's name.
//
// # The rule
//
// A client speaks to a server through the server's standard input and output. So the
// client is the nearest ancestor that holds the other end of one of the two, and that did
// not get this end as its own standard input or output.
//
// The second half tells launchers. A program that is there to start another (sh -c, npx,
// uv, env, timeout, a version manager's shim) hands its own standard input on, and has
// therefore the very same end. A launcher may have the other end as well, if the client
// let it leak, or make a pipe of its own for one of the two, to filter what is printed. It
// is passed over as long as the other of the two is handed on. A process that has neither
// end, such as a helper that forks on the client's behalf, is passed over too. How many
// children a process has, when it began, whether it leads a group or a session, and what
// it is called play no part: a client can look like a launcher in all of that (one server,
// started at once, named node), a launcher like a client, and one terminal may have two
// clients in it.
//
// The identity of the client is its process id with what makes that unique: the boot, the
// process namespace and the time at which the process began. A process id that is used
// again is another identity.
//
// # How an end is told
//
// Linux: /proc/PID/fd names pipes and sockets by inode. The two ends of a pipe have one
// inode, and differ in whether they can be read or written (/proc/PID/fdinfo); who holds
// one is looked up there. The ends of a socket pair have two inodes; who made it is what
// SO_PEERCRED says of it. Node.js and programs built on libuv use socket pairs, most
// others pipes.
//
// macOS: the same with proc_info(2), which knows each end of a pipe and its peer by a
// handle, and LOCAL_PEERPID. This part was compiled and not run by its author; a structure
// that is not of the expected size, or a handle of zero, is ErrUnknown.
//
// Windows: a parent's standard handles can be seen only by reading its memory, and a
// parent's process id may have been used again. Windows and all other systems:
// ErrUnknown, always.
//
// # When it is unknown, or wrong
//
//   - Standard input and output are no pipes or sockets: a terminal, files.
//   - The client is no ancestor: a launcher that has ended, a service manager that starts
//     servers for it.
//   - The client is in another process namespace: docker run, bwrap. What a container's
//     processes can see ends at the container.
//   - The client is another user's and does not show its descriptors (sudo), or /proc is
//     mounted so that other processes do not show.
//   - Pipelines: with "tee log | sallyport wrap | tee log" in a shell no ancestor has
//     either of the other ends.
//
// All of these give ErrUnknown. Two things give an identity that is too narrow, so that
// what one server showed is not known at another: a launcher that makes pipes of its own
// for both standard input and output (ssh, script, some sandboxes) is taken for the client,
// for it is what speaks to this process; and a client that starts each server from another
// long-lived process of its own is as many clients. One gives an identity that is too
// wide: a client that runs several agents or windows within one process is one client.
// For these, and for what is unknown, the session has to be named by the user.
//
// A program that runs as the same user can start a server so that it appears as another
// client's, or as nobody's. It could as well start it without any gateway.
package client
