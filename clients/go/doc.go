// Package muniment is the Go client of Muniment, the memory service for agent fleets: write what is worth
// remembering, recall it at the right moment, correct it, have it erased, and prove later which memories
// stood in which prompt.
//
//	client, err := muniment.Connect("127.0.0.1:7443", muniment.WithTenant("dev"), muniment.WithAPIKey(key))
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//
//	recalled, err := client.Recall(ctx, &munimentv1.RecallRequest{
//		Scope: muniment.Subject("ada"),
//		Query: "What can I offer Ada to drink?",
//	})
//
// Messages are those of the contract, generated into the package munimentv1. What this package adds to them:
// the metadata of every call, deadlines, request ids, repetition, errors of type *[Error], iterators over
// pages, reading one's own writes, and traces.
//
// # Concurrency
//
// A [Client] is safe for use by any number of goroutines, and one is enough for a process: it has one
// connection, over which calls run side by side. A call does not change the request that it is given, so
// that one request may be used by several calls at once, as long as nobody else changes it. A [ModelCall]
// and an [IngestStream] belong to one goroutine at a time. An iterator may be ranged over more than once, each
// time beginning anew, by one goroutine at a time.
package muniment
