package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// stateEnd is added to a log's name for the file in which its processes keep the tree between
// them: so each record is hashed once, whichever of them signs, and a start reads only what came
// after the last checkpoint. It is no evidence. A state that does not fit the log is not used,
// and one that is gone is made anew from the log.
const stateEnd = ".tree"

const maxState = 16 << 10 // bytes; 53 hashes take less than 4 KiB

// treeState is the tree of the last checkpoint.
type treeState struct {
	treePlace
	written time.Time
}

type storedState struct {
	Version int       `json:"version"`
	Seq     uint64    `json:"seq"`
	Hash    string    `json:"hash"`
	File    uint64    `json:"file"`
	Offset  int64     `json:"offset"`
	Written time.Time `json:"written"`
	Tree    []string  `json:"tree"`
}

var errState = errors.New("audit: the tree's state cannot be read")

// readState reads the state; the file's lock is held.
func readState(f *os.File) (s treeState, err error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxState+1))
	if err != nil {
		return s, err
	}
	line, digest, ok := bytes.Cut(text, []byte("\n"))
	own := sha256.Sum256(line)
	if len(text) > maxState || !ok || string(digest) != hex.EncodeToString(own[:])+"\n" {
		return s, errState // never written, or torn
	}
	var stored storedState
	if err := json.Unmarshal(line, &stored); err != nil || stored.Version != 1 || len(stored.Hash) != digits ||
		stored.File < 1 || stored.Offset < 0 || stored.File > maxSeq {
		return s, errState
	}
	copy(s.hash[:], stored.Hash)
	hashes := make([]tlog.Hash, len(stored.Tree))
	for i, t := range stored.Tree {
		if len(t) != digits {
			return s, errState
		}
		if _, err := hex.Decode(hashes[i][:], []byte(t)); err != nil {
			return s, errState
		}
	}
	if s.edge, err = edgeOf(stored.Seq, hashes); err != nil || !s.hash.valid() {
		return s, errState
	}
	s.file, s.offset, s.written = stored.File, stored.Offset, stored.Written
	return s, nil
}

// writeState replaces the state; the file's lock is held. A crash in between leaves one that
// has not its digest.
func writeState(f *os.File, s *treeState) error {
	stored := storedState{
		Version: 1, Seq: uint64(s.n), Hash: string(s.hash[:]), File: s.file, Offset: s.offset, Written: s.written.UTC(),
	}
	for _, h := range s.hashes() {
		stored.Tree = append(stored.Tree, hex.EncodeToString(h[:]))
	}
	line, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	own := sha256.Sum256(line)
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.Write(fmt.Appendf(line, "\n%x\n", own))
	return err
}
