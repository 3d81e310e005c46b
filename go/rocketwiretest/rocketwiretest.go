// Package rocketwiretest starts a RocketMQ endpoint for a Go test: a name server and a broker in a process of their
// own, on free ports of 127.0.0.1, with an empty store.
//
//	func TestOrders(t *testing.T) {
//		rocketmq := rocketwiretest.Start(t)
//		rocketmq.CreateTopic("Orders", 4)
//		resolver := primitive.NewPassthroughResolver([]string{rocketmq.Namesrv})
//		...
//		rocketmq.Advance(time.Hour)
//	}
//
// It needs the program rocketwire: that of the environment variable ROCKETWIRE_COMMAND, such as
// "python3 -m rocketwire", else that of the PATH. It has no dependencies: copy this file into a folder of your module.
package rocketwiretest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// CommandVariable is the environment variable that names the program, with words that stand before "serve".
const CommandVariable = "ROCKETWIRE_COMMAND"

const (
	startWithin = 2 * time.Minute
	stopWithin  = 20 * time.Second
	callWithin  = 30 * time.Second
	logKept     = 64 << 10 // bytes
)

// Endpoint is a name server and a broker that serve one test and its subtests. Its methods fail the test when the
// endpoint refuses; like t.Fatal they are for the goroutine of the test.
type Endpoint struct {
	Namesrv string `json:"namesrv"` // HOST:PORT, as clients take it
	Broker  string `json:"broker"`
	HTTP    string `json:"http"` // /metrics, /readyz, /faults, /clock
	GRPC    string `json:"grpc"` // the address for clients of 5.x
	Store   string `json:"store"`
	PID     int    `json:"pid"`

	t   testing.TB
	log *tail
}

// FaultRule is a rule of faults that is in force.
type FaultRule struct {
	ID     int    `json:"id"`
	Struck int    `json:"struck"` // how many requests it has matched
	Spent  bool   `json:"spent"`  // whether it has matched as many requests as its count allows
	Rule   string `json:"rule"`
}

// Option changes how an endpoint is started.
type Option func(*settings)

type settings struct {
	command   []string
	arguments []string
}

// Set sets a key of broker.conf.
func Set(key, value string) Option { return Arguments("--set", key+"="+value) }

// WithFault adds a rule of faults that is in force from the start.
func WithFault(rule string) Option { return Arguments("--fault", rule) }

// Arguments adds words to the command line of "rocketwire serve".
func Arguments(words ...string) Option {
	return func(s *settings) { s.arguments = append(s.arguments, words...) }
}

// Command names the program, and words that stand before "serve".
func Command(words ...string) Option {
	return func(s *settings) { s.command = words }
}

// Start starts an endpoint and returns when clients can use it. It stops at the end of the test t, or when the test's
// process has ended. If the test fails, it gets the endpoint's log.
func Start(t testing.TB, options ...Option) *Endpoint {
	t.Helper()
	s := settings{}
	for _, option := range append([]Option{
		Arguments("serve", "--json-ready", "--end-with", strconv.Itoa(os.Getpid()), "--store", t.TempDir()),
		Arguments("--namesrv", "127.0.0.1:0", "--broker", "127.0.0.1:0", "--http", "127.0.0.1:0",
			"--grpc", "127.0.0.1:0"),
		Set("movableClock", "true"), Set("faultInjectionEnable", "true"),
		// The usage of the machine's disk, and a machine that is busy, must not matter to a test.
		Set("diskSpaceWarningLevelRatio", "100"), Set("diskSpaceCleanForciblyRatio", "100"),
		Set("brokerFastFailureEnable", "false"),
	}, options...) {
		option(&s)
	}
	if s.command == nil {
		s.command = program()
	}
	e := &Endpoint{t: t, log: &tail{}}
	if err := e.start(exec.Command(s.command[0], append(s.command[1:], s.arguments...)...)); err != nil {
		t.Fatalf("rocketwiretest: %v", err)
	}
	return e
}

func program() []string {
	if words := strings.Fields(os.Getenv(CommandVariable)); len(words) > 0 {
		return words
	}
	return []string{"rocketwire"}
}

func (e *Endpoint) start(command *exec.Cmd) error {
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	command.Stderr = e.log
	if err = command.Start(); errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: install it (pip install rocketwire), or name it in %s", err, CommandVariable)
	} else if err != nil {
		return err
	}
	line, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		reader := bufio.NewReader(output)
		first, _ := reader.ReadString('\n')
		line <- first
		_, _ = io.Copy(io.Discard, reader)
	}()
	stop := func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		killer := time.AfterFunc(stopWithin, func() { _ = command.Process.Kill() })
		<-drained
		_ = command.Wait()
		killer.Stop()
	}
	select {
	case first := <-line:
		if err = json.Unmarshal([]byte(first), e); err != nil {
			stop()
			how := command.ProcessState
			return fmt.Errorf("%s did not get ready (%v), it printed %q: %s", command, how, first, e.log)
		}
	case <-time.After(startWithin):
		stop()
		return fmt.Errorf("%s was not ready within %v: %s", command, startWithin, e.log)
	}
	e.t.Cleanup(func() {
		stop()
		if e.t.Failed() {
			e.t.Logf("rocketwire's log:\n%s", e.log)
		}
	})
	return nil
}

// Log returns the end of the endpoint's log.
func (e *Endpoint) Log() string { return e.log.String() }

// UniqueName returns a new name for a topic or group, so that tests that share an endpoint do not conflict.
func (e *Endpoint) UniqueName(prefix string) string {
	e.t.Helper()
	random := make([]byte, 6)
	_, err := rand.Read(random)
	e.must(err)
	return prefix + "-" + hex.EncodeToString(random)
}

// Advance moves the endpoint's clock ahead. Delayed and timed messages, retries and checks of transactions that come
// due by that come at once.
func (e *Endpoint) Advance(by time.Duration) {
	e.t.Helper()
	_, err := e.call(http.MethodPost, "/clock", fmt.Sprintf(`{"advance":%d}`, by.Milliseconds()))
	e.must(err)
}

// Now returns the endpoint's time.
func (e *Endpoint) Now() time.Time {
	e.t.Helper()
	answer, err := e.call(http.MethodGet, "/clock", "")
	e.must(err)
	var clock struct {
		Now int64 `json:"now"`
	}
	e.must(json.Unmarshal(answer, &clock))
	return time.UnixMilli(clock.Now)
}

// Fault appends a rule of faults, ACTION[,KEY=VALUE]..., such as drop:answer,code=310,count=1.
func (e *Endpoint) Fault(rule string) FaultRule {
	e.t.Helper()
	return e.faults(http.MethodPost, rule)[0]
}

// Faults returns the rules in force, in their order: the first that matches a request wins.
func (e *Endpoint) Faults() []FaultRule {
	e.t.Helper()
	return e.faults(http.MethodGet, "")
}

// ClearFaults removes all rules of faults.
func (e *Endpoint) ClearFaults() {
	e.t.Helper()
	e.faults(http.MethodDelete, "")
}

func (e *Endpoint) faults(method, body string) []FaultRule {
	e.t.Helper()
	answer, err := e.call(method, "/faults", body)
	e.must(err)
	var found struct {
		Faults []FaultRule `json:"faults"`
	}
	e.must(json.Unmarshal(answer, &found))
	return found.Faults
}

// CreateTopic creates a topic, or changes the number of its queues. Clients that query the name server afterwards find
// it.
func (e *Endpoint) CreateTopic(name string, queues int) {
	e.t.Helper()
	count := strconv.Itoa(queues)
	e.must(remoting(e.Broker, 17, map[string]string{ // UPDATE_AND_CREATE_TOPIC
		"topic": name, "defaultTopic": "TBW102", "readQueueNums": count, "writeQueueNums": count,
		"perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}))
}

func (e *Endpoint) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatalf("rocketwiretest: %v", err)
	}
}

// call sends a request to the HTTP port; no proxy of the environment could reach it.
func (e *Endpoint) call(method, path, body string) ([]byte, error) {
	request, err := http.NewRequest(method, "http://"+e.HTTP+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	client := http.Client{Timeout: callWithin, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		text := bytes.TrimSpace(content)
		err = fmt.Errorf("%s %s %s was answered with %s: %s", method, path, body, answer.Status, text)
	}
	return content, err
}

// remoting sends one request of RocketMQ's remoting protocol and reads its answer.
func remoting(address string, code int, fields map[string]string) error {
	header, err := json.Marshal(map[string]interface{}{
		"code": code, "language": "GO", "version": 0, "opaque": 1, "flag": 0, "extFields": fields,
		"serializeTypeCurrentRPC": "JSON",
	})
	if err != nil {
		return err
	}
	connection, err := net.DialTimeout("tcp", address, callWithin)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err = connection.SetDeadline(time.Now().Add(callWithin)); err != nil {
		return err
	}
	// The length of the rest; then that of the header, whose first byte is 0 for JSON.
	frame := make([]byte, 8, 8+len(header))
	binary.BigEndian.PutUint32(frame, uint32(4+len(header)))
	binary.BigEndian.PutUint32(frame[4:], uint32(len(header)))
	if _, err = connection.Write(append(frame, header...)); err != nil {
		return err
	}
	var lengths [2]uint32
	if err = binary.Read(connection, binary.BigEndian, &lengths); err != nil {
		return err
	}
	headerLength := lengths[1] & 0xFFFFFF
	if lengths[0] > 1<<20 || lengths[0] < 4+headerLength {
		return fmt.Errorf("%s answered with a frame of %d bytes", address, lengths[0])
	}
	content := make([]byte, headerLength)
	if _, err = io.ReadFull(connection, content); err != nil {
		return err
	}
	var answer struct {
		Code   int    `json:"code"`
		Remark string `json:"remark"`
	}
	if err = json.Unmarshal(content, &answer); err == nil && answer.Code != 0 {
		err = fmt.Errorf("%s answered with code %d: %s", address, answer.Code, answer.Remark)
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	lock sync.Mutex
	kept []byte
}

func (t *tail) Write(part []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.kept = append(t.kept, part...)
	if over := len(t.kept) - logKept; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(part), nil
}

func (t *tail) String() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return strings.TrimSpace(string(t.kept))
}
