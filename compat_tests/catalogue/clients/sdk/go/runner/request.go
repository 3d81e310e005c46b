package main

import (
	"net/url"
	"strconv"
	"strings"
)

// request is a program's name and its arguments: `Name?key=value&key=value`, form-encoded; a key may come several times.
type request struct {
	name   string
	values url.Values
}

func parse(line string) request {
	name, query, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "?")
	return request{name, decode(query)}
}

func decode(query string) url.Values {
	values, err := url.ParseQuery(query)
	check(err)
	return values
}

func (in request) all(key string) []string {
	return in.values[key]
}

func (in request) text(key string) string {
	if len(in.values[key]) == 0 {
		panic("the request lacks " + key)
	}
	return in.values[key][0]
}

func (in request) textOr(key, otherwise string) string {
	if len(in.values[key]) == 0 {
		return otherwise
	}
	return in.values[key][0]
}

func (in request) number(key string) int {
	return number(in.text(key))
}

func (in request) numberOr(key string, otherwise int) int {
	return number(in.textOr(key, strconv.Itoa(otherwise)))
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}
