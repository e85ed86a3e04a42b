package subscription

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The annotations that subscribe: one for each trigger and service, and a list of all.
const (
	prefix  = "notifications.argoproj.io/subscribe."
	listKey = "notifications.argoproj.io/subscriptions"
)

// Subscription is one recipient of one trigger by one service.
type Subscription struct{ Trigger, Service, Recipient string }

// String names a subscription.
func (s Subscription) String() string {
	return strings.TrimSuffix(s.Trigger+"."+s.Service+":"+s.Recipient, ":")
}

// global is an entry of the key subscriptions: recipients of the messages about all Applications that a selector chooses.
type global struct {
	Recipients []string `json:"recipients"`
	Triggers   []string `json:"triggers"`
	Selector   string   `json:"selector"`

	selector labels.Selector
}

func (c *Config) readGlobal(text string) error {
	var all []global
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return err
	}
	for i := range all {
		var err error
		if all[i].selector, err = labels.Parse(all[i].Selector); err != nil {
			return fmt.Errorf("[%d].selector: %w", i, err)
		}
	}
	c.global = all
	return nil
}

// Subscriber is what subscribes to messages about an Application: itself, by its annotations and labels, and the annotations of its AppProject.
type Subscriber struct{ Annotations, Labels, Project map[string]string }

// Of returns what is subscribed to, in order, each once.
func (c *Config) Of(s Subscriber) []Subscription {
	out := c.annotated(s.Annotations)
	out = append(out, c.annotated(s.Project)...)
	for _, g := range c.global {
		if !g.selector.Matches(labels.Set(s.Labels)) {
			continue
		}
		for _, to := range g.Recipients {
			service, recipient, _ := strings.Cut(to, ":")
			out = append(out, c.each(g.Triggers, service, recipient)...)
		}
	}
	seen := map[Subscription]bool{}
	out = slices.DeleteFunc(out, func(s Subscription) bool {
		known := seen[s]
		seen[s] = true
		return known
	})
	return out[:min(len(out), mostSubscriptions)]
}

// annotated returns what annotations subscribe to.
func (c *Config) annotated(annotations map[string]string) []Subscription {
	var out []Subscription
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if key == listKey {
			out = append(out, c.listed(annotations[key])...)
		}
		rest, ours := strings.CutPrefix(key, prefix)
		if !ours {
			continue
		}
		trigger, name, both := strings.Cut(rest, ".")
		triggers := []string{trigger}
		if !both {
			name, triggers = trigger, nil
		}
		for recipient := range strings.SplitSeq(annotations[key], ";") {
			out = append(out, c.each(triggers, name, strings.TrimSpace(recipient))...)
		}
	}
	return out
}

// listed returns what a list in YAML subscribes to; none for one that cannot be read.
func (c *Config) listed(text string) []Subscription {
	var all []struct {
		Trigger      []string `json:"trigger"`
		Destinations []struct {
			Service    string   `json:"service"`
			Recipients []string `json:"recipients"`
		} `json:"destinations"`
	}
	if len(text) > longestText || yaml.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	var out []Subscription
	for _, s := range all {
		for _, d := range s.Destinations {
			for _, to := range d.Recipients {
				out = append(out, c.each(s.Trigger, d.Service, to)...)
			}
			if len(d.Recipients) == 0 {
				out = append(out, c.each(s.Trigger, d.Service, "")...)
			}
		}
	}
	return out
}

// each returns a subscription to each trigger; without any, to the default ones of the service, or of all.
func (c *Config) each(triggers []string, service, recipient string) []Subscription {
	if len(triggers) == 0 {
		if triggers = c.ofService[service]; triggers == nil {
			triggers = c.defaults
		}
	}
	var out []Subscription
	for _, t := range triggers {
		out = append(out, Subscription{t, service, recipient})
	}
	return out
}

// Has reports whether annotations subscribe to anything.
func Has(annotations map[string]string) bool {
	for key := range annotations {
		if key == listKey || strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// NamesTime reports whether a condition of the triggers names the time, so that it may hold later although nothing changes.
func (c *Config) NamesTime(all []Subscription) bool {
	return slices.ContainsFunc(all, func(s Subscription) bool {
		return slices.ContainsFunc(c.triggers[s.Trigger], func(c condition) bool { return strings.Contains(c.When+c.OncePer, "time.Now") })
	})
}
