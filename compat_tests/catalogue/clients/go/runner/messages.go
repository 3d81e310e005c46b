package main

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// wanted is a message to send and the number of the queue that it is meant for, -1 for any.
type wanted struct {
	message *primitive.Message
	queue   int
}

// messages makes those that the request describes, one `message` argument each, itself form-encoded: body, or size and
// seed (noise that does not compress); tags, keys, flag, delay (a level); p.NAME is a user's property, s.NAME one of
// the system, whose value "+N" is N ms after now; queue is the queue it is meant for.
func messages(in request) []wanted {
	var all []wanted
	now := time.Now().UnixMilli()
	for _, query := range in.all("message") {
		all = append(all, one(in.text("topic"), decode(query), now))
	}
	return all
}

func one(topic string, fields url.Values, now int64) wanted {
	message := primitive.NewMessage(topic, body(fields))
	message.WithTag(fields.Get("tags"))
	// WithKeys would end the last key with a separator, which no other client does.
	message.WithProperty(primitive.PropertyKeys, fields.Get("keys"))
	if fields.Has("flag") {
		message.Flag = int32(number(fields.Get("flag")))
	}
	if fields.Has("delay") {
		message.WithDelayTimeLevel(number(fields.Get("delay")))
	}
	message.WithProperty(primitive.PropertyWaitStoreMsgOk, fields.Get("wait"))
	for name, values := range fields {
		if strings.HasPrefix(name, "p.") {
			message.WithProperty(name[2:], values[0])
		} else if strings.HasPrefix(name, "s.") {
			message.WithProperty(name[2:], moment(values[0], now))
		}
	}
	queue := -1
	if fields.Has("queue") {
		queue = number(fields.Get("queue"))
	}
	return wanted{message, queue}
}

func moment(value string, now int64) string {
	if !strings.HasPrefix(value, "+") {
		return value
	}
	return strconv.FormatInt(now+int64(number(value[1:])), 10)
}
