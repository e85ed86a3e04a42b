package git

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestAFlightThatAllHaveLeftTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights
		land := make(chan struct{})
		runs := 0
		slow := func(ctx context.Context) (revision, error) {
			runs++
			select {
			case <-land:
				return revision{commit: "landed"}, nil
			case <-ctx.Done():
				return revision{}, ctx.Err()
			}
		}
		results := make(chan error, 3)
		call := func(ctx context.Context) {
			_, err := f.do(ctx, "key", slow)
			results <- err
		}
		go call(t.Context())
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		go call(ctx) // waits for the next flight
		synctest.Wait()
		leave()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		go call(t.Context()) // comes for the next flight too
		synctest.Wait()
		close(land)
		for range 2 {
			if err := <-results; err != nil {
				t.Errorf("who stayed got %v", err)
			}
		}
		synctest.Wait()
		if runs != 2 || len(f.runs) != 0 {
			t.Errorf("%d runs, %d lanes left", runs, len(f.runs))
		}
	})
}

func TestAFlightThatAllHaveLeftEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights
		ended := false
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			_, _ = f.do(ctx, "key", func(ctx context.Context) (revision, error) {
				<-ctx.Done()
				ended = true
				return revision{}, ctx.Err()
			})
		}()
		synctest.Wait()
		leave()
		synctest.Wait()
		if !ended {
			t.Error("it goes on")
		}
	})
}
