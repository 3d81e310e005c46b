package main

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// plans decides transactions as the letters of a message's KEYS say: the first at once, the others at the checks.
type plans struct {
	name   string
	last   bool // whether the last letter is said at every check
	checks *int64
	mutex  sync.Mutex
	steps  map[string]int
}

// sendInTransaction sends the messages in transactions (c commit, r rollback, anything else: unknown), then waits until
// `checks` checks came (`seconds` at most) and a moment for their answers. With `helper` another producer of the group
// is there first, which sends that body in a transaction that it commits; the other then leaves as soon as it has sent.
func sendInTransaction(in request) {
	var checks int64
	var helper rocketmq.TransactionProducer
	if body := in.textOr("helper", ""); body != "" {
		helper = transactionProducer(in, "helper", &checks)
		defer helper.Shutdown()
		own := primitive.NewMessage(in.text("topic"), []byte(body))
		own.WithProperty(primitive.PropertyKeys, "c")
		result, err := helper.SendMessageInTransaction(context.Background(), own)
		check(err)
		sent(result.SendResult)
		time.Sleep(1500 * time.Millisecond) // until its heartbeat has reached the broker
	}
	from := transactionProducer(in, "producer", &checks)
	defer from.Shutdown()
	for _, each := range messages(in) {
		result, err := from.SendMessageInTransaction(context.Background(), each.message)
		if err != nil {
			failure("refused", err)
			continue
		}
		sent(result.SendResult)
	}
	if helper != nil {
		check(from.Shutdown())
	}
	wished := int64(in.numberOr("checks", 0))
	for end := time.Now().Add(time.Duration(in.numberOr("seconds", long)) * time.Second); time.Now().Before(end); {
		if atomic.LoadInt64(&checks) >= wished {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
}

func transactionProducer(in request, name string, checks *int64) rocketmq.TransactionProducer {
	listener := &plans{name: name, last: in.numberOr("last", 0) == 1, checks: checks, steps: map[string]int{}}
	made, err := rocketmq.NewTransactionProducer(listener, producerOptions(in)...)
	check(err)
	check(made.Start())
	return made
}

func (said *plans) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	return state(message.GetKeys(), 0)
}

func (said *plans) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	what := described("checked", message)
	what["by"] = said.name
	what["transactionId"] = message.TransactionId
	what["at"] = time.Now().UnixMilli()
	print(what)
	said.mutex.Lock()
	said.steps[message.TransactionId]++
	step := said.steps[message.TransactionId]
	said.mutex.Unlock()
	atomic.AddInt64(said.checks, 1)
	if said.last {
		step = math.MaxInt32
	}
	return state(message.GetKeys(), step)
}

func state(plan string, step int) primitive.LocalTransactionState {
	if step >= len(plan) {
		step = len(plan) - 1
	}
	switch plan[step] {
	case 'c':
		return primitive.CommitMessageState
	case 'r':
		return primitive.RollbackMessageState
	default:
		return primitive.UnknowState
	}
}
