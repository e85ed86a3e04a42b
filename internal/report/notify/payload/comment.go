package payload

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// commentsAPage is how many comments are asked for at once.
const commentsAPage = 100

// longestComment is how much text a comment has; servers take about twice as much.
const longestComment = 30000

// Thread is where the comments of a pull request are. The one that begins with Marker is updated; without one the request creates it.
type Thread struct {
	List   string // lists the comments, the oldest first; of a server that has pages, the number of one is appended
	Page   int    // how many comments a page has; 0 for a server without pages
	Marker string
	Method string // of an update
	Update string // the URL of a comment, to which its ID is appended
}

// IsComment reports whether a type of Provider has one comment for each app at a pull request.
func IsComment(kind string) bool {
	_, is := types[kind].(comment)
	return is
}

// forge names a kind of server that has pull requests.
type forge string

const (
	forgeGitHub forge = "github"
	forgeGitLab forge = "gitlab"
	forgeGitea  forge = "gitea"
)

// comment writes a comment of a pull request at a server.
type comment struct{ at forge }

// number is what may name a pull request.
var number = pattern.OnDemand(`^[1-9][0-9]{0,9}$`)

func (k comment) build(t Target, c Content) (Request, error) {
	if !number().MatchString(c.Pull) {
		return Request{}, errors.New("the metadata " + route.ChangeRequest + " is no number of a pull request")
	}
	r, err := parseRepository(t.Type, t.Address)
	if err != nil {
		return Request{}, err
	}
	if t.Token == "" {
		return Request{}, missing(t.Type, "the key token in its Secret")
	}
	sum := hashText(strings.Join([]string{t.UID, c.Message.About.String()}, "\x00"))
	thread := &Thread{Marker: "<!-- truce:" + sum + " -->", Method: http.MethodPatch}
	q, err := postJSON("", map[string]any{"body": thread.Marker + "\n" + commentText(c)})
	if err != nil {
		return q, err
	}
	q.Thread = thread
	switch k.at {
	case forgeGitLab:
		k.gitLab(&q, r, c.Pull)
		q.Headers["PRIVATE-TOKEN"] = t.Token
		return q, nil
	case forgeGitHub:
		err = r.need(t.Type, "https://github.com/OWNER/REPOSITORY")
		q.Thread.Page = commentsAPage
		k.issues(&q, gitHubAPI(r)+"/repos/"+r.escaped()+"/issues/", c.Pull)
		return authorized(q, "Bearer", t.Token), err
	case forgeGitea:
	}
	r = r.belowPath()
	err = r.need(t.Type, "https://gitea.example.com/OWNER/REPOSITORY")
	k.issues(&q, r.server+"/api/v1/repos/"+r.escaped()+"/issues/", c.Pull)
	return authorized(q, "token", t.Token), err
}

// issues sets the addresses of GitHub and Gitea: a pull request is an issue there.
func (comment) issues(q *Request, issues, pull string) {
	q.URL = issues + pull + "/comments"
	q.Thread.List, q.Thread.Update = q.URL, issues+"comments/"
	if q.Thread.Page > 0 {
		q.Thread.List = fmt.Sprintf("%s?per_page=%d&page=", q.URL, q.Thread.Page)
	}
}

func (comment) gitLab(q *Request, r repository, pull string) {
	q.URL = r.server + "/api/v4/projects/" + url.PathEscape(strings.Join(r.path, "/")) + "/merge_requests/" + pull + "/notes"
	q.Thread.Page, q.Thread.Method, q.Thread.Update = commentsAPage, http.MethodPut, q.URL+"/"
	q.Thread.List = fmt.Sprintf("%s?sort=asc&order_by=created_at&per_page=%d&page=", q.URL, q.Thread.Page)
}

// commentText is Markdown. What others have written is in a block of code, in which nothing is a mention, a link or a picture.
func commentText(c Content) string {
	state := "ℹ️ "
	switch {
	case c.IsError():
		state = "❌ "
	case c.Message.Matter.Kind == matter.Failure:
		state = "✅ "
	}
	var b strings.Builder
	b.WriteString(c.Text())
	for _, f := range c.Facts {
		if f.Name != route.ChangeRequest {
			b.WriteString("\n" + f.Name + ": " + f.Value)
		}
	}
	inside := shorten(b.String(), longestComment)
	fence := "```"
	for strings.Contains(inside, fence) {
		fence += "`"
	}
	return "**" + state + escapeMarkdown(c.Title) + "** " + escapeMarkdown(wordsOf(c.Message.Reason)) + "\n\n" + fence + "\n" + inside + "\n" + fence + "\n"
}

// commentContents returns one content for each app and pull request, in the order of time, and one of the notes that name no pull request.
func commentContents(notes []route.Note) []Content {
	order, groups := groupNotes(notes, appAndPull)
	from := map[string][]int{}
	for i, n := range notes {
		from[appAndPull(n)] = append(from[appAndPull(n)], i)
	}
	nothing := Content{Nothing: true}
	var out []Content
	for _, key := range order {
		pull := groups[key][0].Metadata[route.ChangeRequest]
		if pull == "" {
			nothing.From = append(nothing.From, from[key]...)
			continue
		}
		c := contentOf(newestOfMatters(groups[key]))
		c.Pull, c.From = pull, from[key]
		out = append(out, c)
	}
	if len(nothing.From) > 0 {
		out = append(out, nothing)
	}
	return out
}

// appAndPull names what has one comment.
func appAndPull(n route.Note) string {
	return n.Message.About.String() + "\x00" + n.Metadata[route.ChangeRequest]
}
