package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/exit"
)

// interruptedError says that a signal has ended a command, and what is so all the same; "" for nothing.
type interruptedError struct{ still string }

// Error returns the sentence.
func (e interruptedError) Error() string {
	if e.still == "" {
		return "interrupted"
	}
	return "interrupted: " + e.still
}

// Unwrap returns what a context says after a signal.
func (interruptedError) Unwrap() error { return context.Canceled }

// controllerGoesOn adds to the end of a wait by a signal what the controller goes on with: it was requested, and no signal to the command ends that.
func controllerGoesOn(err error, what string) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return interruptedError{"the controller goes on with " + what}
}

// afterSignal is the error of a command, where a signal has ended it: the cluster has not failed.
func afterSignal(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	var interrupted interruptedError
	errors.As(err, &interrupted)
	return &exit.Error{Code: exit.Interrupted, Err: interrupted}
}

// ask asks the person at the terminal; any answer but yes is an error with that text. A signal ends the question, too.
func (p *program) ask(ctx context.Context, question, refused string) error {
	fmt.Fprintf(p.env.Err, "%s [y/n] ", question)
	in, answers := bufio.NewReader(p.env.In), make(chan string, 1)
	go func() { // a read of a terminal cannot be ended: after a signal it ends with the process
		line, err := in.ReadString('\n')
		if err != nil {
			line = ""
		}
		answers <- line
	}()
	select {
	case line := <-answers:
		if a := strings.ToLower(strings.TrimSpace(line)); a != "y" && a != "yes" {
			return &exit.Error{Code: exit.Differs, Err: errors.New(refused)}
		}
		return nil
	case <-ctx.Done():
		p.open = true
		return interruptedError{refused}
	}
}
