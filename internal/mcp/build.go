package mcp

import "strconv"

// Said is what every text begins with that the gateway itself says to a client, a model or a
// server: nobody takes it for another's.
const Said = "[sallyport] "

// ErrorResponse builds an error response. A zero id gives "id":null. data is raw JSON
// and may be nil.
func ErrorResponse(id ID, code int, message string, data []byte) []byte {
	b := openMessage(len(message)+len(data), id)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = appendString(b, message)
	if data != nil {
		b = append(b, `,"data":`...)
		b = append(b, data...)
	}
	return append(b, "}}"...)
}

// ToolRefusal builds the result of a refused tools/call (isError true), with one text
// block and the decision, raw JSON, under _meta["io.sallyport/decision"]; no _meta if it
// is nil. resultType "complete" is added when modern, that is, from 2026-07-28.
func ToolRefusal(id ID, text string, decision []byte, modern bool) []byte {
	b := openMessage(len(text)+len(decision)+128, id)
	b = append(b, `,"result":{`...)
	if modern {
		b = append(b, `"resultType":"complete",`...)
	}
	b = append(b, `"content":[{"type":"text","text":`...)
	b = appendString(b, text)
	b = append(b, `}],"isError":true`...)
	if decision != nil {
		b = append(b, `,"_meta":{"`+ReservedPrefix+`decision":`...)
		b = append(b, decision...)
		b = append(b, '}')
	}
	return append(b, "}}"...)
}

// NewRequest builds a request of the gateway's own. params is a raw object and may be
// nil.
func NewRequest(id ID, method string, params []byte) []byte {
	b := openMessage(len(method)+len(params), id)
	return closeMethod(b, method, params)
}

// NewNotification builds a notification of the gateway's own. params is a raw object
// and may be nil.
func NewNotification(method string, params []byte) []byte {
	b := make([]byte, 0, 48+len(method)+len(params))
	b = append(b, `{"jsonrpc":"2.0"`...)
	return closeMethod(b, method, params)
}

// openMessage begins a message that has an id.
func openMessage(size int, id ID) []byte {
	b := make([]byte, 0, size+len(id.raw)+96)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id.IsZero() {
		return append(b, "null"...)
	}
	return append(b, id.raw...)
}

func closeMethod(b []byte, method string, params []byte) []byte {
	b = append(b, `,"method":`...)
	b = appendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, '}')
}
