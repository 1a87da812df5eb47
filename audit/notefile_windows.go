package audit

import (
	"errors"
	"fmt"
	"os"
)

// modesCount: who may use a file is left to access lists.
const modesCount = false

// appendNote appends a checkpoint to a file, which is made if it is not there. A part that was
// written is taken back. durable forces it to the disk.
func appendNote(path string, text []byte, durable bool) error {
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	start, err := noteStart(st.Size(), func(last []byte) (int, error) { return f.ReadAt(last, st.Size()-1) })
	if err != nil {
		return err
	}
	if _, err := f.Write(append(start, text...)); err != nil {
		return errors.Join(err, f.Truncate(st.Size()))
	}
	if durable {
		return f.Sync()
	}
	return nil
}
