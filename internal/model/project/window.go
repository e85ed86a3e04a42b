package project

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Window is a time in which apps may be synced, or may not (Argo CD's sync windows).
type Window struct {
	Allows   bool // else it denies
	Schedule string
	Duration time.Duration
	Zone     *time.Location // nil for UTC
	// Apps, Namespaces and Clusters are patterns of what it is about: one of them is enough, or with Every each that is not empty.
	Apps, Namespaces, Clusters []string
	Every                      bool
	Manual                     bool // people may sync all the same
	Starts                     cron.Schedule
}

// ParseSchedule reads the schedule of a window: five fields, as of cron.
func ParseSchedule(text string) (cron.Schedule, error) { return cron.ParseStandard(text) }

// Standing is what the windows of a project say at a time.
type Standing struct {
	Automated, Manual bool   // what may be synced
	Why               string // empty where all may
	// Next is when the windows are to be asked again; zero for never.
	Next time.Time
}

// WindowsFor returns what the windows of a project say about an app. One that denies goes before those that allow; where there are windows that
// allow, one of them must be open.
func (p Project) WindowsFor(m Member, now time.Time) Standing {
	if why := p.unfollowed(); why != "" {
		return Standing{Why: why}
	}
	out := Standing{Automated: true, Manual: true}
	var open, denies, closed windows
	for _, w := range p.Windows {
		if !w.isAbout(m) {
			continue
		}
		isOpen, next := w.at(now)
		if out.Next.IsZero() || next.Before(out.Next) && !next.IsZero() {
			out.Next = next
		}
		switch {
		case isOpen && w.Allows:
			open = append(open, w)
		case isOpen:
			denies = append(denies, w)
		case w.Allows:
			closed = append(closed, w)
		}
	}
	switch {
	case len(denies) > 0:
		out.Automated, out.Manual, out.Why = false, denies.areManual(), p.windowText("denies syncs", denies[0])
	case len(open) == 0 && len(closed) > 0:
		out.Automated, out.Manual, out.Why = false, closed.areManual(), p.windowText("allows syncs, and is closed", closed[0])
	}
	return out
}

func (p Project) windowText(does string, w Window) string {
	return fmt.Sprintf("the sync window %q of AppProject %s (%s) %s", w.Schedule, p.Name, w.Duration, does)
}

type windows []Window

func (all windows) areManual() bool {
	for _, w := range all {
		if !w.Manual {
			return false
		}
	}
	return true
}

// at reports whether a window is open, and when that may change.
func (w Window) at(now time.Time) (open bool, next time.Time) {
	zone := w.Zone
	if zone == nil {
		zone = time.UTC
	}
	began := w.Starts.Next(now.In(zone).Add(-w.Duration))
	if began.IsZero() || began.After(now) {
		return false, began
	}
	return true, began.Add(w.Duration)
}

// isAbout reports whether a window is about an app.
func (w Window) isAbout(m Member) bool {
	any, every := false, true
	for _, by := range []struct {
		patterns []string
		matches  bool
	}{
		{w.Apps, matchesAny(w.Apps, m.Name)},
		{w.Namespaces, matchesAny(w.Namespaces, m.Destination.Namespace)},
		{w.Clusters, matchesAny(w.Clusters, m.Destination.Server) || matchesAny(w.Clusters, m.Destination.Name)},
	} {
		if len(by.patterns) == 0 {
			continue
		}
		any, every = any || by.matches, every && by.matches
	}
	if w.Every {
		return any && every
	}
	return any
}
