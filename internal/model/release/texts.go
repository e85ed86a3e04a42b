package release

import "slices"

// WithTexts returns the request with what its values say, and the names of their files, as put changes them; nil stays nil.
func (r *Request) WithTexts(put func(string) string) *Request {
	if r == nil {
		return nil
	}
	out := *r
	out.Values = slices.Clone(r.Values)
	for i, v := range out.Values {
		out.Values[i].Text, out.Values[i].File = put(v.Text), put(v.File)
	}
	return &out
}
