package main

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/apache/rocketmq-clients/golang/v5"
)

func publish(in request) {
	producer, err := startedProducer(in)
	if err != nil {
		failure("refused", err)
		return
	}
	defer producer.GracefulStop()
	all := messages(in)
	if in.numberOr("async", 0) == 1 {
		atOnce(producer, all)
		return
	}
	end := time.Now().Add(time.Duration(in.numberOr("wait", long)) * time.Second)
	for _, message := range all {
		for !accepted(producer, message) && in.numberOr("again", 0) == 1 && time.Now().Before(end) {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Duration(in.numberOr("pause", 0)) * time.Millisecond)
	}
}

func accepted(producer sdk.Producer, message *sdk.Message) bool {
	receipts, err := producer.Send(context.Background(), message)
	if err != nil {
		failure("refused", err)
		return false
	}
	sent(string(message.Body), receipts)
	return true
}

func atOnce(producer sdk.Producer, all []*sdk.Message) {
	var waiting sync.WaitGroup
	for _, message := range all {
		waiting.Add(1)
		producer.SendAsync(context.Background(), message, func(_ context.Context, receipts []*sdk.SendReceipt, err error) {
			defer waiting.Done()
			if err != nil {
				failure("refused", err)
			} else {
				sent(string(message.Body), receipts)
			}
		})
	}
	waiting.Wait()
}

// plans decides transactions as the letters of a message's key say: the first at once, the others at the checks.
type plans struct {
	last   bool // whether the last letter is said at every check
	checks int64
	mutex  sync.Mutex
	steps  map[string]int
}

func publishInTransaction(in request) {
	said := &plans{last: in.numberOr("last", 0) == 1, steps: map[string]int{}}
	producer, err := startedProducer(in, sdk.WithTransactionChecker(&sdk.TransactionChecker{Check: said.check}))
	check(err)
	defer producer.GracefulStop()
	for _, message := range messages(in) {
		transaction := producer.BeginTransaction()
		receipts, err := producer.SendWithTransaction(context.Background(), message, transaction)
		if err != nil {
			failure("refused", err)
			continue
		}
		sent(string(message.Body), receipts)
		switch letter(message.GetKeys()[0], 0) {
		case 'c':
			err = transaction.Commit()
		case 'r':
			err = transaction.RollBack()
		}
		if err != nil {
			failure("refused", err)
		}
	}
	end := time.Now().Add(time.Duration(in.numberOr("wait", long)) * time.Second)
	for atomic.LoadInt64(&said.checks) < int64(in.numberOr("checks", 0)) && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
}

func (said *plans) check(message *sdk.MessageView) sdk.TransactionResolution {
	print(described("checked", message))
	said.mutex.Lock()
	said.steps[message.GetMessageId()]++
	step := said.steps[message.GetMessageId()]
	said.mutex.Unlock()
	atomic.AddInt64(&said.checks, 1)
	if said.last {
		step = math.MaxInt32
	}
	switch letter(message.GetKeys()[0], step) {
	case 'c':
		return sdk.COMMIT
	case 'r':
		return sdk.ROLLBACK
	default:
		return sdk.UNKNOWN
	}
}

func letter(plan string, step int) byte {
	return plan[min(step, len(plan)-1)]
}
