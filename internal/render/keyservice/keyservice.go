// Package keyservice answers: what does a key service of SOPS make of a data key?
//
// In: the address of the service (`sops keyservice` is one), and a data key that a master key of KMS or Vault has encrypted.
// Out: the data key.
// Promise: the service is asked to decrypt and for nothing else, at its own address alone, within a time and a size; an answer is never kept.
// Not here: keys of age and PGP, and files (sops). The protocol is keyservice/keyservice.proto of SOPS, one unary call of gRPC.
package keyservice

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/keys"
)

// Client asks one key service. It may be used concurrently.
type Client struct {
	address string
	http    *http.Client
}

// callTime bounds one call: a service asks the server of a cloud.
const callTime = 30 * time.Second

// NewClient returns a client for an address as SOPS has them: unix:///path of a socket, or tcp://host:port. It does not connect.
func NewClient(address string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errAddress
	}
	network, at := u.Scheme, u.Host
	switch {
	case network == "unix" && u.Host == "" && path.IsAbs(u.Path):
		at = u.Path
	case network == "tcp" && u.Host != "" && u.Port() != "" && strings.Trim(u.Path, "/") == "" && u.User == nil:
	default:
		return nil, errAddress
	}
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	dialer := &net.Dialer{Timeout: callTime}
	transport := &http.Transport{
		Protocols: protocols, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, network, at) },
	}
	return &Client{address: address, http: &http.Client{Transport: transport, Timeout: callTime}}, nil
}

var errAddress = errors.New("want unix:///path/of/socket or tcp://host:port")

const (
	method = "http://sops/KeyService/Decrypt"
	// maxAnswer is far more than a data key, or a message why there is none.
	maxAnswer = 64 << 10
)

// DecryptKey implements keys.Service.
func (c *Client) DecryptKey(ctx context.Context, key keys.Master) ([]byte, error) {
	out, err := c.call(ctx, encodeRequest(key))
	if err != nil {
		return nil, fmt.Errorf("key service %s: %w", c.address, err)
	}
	return out, nil
}

func (c *Client) call(ctx context.Context, message []byte) ([]byte, error) {
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := c.http.Do(request)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // without the address of the method
		}
		return nil, fmt.Errorf("%w; is `sops keyservice` running there?", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(answer) > maxAnswer:
		return nil, errAnswer
	}
	if err := statusOf(response); err != nil {
		return nil, err
	}
	return decodeAnswer(answer)
}

// statusOf is the error that the service answers with; its text is foreign.
func statusOf(r *http.Response) error {
	status, text := r.Trailer.Get("Grpc-Status"), r.Trailer.Get("Grpc-Message")
	if status == "" { // an answer without a body has it in the headers
		status, text = r.Header.Get("Grpc-Status"), r.Header.Get("Grpc-Message")
	}
	const most = 300
	switch status {
	case "0":
		return nil
	case "":
		return fmt.Errorf("HTTP %d without a status of gRPC: this is no key service", r.StatusCode)
	}
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return fmt.Errorf("refused (gRPC status %.3s): %s", status, redact.KnownOf().Line(text, most))
}

// decodeAnswer reads one message, DecryptResponse{plaintext = 1}.
func decodeAnswer(answer []byte) ([]byte, error) {
	const prefix = 5
	if len(answer) < prefix || answer[0] != 0 || int(binary.BigEndian.Uint32(answer[1:])) != len(answer)-prefix {
		return nil, errAnswer
	}
	for rest := answer[prefix:]; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil, errAnswer
		}
		rest = rest[n:]
		if number == 1 && kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(rest)
			if n < 0 {
				return nil, errAnswer
			}
			return bytes.Clone(value), nil
		}
		if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
			return nil, errAnswer
		}
		rest = rest[n:]
	}
	return nil, errAnswer
}

var errAnswer = errors.New("the answer is no data key")

// keyForms are the numbers of the kinds in Key, and the fields of each kind in the order of their numbers; "" is the context.
var keyForms = map[keys.Kind]struct {
	number protowire.Number
	fields []string
}{
	keys.AWS:    {1, []string{"arn", "role", "", "aws_profile"}},
	keys.PGP:    {2, []string{"fp"}},
	keys.GCP:    {3, []string{"resource_id"}},
	keys.Azure:  {4, []string{"vault_url", "name", "version"}},
	keys.Vault:  {5, []string{"vault_address", "engine_path", "key_name"}},
	keys.Age:    {6, []string{"recipient"}},
	keys.Huawei: {7, []string{"key_id"}},
}

// encodeRequest writes DecryptRequest{key = 1, ciphertext = 2}.
func encodeRequest(m keys.Master) []byte {
	form := keyForms[m.Kind]
	var fields []byte
	for i, name := range form.fields {
		number := protowire.Number(i + 1)
		if name == "" {
			fields = appendContext(fields, number, m.Context)
		} else if v := m.Fields[name]; v != "" {
			fields = appendField(fields, number, []byte(v))
		}
	}
	out := appendField(nil, 1, appendField(nil, form.number, fields))
	return appendField(out, 2, []byte(m.Encrypted))
}

func appendContext(b []byte, number protowire.Number, context map[string]string) []byte {
	for _, k := range slices.Sorted(maps.Keys(context)) {
		b = appendField(b, number, appendField(appendField(nil, 1, []byte(k)), 2, []byte(context[k])))
	}
	return b
}

func appendField(b []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
}

var _ keys.Service = (*Client)(nil)
