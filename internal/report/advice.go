package report

import (
	"strings"

	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// denialAdvice is what to do about a refusal.
func denialAdvice(d *auditread.Denial) string {
	switch d.Check {
	case "flow":
		return flowAdvice(destination(d).Origin)
	case "path":
		return "Find out why the agent wanted to write there."
	case "pattern":
		return "Find out why the agent sent this value."
	case "pin":
		return pinAdvice(d.Reason)
	case "policy":
		return "If the agent needs it, write a rule; if not, nothing is to be done."
	case "budget":
		return "See whether the budget fits the work."
	case "rate":
		return "See whether the rate fits the work."
	case "audit":
		return "The call could not be recorded: see that the log can be written."
	}
	return ""
}

func flowAdvice(origin string) string {
	switch origin {
	case "unknown":
		return "No text that the session showed chose the destination: find out where the agent has it from. If it is right, have the user name it, or trust it."
	case "", "carried", "copied", "secret", "not typed":
		return "Find out what the call was to carry away, and at whose wish: it may be an attempt."
	}
	return "Find who wrote the text that named the destination: it may be an attempt. If it is right, have the user name it, or trust it."
}

// pinAdvice names the command that shows a difference where the gateway named it: only then is
// there one.
func pinAdvice(reason string) string {
	switch {
	case strings.HasPrefix(reason, "the server lists no tool "):
		return "The server does not list it, so there is no difference to see: find out where the agent has the name from."
	case strings.Contains(reason, "sallyport pins diff"):
		return seeDifference
	}
	return "The reason says what is wrong with the server's list."
}

const seeDifference = "See the difference with sallyport pins diff."
