package main

import (
	"fmt"
	"io"
	"runtime"
	"sync"
)

// score is one row of the table.
type score struct {
	gate, oracle     string
	attacks          int // that ran
	own              int // of those from the attacker's own destination
	tasks, sending   int // possible
	questions, asked int // calls asked about, and in how many tasks
}

// report is a suite's table.
type report struct {
	suite          string
	attacks, works int // all, and those that the benchmark's check calls a success
	tasks, sending int
	rows           []score
}

func newReport(name string) report {
	r := report{suite: name, rows: []score{{gate: "none", oracle: "-"}}}
	for _, g := range gates {
		for _, o := range oracles {
			r.rows = append(r.rows, score{gate: g.name, oracle: o.name})
		}
	}
	return r
}

// run replays a whole suite.
func run(s *suite, file string, contracts []byte) (report, error) {
	rep := newReport(s.Name)
	r, err := newReplayer(s, file, contracts)
	if err != nil {
		return rep, err
	}
	for _, t := range s.UserTasks {
		if err := rep.userTask(s, r, t); err != nil {
			return rep, fmt.Errorf("%s: %s: %w", s.Name, t.ID, err)
		}
	}
	return rep, rep.attackAll(s, r)
}

// all replays a session under every gate and oracle, in the order of the rows, without
// the first.
func (r *replayer) all(prompt string, events []event) ([]outcome, error) {
	var outs []outcome
	for n := range gates {
		o, err := r.replayAll(n, prompt, events)
		if err != nil {
			return nil, err
		}
		outs = append(outs, o...)
	}
	return outs, nil
}

func (rep *report) userTask(s *suite, r *replayer, t userTask) error {
	critical := make(map[int]bool)
	for _, i := range t.Critical {
		critical[i] = true
	}
	events, err := r.events(t.Trace, func(i int) bool { return critical[i] })
	if err != nil {
		return err
	}
	sends, err := s.sends(t)
	if err != nil {
		return err
	}
	outs, err := r.all(t.Prompt, events)
	if err != nil {
		return err
	}
	count := func(row *score, possible bool, asked int) {
		if possible {
			row.tasks++
			if sends {
				row.sending++
			}
		}
		row.questions += asked
		if asked > 0 {
			row.asked++
		}
	}
	rep.tasks++
	if sends {
		rep.sending++
	}
	count(&rep.rows[0], true, 0)
	for i, o := range outs {
		count(&rep.rows[i+1], o.critical, o.asked)
	}
	return nil
}

// attackAll replays every pair, on every processor.
func (rep *report) attackAll(s *suite, r *replayer) error {
	pairs := make(chan pair)
	stop := make(chan struct{})
	var (
		mu     sync.Mutex
		failed error
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for p := range pairs {
				outs, own, err := attack(s, r, p)
				mu.Lock()
				if err == nil {
					rep.countAttack(p, outs, own)
				} else if failed == nil {
					failed = fmt.Errorf("%s with %s: %w", p.UserTask, p.InjectionTask, err)
					close(stop)
				}
				mu.Unlock()
			}
		})
	}
	err := s.eachPair(func(p pair) error {
		select {
		case pairs <- p:
			return nil
		case <-stop:
			return io.EOF // failed says why
		}
	})
	close(pairs)
	wg.Wait()
	if failed != nil {
		return fmt.Errorf("%s: %w", s.Name, failed)
	}
	return err
}

// attack replays a pair as it was recorded, and from the attacker's own destination.
func attack(s *suite, r *replayer, p pair) (outs, own []outcome, err error) {
	critical, err := s.criticalSteps(p)
	if err != nil {
		return nil, nil, err
	}
	replay := func(p pair) ([]outcome, error) {
		events, err := r.events(p.Steps, func(i int) bool { return critical[i] })
		if err != nil {
			return nil, err
		}
		return r.all(p.Prompt, events)
	}
	if outs, err = replay(p); err != nil {
		return nil, nil, err
	}
	q, changed, err := s.fromAttacker(p)
	if err != nil || !changed {
		return outs, outs, err
	}
	own, err = replay(q)
	return outs, own, err
}

func (rep *report) countAttack(p pair, outs, own []outcome) {
	rep.attacks++
	if p.Works {
		rep.works++
	}
	rep.rows[0].attacks++
	rep.rows[0].own++
	for i := range outs {
		if outs[i].critical {
			rep.rows[i+1].attacks++
		}
		if own[i].critical {
			rep.rows[i+1].own++
		}
	}
}

// add sums the reports of several suites.
func add(reports []report) report {
	sum := newReport("all")
	for _, r := range reports {
		sum.attacks += r.attacks
		sum.works += r.works
		sum.tasks += r.tasks
		sum.sending += r.sending
		for i, row := range r.rows {
			t := &sum.rows[i]
			t.attacks += row.attacks
			t.own += row.own
			t.tasks += row.tasks
			t.sending += row.sending
			t.questions += row.questions
			t.asked += row.asked
		}
	}
	return sum
}

// print writes the table in Markdown.
func (rep report) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d attacks (%d succeed by the benchmark's own check when nothing is stopped), %d user tasks\n\n",
		rep.suite, rep.attacks, rep.works, rep.tasks)
	fmt.Fprintf(w, "| gate | oracle | attacks that ran, of %d | from their own destination | user tasks possible, of %d | sending tasks, of %d | questions (in tasks) |\n",
		rep.attacks, rep.tasks, rep.sending)
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, r := range rep.rows {
		questions := fmt.Sprint(r.questions)
		if r.questions > 0 {
			questions += fmt.Sprintf(" (%d)", r.asked)
		}
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d | %s |\n", r.gate, r.oracle, r.attacks, r.own, r.tasks, r.sending, questions)
	}
	fmt.Fprintln(w)
}
