package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/apache/rocketmq-clients/golang/v5"
)

func sent(text string, receipts []*sdk.SendReceipt) {
	for _, receipt := range receipts {
		print(event{"event": "sent", "msgId": receipt.MessageID, "handle": nil, "text": text})
	}
}

func described(name string, message *sdk.MessageView) event {
	what := event{
		"event": name, "topic": message.GetTopic(), "msgId": message.GetMessageId(), "tags": message.GetTag(), "keys": nil,
		"properties": message.GetProperties(), "messageGroup": message.GetMessageGroup(), "due": milliseconds(message.GetDeliveryTimestamp()),
		"bornTimestamp": milliseconds(message.GetBornTimestamp()), "bornHost": message.GetBornHost(),
		"attempt": message.GetDeliveryAttempt(), "at": time.Now().UnixMilli(),
	}
	if keys := message.GetKeys(); len(keys) > 0 {
		what["keys"] = strings.Join(keys, " ")
	}
	return withBody(what, message.GetBody())
}

func milliseconds(moment *time.Time) interface{} {
	if moment == nil {
		return nil
	}
	return moment.UnixMilli()
}

// failure prints an error, with its code if the endpoint answered one.
func failure(name string, err error) {
	what := event{"event": name, "error": fmt.Sprintf("%T", err), "text": err.Error(), "code": nil}
	var status *sdk.ErrRpcStatus
	if errors.As(err, &status) {
		what["code"] = status.GetCode()
	}
	print(what)
}
