package outbox

import (
	"errors"
	"strconv"

	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// termKey is the key of the number of the term in which a process has worked with the file last.
var termKey = []byte("term")

// BeginTerm notes that a process works with the file from now on, in a term of the leader election with that number; a negative one is that of no election. It reports
// whether the file has all that was said before: it has not where it is new, and where another process has worked since, with a file of its own.
func (s *Store) BeginTerm(number int) (complete bool, err error) {
	err = s.Update(func(t *Tx) error {
		complete = t.continues(number)
		var err error
		if !complete {
			err = t.doubt()
		}
		return errors.Join(err, t.tx.Bucket(fileBucket).Put(termKey, []byte(strconv.Itoa(number))))
	})
	return complete, err
}

// continues reports whether the file is of the process before the one of a term. An earlier version has stored no number: where it has stored anything, the file is on a
// volume that outlives a process.
func (t *Tx) continues(number int) bool {
	text := t.tx.Bucket(fileBucket).Get(termKey)
	if text == nil {
		state, _ := t.tx.Bucket(statesBucket).Cursor().First()
		queue, _ := t.tx.Bucket(queuesBucket).Cursor().First()
		return state != nil || queue != nil
	}
	last, err := strconv.Atoi(string(text))
	return err == nil && (number < 0 || last < 0 || last == number-1)
}

// doubt forgets what has ended, of which another process may have said more, and marks the failures that were open: they may have ended, and others may hold in their place.
// What differs is compared with the cluster at the first run of each app: until then nothing is said of it.
func (t *Tx) doubt() error {
	var err error
	for key, s := range t.States("") {
		switch {
		case !s.Open && len(s.Sent) == 0:
			err = errors.Join(err, t.Delete(key))
		case s.Open:
			s.Stale, s.Later, s.Heard = s.Opened.Matter.Kind == matter.Failure, nil, nil
			err = errors.Join(err, t.PutState(key, s))
		}
	}
	return err
}
