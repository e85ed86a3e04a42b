package deliver

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// publish gives one message to a NATS server, and waits until the server has read it.
func (d *Deliverer) publish(ctx context.Context, p Loaded, t payload.Target, q payload.Request) error {
	known := secretsOf(p, t, q.URL)
	u, err := url.Parse(q.URL)
	if err != nil {
		return &sendError{text: "the address is malformed"}
	}
	failure := func(err error) error {
		final := errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrBadSubject)
		return &sendError{text: known.Line(u.Host+": "+err.Error(), 2*longestSaying), final: final}
	}
	if proxy, err := proxyOf(p); err != nil || proxy != "" {
		return &sendError{text: "NATS goes by no proxy: remove spec.proxySecretRef"}
	}
	options := nats.GetDefaultOptions()
	options.Url, options.Name, options.Timeout = q.URL, "truce", p.Timeout
	options.AllowReconnect, options.IgnoreDiscoveredServers, options.SkipHostLookup = false, true, true
	if err := setNATSLogin(&options, p, t); err != nil {
		return err
	}
	options.CustomDialer = natsDialer{ctx, transport.Dialer{Servers: d.Servers}}
	options.AsyncErrorCB = ignoredErrors
	if options.TLSConfig, err = transport.TLSConfig(certificatesOf(p)); err != nil {
		return failure(err)
	}
	options.TLSConfig.ServerName = u.Hostname()
	options.Secure = u.Scheme == "tls" || len(p.CertificateData) > 0
	conn, err := options.Connect()
	if err != nil {
		return failure(endCause(ctx, err))
	}
	defer conn.Close()
	if err := conn.Publish(q.Subject, q.Body); err != nil {
		return failure(err)
	}
	if err := conn.FlushWithContext(ctx); err != nil {
		return failure(endCause(ctx, err))
	}
	if err := conn.LastError(); err != nil { // a subject that the user may not publish on
		return failure(err)
	}
	return nil
}

// setNATSLogin sets what the connection shows: user credentials or an nkey before a password, as in Flux.
func setNATSLogin(o *nats.Options, p Loaded, t payload.Target) error {
	creds, seed := p.SecretData["creds"], bytes.TrimSpace(p.SecretData["nkey"])
	switch {
	case len(bytes.TrimSpace(creds)) > 0:
		_, err := nkeys.ParseDecoratedUserNKey(creds)
		token, noToken := nkeys.ParseDecoratedJWT(creds)
		if err != nil || noToken != nil || strings.Count(token, ".") != 2 { // a seed alone would be sent as the JWT. Their words could quote the key
			return &sendError{text: "the key creds of its Secret holds no user credentials: want a .creds file, with a JWT and the seed of a user"}
		}
		return nats.UserCredentialBytes(creds)(o)
	case len(seed) > 0:
		pair, err := nkeys.FromSeed(seed)
		if err != nil {
			return &sendError{text: "the key nkey of its Secret is no seed of an nkey"}
		}
		public, err := pair.PublicKey()
		if err != nil {
			return &sendError{text: "the key nkey of its Secret has no public key"}
		}
		return nats.Nkey(public, pair.Sign)(o)
	}
	o.User, o.Password, o.Token = t.Login, t.Password, t.Token
	return nil
}

// ignoredErrors keeps the client from printing what LastError returns.
func ignoredErrors(*nats.Conn, *nats.Subscription, error) {}

// endCause is why something ended: the time that it had, where that is over.
func endCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// natsDialer connects to servers that may be reached.
type natsDialer struct {
	ctx     context.Context // of the one message that the connection is for
	servers transport.Dialer
}

// Dial implements nats.CustomDialer.
func (n natsDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := n.servers.DialContext(n.ctx, network, address)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "dial "))
	}
	context.AfterFunc(n.ctx, func() { _ = conn.Close() })
	return &boundedConn{Conn: conn, left: mostFromServer}, nil
}
