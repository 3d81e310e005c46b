package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/apache/rocketmq-clients/golang/v5"
)

// Bodies up to this size, in bytes, are printed as text too.
const shortBody = 4096

// event is one JSON line of the answer; its field "event" says what happened.
type event map[string]interface{}

var printing sync.Mutex

// print writes one event; several goroutines may.
func print(what event) {
	line, err := json.Marshal(what)
	if err != nil {
		line = []byte(fmt.Sprintf(`{"event":"crashed","text":%q}`, err.Error()))
	}
	printing.Lock()
	defer printing.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func sent(text string, receipts []*sdk.SendReceipt) {
	for _, receipt := range receipts {
		print(event{"event": "sent", "msgId": receipt.MessageID, "handle": nil, "text": text})
	}
}

func described(name string, message *sdk.MessageView) event {
	body := message.GetBody()
	digest := sha256.Sum256(body)
	what := event{
		"event": name, "topic": message.GetTopic(), "msgId": message.GetMessageId(), "tags": message.GetTag(), "keys": nil,
		"properties": message.GetProperties(), "messageGroup": message.GetMessageGroup(), "due": milliseconds(message.GetDeliveryTimestamp()),
		"bornTimestamp": milliseconds(message.GetBornTimestamp()), "bornHost": message.GetBornHost(),
		"attempt": message.GetDeliveryAttempt(), "length": len(body), "sha256": hex.EncodeToString(digest[:]), "text": nil,
		"at": time.Now().UnixMilli(),
	}
	if keys := message.GetKeys(); len(keys) > 0 {
		what["keys"] = strings.Join(keys, " ")
	}
	if len(body) <= shortBody && utf8.Valid(body) {
		what["text"] = string(body)
	}
	return what
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
