// Package auditread reads audit logs for people: what was decided, over a whole log
// ([Summarize]), and what single records say.
//
// Whatever a log holds is hostile: who can write its file, or make calls, chooses texts in
// it. The package bounds what it keeps of it, and never takes the texts that it returns
// for safe: they are decoded, as they were before the log escaped them, and whoever shows
// them escapes them again. It never judges whether a log is as it was written; that is
// [audit.VerifyFile]. Lines that are no record are counted, placed and passed over.
package auditread
