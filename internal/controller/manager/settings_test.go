package manager

import (
	"bytes"
	"log/slog"
	"net"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/leader"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestTheFirstLineOfTheLogSaysWhatAControllerRunsWith checks each setting, with the defaults and with flags.
func TestTheFirstLineOfTheLogSaysWhatAControllerRunsWith(t *testing.T) {
	client, err := cluster.NewClient(&rest.Config{Host: "https://192.0.2.1:6443"})
	if err != nil {
		t.Fatal(err)
	}
	page, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	at := page.Addr().String()
	for _, c := range []struct {
		options Options
		page    net.Listener
		want    string
	}{
		{
			Options{Settings: controller.Settings{CacheDir: "/data"}}, nil,
			`level=INFO msg="truce starts" version=v1.2.3 server=https://192.0.2.1:6443 namespaces=all home=default mode=enforce claims=cede pause=report additions="by dialect" ` +
				`leaderElection=off witness=off page=off metrics=off events=off webhooks=off localSources=false cacheDir=/data`,
		},
		{
			Options{
				Settings: controller.Settings{
					Namespaces: cluster.Namespaces{"team-a", "team-b"}, LocalSources: controller.AllowLocal,
					Process: policy.Policy{Mode: policy.Observe, Claims: policy.ClaimsReport, Pause: policy.PauseCorrect, Additions: policy.AdditionsAllow},
				},
				Election: leader.Election{Name: "truce-controller"}, EventsAddress: "http://jane:hunter2@events.example/",
			}, page,
			`level=INFO msg="truce starts" version=v1.2.3 server=https://192.0.2.1:6443 namespaces=team-a,team-b home=team-a mode=observe claims=report pause=correct additions=allow ` +
				`leaderElection="Lease team-a/truce-controller" witness=off page=` + at + ` metrics=` + at + ` events=http://***@events.example/ webhooks=off localSources=true cacheDir=""`,
		},
	} {
		var log bytes.Buffer
		s := &Manager{options: c.options, Parts: Parts{Version: "v1.2.3", Cluster: client}, listening: c.page}
		withoutTime := func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime})).Info("truce starts", s.settings()...)
		if got := log.String(); got != c.want+"\n" {
			t.Errorf("%swant\n%s", got, c.want)
		}
	}
}
