package rocketwiretest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// Longer than anything takes, even on a machine that does much else.
const long = 60 * time.Second

// The variable makes this program run something in place of the tests.
const holderVariable = "ROCKETWIRETEST_HOLDER"

func TestMain(m *testing.M) {
	rlog.SetLogLevel("error")
	if how := os.Getenv(holderVariable); how != "" {
		hold(how)
		return
	}
	os.Exit(m.Run())
}

func newProducer(t *testing.T, e *Endpoint) rocketmq.Producer {
	t.Helper()
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{e.Namesrv})),
		producer.WithGroupName(e.UniqueName("producer")), producer.WithInstanceName(e.UniqueName("p")),
		producer.WithRetry(0),
	)
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() })
	return p
}

func send(t *testing.T, p rocketmq.Producer, topic, body string, delayLevel int) {
	t.Helper()
	message := primitive.NewMessage(topic, []byte(body))
	if delayLevel > 0 {
		message.WithDelayTimeLevel(delayLevel)
	}
	result, err := p.SendSync(context.Background(), message)
	if err != nil || result.Status != primitive.SendOK {
		t.Fatalf("send: %v %v", result, err)
	}
}

// receive starts a consumer of the topic from its beginning and returns the bodies that come.
func receive(t *testing.T, e *Endpoint, topic string) <-chan string {
	t.Helper()
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{e.Namesrv})),
		consumer.WithGroupName(e.UniqueName("consumer")), consumer.WithInstance(e.UniqueName("c")),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	if err != nil {
		t.Fatal(err)
	}
	bodies := make(chan string, 100)
	take := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, each := range messages {
			bodies <- string(each.Body)
		}
		return consumer.ConsumeSuccess, nil
	}
	if err = c.Subscribe(topic, consumer.MessageSelector{}, take); err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Shutdown() })
	return bodies
}

func expect(t *testing.T, bodies <-chan string, wanted string) {
	t.Helper()
	select {
	case got := <-bodies:
		if got != wanted {
			t.Fatalf("got %q, not %q", got, wanted)
		}
	case <-time.After(long):
		t.Fatalf("%q did not come", wanted)
	}
}

func TestADelayOfAnHourIsOverWhenTheClockIsAdvanced(t *testing.T) {
	t.Parallel()
	e := Start(t)
	e.CreateTopic("Later", 1)
	p := newProducer(t, e)
	send(t, p, "Later", "in an hour", 17)
	send(t, p, "Later", "at once", 0)
	bodies := receive(t, e, "Later")
	expect(t, bodies, "at once")

	e.Advance(time.Hour)

	expect(t, bodies, "in an hour")
	if ahead := time.Until(e.Now()); ahead < 59*time.Minute || ahead > 61*time.Minute {
		t.Errorf("the clock is %v ahead", ahead)
	}
}

func TestEndpointsSideBySide(t *testing.T) {
	t.Parallel()
	one, other := Start(t), Start(t, Set("brokerName", "other"))
	if one.Namesrv == other.Namesrv || one.PID == other.PID {
		t.Fatal("they are the same")
	}
	topic := one.UniqueName("Both")
	for name, e := range map[string]*Endpoint{"one": one, "other": other} {
		e.CreateTopic(topic, 2)
		p := newProducer(t, e)
		send(t, p, topic, "to "+name, 0)
		expect(t, receive(t, e, topic), "to "+name)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	e := Start(t, WithFault("delay:1,topic=Unused"))
	e.CreateTopic("Throttled", 1)
	added := e.Fault("answer:215:slow,listener=broker,topic=Throttled")
	p := newProducer(t, e)
	_, err := p.SendSync(context.Background(), primitive.NewMessage("Throttled", []byte("refused")))
	if err == nil || !strings.Contains(err.Error(), "slow") {
		t.Fatalf("it was not refused: %v", err)
	}
	rules := e.Faults()
	if len(rules) != 2 || rules[1].ID != added.ID || rules[1].Struck < 1 || rules[1].Spent {
		t.Errorf("rules: %v", rules)
	}
	e.ClearFaults()
	if rules = e.Faults(); len(rules) != 0 {
		t.Errorf("rules: %v", rules)
	}
	send(t, p, "Throttled", "taken", 0)
	for wanted, call := range map[string]func(*Endpoint){
		"400 Bad Request: explode":    func(e *Endpoint) { e.Fault("explode") },
		"400 Bad Request: advance=-1": func(e *Endpoint) { e.Advance(-time.Millisecond) },
		"answered with code":          func(e *Endpoint) { e.CreateTopic("not a topic", 1) },
	} {
		refused := *e
		if text := failure(t, func(tb testing.TB) { refused.t = tb; call(&refused) }); !strings.Contains(text, wanted) {
			t.Errorf("%s: %s", wanted, text)
		}
	}
}

// recorder is a test that may fail: failure returns its text.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Fatalf(format string, values ...interface{}) {
	r.text = fmt.Sprintf(format, values...)
	panic(r)
}

func failure(t *testing.T, do func(testing.TB)) (text string) {
	t.Helper()
	r := &recorder{TB: t}
	defer func() {
		if found := recover(); found != nil && found != r {
			panic(found)
		}
		text = r.text
	}()
	do(r)
	return ""
}

func TestTheOutputOfTheProgramIsInTheFailure(t *testing.T) {
	t.Parallel()
	for wanted, option := range map[string]Option{
		"--set brokerNmae: unknown key; did you mean brokerName?": Set("brokerNmae", "b"),
		"exit status 2": Arguments("--no-such-option"),
		"install it (pip install rocketwire), or name it in ROCKETWIRE_COMMAND": Command("no-such-program"),
		`it printed "hello\n"`: Command("sh", "-c", "echo hello; exec sleep 600"),
	} {
		if text := failure(t, func(tb testing.TB) { Start(tb, option) }); !strings.Contains(text, wanted) {
			t.Errorf("%s: %s", wanted, text)
		}
	}
}

// The program of the other processes that TestTheServerEndsWithTheTestsProcess starts.
func hold(how string) {
	test := func(t *testing.T) {
		fmt.Printf("\nnamesrv=%s\n", Start(t).Namesrv)
		switch how {
		case "exits":
			os.Exit(3)
		case "is killed":
			time.Sleep(10 * long)
		}
	}
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestThatHolds", F: test}}, nil, nil)
}

func serves(address string) bool {
	connection, err := net.Dial("tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}

func TestTheServerEndsWithTheTestsProcess(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"returns", "exits", "is killed"} {
		holder := exec.Command(os.Args[0])
		holder.Env = append(os.Environ(), holderVariable+"="+how)
		output, err := holder.StdoutPipe()
		if err == nil {
			err = holder.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var namesrv string
		if _, err = fmt.Fscanf(output, "\nnamesrv=%s", &namesrv); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if how == "is killed" {
			_ = holder.Process.Kill()
		}
		_ = holder.Wait()
		for end := time.Now().Add(long); serves(namesrv); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the server outlives a process that %s", how)
			}
		}
	}
}
