// Package bridge makes a server of one era speak to a client of the other, and adapts what a
// server asks to the protocol version of its client.
//
// [Handshake] stands before a stateless server (2026-07-28) for a client that began with
// initialize; [Stateless] stands before a server that began with initialize for a client of
// 2026-07-28. Each is a conversation like the one that it wraps, so that whoever judges and
// records sees what the client will see. [ForClient] serves clients of the handshake era
// whatever their server speaks. docs/protocol.md has what becomes of what, in a table.
//
// The package must never do I/O but by the conversation that it wraps, touch bytes that the
// other era reads as they are, ask a client what it did not declare, let one request's
// answer reach another, or keep anything without a bound in number and time.
//
// # What cannot be carried
//
// A handshake client on a stateless server is answered with an error for:
//
//   - server/discover and subscriptions/listen (-32601): they are of the other era;
//   - tasks/get, tasks/result, tasks/list, tasks/cancel and tasks/update (-32601): its tools/call
//     loses the wish for a task (params.task), as for a server that declares none. A call that
//     the server only runs as a task is waited for by the bridge;
//   - logging/setLevel where the server has no logging (-32601), or with no level (-32602);
//   - resources/subscribe where the server has no subscriptions (-32601), does not take this one,
//     or there are too many (-32602);
//   - a call (-32603) during which the server wants input that the client did not declare or
//     its version does not have, before notifications/initialized, in more than [MaxRounds]
//     rounds or 16 questions at once; whose question the client answers with an error, which
//     no inputResponse can say; that is answered with input_required where the protocol has
//     no such answer; or with a kind of result that was not asked for.
//
// A stateless client on a handshake server is answered with an error for:
//
//   - initialize, ping, logging/setLevel, resources/subscribe, resources/unsubscribe and all
//     of tasks/* (-32601);
//   - a log level that is none (-32602);
//   - a requestState that is unknown, used, expired after [ParkFor], or of another request,
//     and inputResponses that are not objects (-32602);
//   - subscriptions/listen for tasks by who does not declare them (-32021); tasks are otherwise
//     left out of what is acknowledged;
//   - a call whose server wants a page opened (-32042) where the client does not declare
//     elicitation by URL (-32021), or did not open it (-32603);
//   - a result that is no object (-32603).
//
// A handshake server is answered with an error for a question
//
//   - that the client's request does not declare, roots among them always (-32601, -32602);
//   - during a request that cannot be interrupted: all but tools/call, prompts/get and
//     resources/read (-32600);
//   - that came beside all requests while none or several were open (-32600);
//   - beyond 16 open at once, 8 rounds, or 64 calls parked in one conversation (-32603);
//   - whose call is over (-32603).
//
// A stateless server is answered with an error for any request (-32600), ping apart.
//
// # What is dropped
//
// For a stateless server: notifications/roots/list_changed, and progress from the client. For a
// stateless client: notifications/elicitation/complete, notifications/tasks/status, changes that
// nobody listens for, log messages that no open request wants, progress that no open
// request asked for. For a handshake client: notifications/tasks, logs beside requests.
package bridge
