package flow

// Copy says how much of a text was copied from output.
type Copy struct {
	Words    int // of the text
	Copied   int // of these lie in runs of five or more that output showed
	Evidence Evidence
}

// Copied finds runs of five words or more in text that stand in recorded output from
// outside.
func (l *Ledger) Copied(string) Copy { return Copy{} }
