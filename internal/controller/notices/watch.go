package notices

import (
	"context"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

func (o *Outlet) onProvider(ev live.Event) {
	key := route.Key{Namespace: ev.ID.Namespace, Name: ev.ID.Name}
	o.mu.Lock()
	was, known := o.providers[key]
	if ev.Gone {
		delete(o.providers, key)
		delete(o.wrote, objectKey{registry.Providers.Kind, key})
	} else {
		next := providerEntry{cr: ev.Object, provider: o.Dialect.Provider(ev.Object)}
		if known && was.cr.Generation() == ev.Object.Generation() {
			next.failing = was.failing
		}
		o.resumed = o.resumed || next.sends() && (!known || !was.sends())
		o.providers[key] = next
		o.changed[objectKey{registry.Providers.Kind, key}] = true
	}
	if !known || ev.Gone {
		o.changeAlertsOf(key)
	}
	o.mu.Unlock()
	signalChange(o.dirty)
	signalChange(o.come)
	if ev.Gone || was.cr.Generation() != ev.Object.Generation() {
		o.rotations.end(key)
	}
	if !known || ev.Gone || was.cr.Generation() != ev.Object.Generation() {
		o.deliverer.WakeChanged(key) // what an earlier process has left, or what failed before the change
	}
}

// changeAlertsOf has the statuses of the Alerts be written that name a Provider: they say whether it is there. The caller holds mu.
func (o *Outlet) changeAlertsOf(provider route.Key) {
	for alert, a := range o.alerts {
		if a.alert.Provider == provider.Name && alert.Namespace == provider.Namespace {
			o.changed[objectKey{registry.Alerts.Kind, alert}] = true
		}
	}
}

func (o *Outlet) onAlert(ev live.Event) {
	key := route.Key{Namespace: ev.ID.Namespace, Name: ev.ID.Name}
	o.mu.Lock()
	was, known := o.alerts[key]
	if ev.Gone {
		delete(o.alerts, key)
		delete(o.wrote, objectKey{registry.Alerts.Kind, key})
		o.resumed = true // nothing waits for it any more
	} else {
		next := alertEntry{cr: ev.Object, alert: o.Dialect.Alert(ev.Object)}
		o.resumed = o.resumed || !next.alert.Suspended && (!known || was.alert.Suspended || was.cr.Generation() != ev.Object.Generation())
		o.alerts[key] = next
		o.changed[objectKey{registry.Alerts.Kind, key}] = true
	}
	o.mu.Unlock()
	signalChange(o.dirty)
	signalChange(o.come)
}

// Provider implements deliver.Providers. Secrets are read with the controller's own account, in the Provider's namespace alone.
func (o *Outlet) Provider(ctx context.Context, key route.Key) (deliver.Loaded, bool, error) {
	if _, _, is := recipientOf(key); is {
		out, there, err := o.subscribers.provider(ctx, o.Live, key)
		o.rotations.noteRead(key, out.versions)
		return out.Loaded, there, err
	}
	o.mu.Lock()
	e, there := o.providers[key]
	o.mu.Unlock()
	if !there {
		return deliver.Loaded{}, false, nil
	}
	out, versions, err := loadProvider(ctx, o.Live, e.provider)
	o.rotations.noteRead(key, versions)
	return out, true, err
}

// OnIdle implements deliver.Providers: a recipient of Argo CD's for whom nothing waits makes room for another one.
func (o *Outlet) OnIdle(key route.Key) {
	if _, _, is := recipientOf(key); is {
		o.rotations.end(key)
		o.subscribers.release(key)
	}
}

// OnDelivery implements deliver.Providers.
func (o *Outlet) OnDelivery(key route.Key, err error) {
	if err == nil {
		o.rotations.end(key)
	} else {
		o.rotations.begin(key)
	}
	if _, _, is := recipientOf(key); is {
		if o.subscribers.delivered(key, err) {
			o.changeStatus(o.subscribers.configKey())
		}
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e, there := o.providers[key]
	if !there {
		return
	}
	failing := ""
	if err != nil {
		failing = err.Error()
	}
	if e.failing == failing {
		return
	}
	o.resumed = o.resumed || err == nil // what has waited for more than a day was dropped
	e.failing = failing
	o.providers[key] = e
	o.changed[objectKey{registry.Providers.Kind, key}] = true
	signalChange(o.dirty)
	signalChange(o.come)
}
