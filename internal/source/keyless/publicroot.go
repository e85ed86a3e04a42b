package keyless

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"
	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// Mirror is a TUF repository that publishes a trusted root. The zero value is that of Sigstore's public instance.
type Mirror struct {
	URL  string
	Root []byte // the root.json that is trusted at first
}

// PublicRoot fetches the newest trusted root of a mirror. Each of its signatures is verified, from the root.json that is trusted at first; nothing is written
// to the disk.
func PublicRoot(ctx context.Context, client *http.Client, m Mirror) ([]byte, error) {
	if m.URL == "" {
		m = Mirror{URL: tuf.DefaultMirror, Root: tuf.DefaultRoot()}
	}
	c, err := tuf.New(&tuf.Options{
		Root: m.Root, RepositoryBaseURL: m.URL, DisableLocalCache: true, Fetcher: &download{ctx, client},
	})
	if err != nil {
		return nil, fmt.Errorf("fetch the trusted root of %s by TUF: %w", m.URL, err)
	}
	out, err := c.GetTarget("trusted_root.json")
	if err != nil {
		return nil, fmt.Errorf("fetch the trusted root of %s by TUF: %w", m.URL, err)
	}
	return out, nil
}

// download is the fetcher of a TUF client, for the time of one call: the library has no way to give it the context.
type download struct {
	ctx    context.Context
	client *http.Client
}

// DownloadFile reads a file of at most so many bytes.
func (d *download) DownloadFile(url string, most int64, _ time.Duration) ([]byte, error) {
	q, err := http.NewRequestWithContext(d.ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", "truce")
	answer, err := d.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if answer.StatusCode != http.StatusOK {
		return nil, &metadata.ErrDownloadHTTP{StatusCode: answer.StatusCode, URL: url}
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, &metadata.ErrDownloadLengthMismatch{Msg: fmt.Sprintf("%s has more than %d bytes", url, most)}
	}
	return data, err
}
