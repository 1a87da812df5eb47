package cli

import "github.com/sallyport-dev/sallyport/internal/serve"

// metrics are the counts of a gateway since it was started.
func (r *running) metrics() []serve.Metric {
	if r.record == nil {
		return nil
	}
	s := r.record.Stats()
	var failing uint64
	if s.Failing {
		failing = 1
	}
	all := []serve.Metric{
		{Name: "sallyport_audit_failing", Help: "1 if the last record could not be written: calls are refused, unless audit.on_failure says otherwise.", Gauge: true, Value: failing},
		{Name: "sallyport_audit_records_total", Help: "Records written.", Value: s.Records},
		{Name: "sallyport_audit_failures_total", Help: "Records that could not be written.", Value: s.Failures},
		{Name: "sallyport_audit_syncs_total", Help: "Times that the log was forced to the disk.", Value: s.Syncs},
		{Name: "sallyport_audit_rotations_total", Help: "Rotations of the log.", Value: s.Rotations},
		{Name: "sallyport_audit_checkpoints_total", Help: "Checkpoints written.", Value: s.Checkpoints},
		{Name: "sallyport_audit_checkpoint_failures_total", Help: "Checkpoints that could not be written.", Value: s.CheckpointFailures},
	}
	for _, v := range []string{"allow", "ask", "deny"} {
		all = append(all, serve.Metric{Name: "sallyport_verdicts_total", Help: "Verdicts on calls that were recorded.", Label: `verdict="` + v + `"`, Value: s.Verdicts[v]})
	}
	return all
}
