package cloud

import "context"

// eventHubsScope is that of tokens for Event Hubs.
const eventHubsScope = "https://eventhubs.azure.net/.default"

// EventHubsToken returns a token for the event hubs of Azure.
func (e *Exchange) EventHubsToken(ctx context.Context, id identity) (string, error) {
	got, err := askAsIdentity(ctx, e, id, func(s subject) (Credential, error) { return e.azureToken(ctx, s, eventHubsScope) })
	return got.Token, err
}
