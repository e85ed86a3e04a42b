package cloud

import "context"

// eventHubsScope is that of tokens for Event Hubs.
const eventHubsScope = "https://eventhubs.azure.net/.default"

// EventHubsToken returns a token for the event hubs of Azure.
func (e *Exchange) EventHubsToken(ctx context.Context, id identity) (string, error) {
	s, err := e.subjectOf(ctx, id)
	if err != nil {
		return "", aboutIdentity(ctx, s.Identity, err)
	}
	got, err := e.azureToken(ctx, s, eventHubsScope)
	return got.Token, aboutIdentity(ctx, s.Identity, err)
}
