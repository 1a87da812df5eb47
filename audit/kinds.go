package audit

import "slices"

// kindsOfCredentials are tried in this order where two begin alike.
var kindsOfCredentials = func() []kind {
	all := []kind{
		{[]string{"--"}, privateKey},
		{[]string{"eyJ"[:2]}, webToken},
		{[]string{"Be", "be", "BE"}, bearer},
		{[]string{"Ba", "ba", "BA"}, basic},
		{[]string{"Q~"}, azureSecret},
		{[]string{"//"}, userinfo},
		{[]string{"@t", "@u"}, driverDSN},
		{pairs("0123456789", "0123456789"), card},
		{pairs(every(), "=:"), given},
	}
	for i := range shapes {
		s := &shapes[i]
		all = append(all, kind{[]string{s.start[:2]}, s.find})
	}
	return slices.Clip(all)
}()

func pairs(first, second string) (all []string) {
	for i := range len(first) {
		for k := range len(second) {
			all = append(all, string([]byte{first[i], second[k]}))
		}
	}
	return all
}

// every is what can stand before = or : after a name.
func every() string {
	var b []byte
	for c := range 256 {
		if is(byte(c), inToken) || c == ' ' || c == '"' || c == '\'' {
			b = append(b, byte(c))
		}
	}
	return string(b)
}
