package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	muniment "github.com/muniment/muniment/clients/go"
)

type sample struct {
	took   []time.Duration
	errors int
}

func (s *sample) figures(seconds float64) answer {
	slices.Sort(s.took)
	at := func(share float64) float64 {
		if len(s.took) == 0 {
			return 0
		}
		return float64(s.took[int(share*float64(len(s.took)-1))].Nanoseconds()) / 1e3
	}
	return answer{
		"calls": len(s.took), "errors": s.errors, "seconds": seconds, "per_second": float64(len(s.took)) / seconds,
		"p50_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99),
	}
}

func bench(ctx context.Context, c *muniment.Client, r *request) (answer, error) {
	message, response, _, err := messagesOf(r.Method)
	if err != nil {
		return nil, err
	}
	if err := parse(r.Request, message); err != nil {
		return nil, err
	}
	method, ok := unaryRPCs[r.Method]
	if !ok {
		return nil, wrong("unknown method %q", r.Method)
	}
	layer := func() error {
		_, err := method(ctx, c, message, nil)
		return err
	}
	raw := func() error {
		ctx, err := c.Outgoing(ctx)
		if err != nil {
			return err
		}
		return c.Connection().Invoke(ctx, "/muniment.v1."+r.Method, message, proto.Clone(response))
	}
	warmup := 20
	if r.Warmup != nil {
		warmup = *r.Warmup
	}
	for range warmup {
		_ = layer()
		_ = raw()
	}
	var mutex sync.Mutex
	var layered, bare sample
	measure := func(into *sample, run func() error) {
		started := time.Now()
		err := run()
		took := time.Since(started)
		mutex.Lock()
		defer mutex.Unlock()
		into.took = append(into.took, took)
		if err != nil {
			into.errors++
		}
	}
	started := time.Now()
	var workers sync.WaitGroup
	left := r.Count
	for range max(r.Concurrency, 1) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for {
				mutex.Lock()
				left--
				done := left < 0
				mutex.Unlock()
				if done {
					return
				}
				measure(&layered, layer)
				if r.Compare {
					measure(&bare, raw)
				}
			}
		}()
	}
	workers.Wait()
	seconds := time.Since(started).Seconds()
	made := answer{"layer": layered.figures(seconds)}
	if r.Compare {
		made["raw"] = bare.figures(seconds)
	}
	return answer{"response": made}, nil
}
