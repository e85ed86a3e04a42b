package configmap

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// textSum identifies the text of a record.
type textSum [sha256.Size]byte

// maxUnanswered is how many texts of a record are remembered of which it is unknown whether the server holds them.
const maxUnanswered = 16

// addUnanswered remembers a text whose write was not answered: the server may hold it, or not. All such writes go out from the same known version, so
// that the server holds one of them at most: as a rule the first, whose answer was lost as the trouble began, or one of the newest, as it
// ends. Those in between are forgotten: if the server does hold one of them, it counts as another writer's, and is read before anything is
// written again.
func (s *Store) addUnanswered(key app.Key, text textSum) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unansweredTexts == nil {
		s.unansweredTexts = map[app.Key][]textSum{}
	}
	all := s.unansweredTexts[key]
	if slices.Contains(all, text) {
		return
	}
	if len(all) == maxUnanswered {
		all = slices.Delete(all, 1, 2)
	}
	s.unansweredTexts[key] = append(all, text)
}

// mayBeStored reports whether a write that has failed may have been carried out: not where the server has refused it.
func mayBeStored(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code := answer.Status().Code
	return code < http.StatusBadRequest || code == http.StatusRequestTimeout || code >= http.StatusInternalServerError
}

// unanswered are the texts of a record that the server may hold besides the one that is known.
func (s *Store) unanswered(key app.Key) []textSum {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unansweredTexts[key])
}

// retryWrite writes once more after the server has refused the version that was known: where it holds nothing but what we have written
// ourselves, the answer to that was lost, or another writer has changed the ConfigMap's metadata. Else the refusal stands.
func (s *Store) retryWrite(ctx context.Context, key app.Key, r signed, refusal error) (*unstructured.Unstructured, error) {
	ours := s.unanswered(key)
	if was := s.lastSeen(key); was.resourceVersion != "" {
		ours = append(ours, was.sum)
	}
	if len(ours) == 0 {
		return nil, refusal
	}
	u, err := s.configMaps(key.Namespace).Get(ctx, configMapName(key), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("%w: read it again: %w", refusal, err)
	}
	have, err := recordText(u)
	if err != nil || !slices.Contains(ours, sha256.Sum256(have)) {
		return nil, refusal
	}
	return s.write(ctx, key, r, u.GetResourceVersion())
}
