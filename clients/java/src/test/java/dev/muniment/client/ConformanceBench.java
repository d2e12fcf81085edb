package dev.muniment.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import com.google.gson.JsonObject;

/** Makes calls and measures them. */
final class ConformanceBench {
    private ConformanceBench() {}

    private record Measured(boolean raw, double micros, boolean failed) {}

    static JsonObject run(ConformanceConnection to, JsonObject request) throws Exception {
        int count = number(request, "count", 100);
        int warmup = number(request, "warmup", 20);
        int concurrency = Math.max(1, number(request, "concurrency", 1));
        boolean compare = request.has("compare") && request.get("compare").getAsBoolean();
        List<Boolean> kinds = compare ? List.of(false, true) : List.of(false);
        List<ConformanceConnection.Prepared> calls = new ArrayList<>();
        for (boolean raw : kinds) {
            calls.add(to.prepare(request, raw));
        }
        for (int round = 0; round < warmup; round++) {
            for (int kind = 0; kind < kinds.size(); kind++) {
                measure(calls.get(kind), kinds.get(kind));
            }
        }
        ExecutorService workers = Executors.newFixedThreadPool(concurrency);
        long started = System.nanoTime();
        List<Future<List<Measured>>> running = new ArrayList<>();
        for (int worker = 0; worker < concurrency; worker++) {
            int share = count / concurrency + (worker < count % concurrency ? 1 : 0);
            Callable<List<Measured>> work = () -> {
                List<Measured> own = new ArrayList<>();
                for (int round = 0; round < share; round++) {
                    for (int kind = 0; kind < kinds.size(); kind++) {
                        own.add(measure(calls.get(kind), kinds.get(kind)));
                    }
                }
                return own;
            };
            running.add(workers.submit(work));
        }
        List<Measured> all = new ArrayList<>();
        for (Future<List<Measured>> each : running) {
            all.addAll(each.get());
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        workers.shutdown();
        JsonObject answer = new JsonObject();
        answer.add("layer", figures(all, false, compare ? concurrency : 0, seconds));
        if (compare) {
            answer.add("raw", figures(all, true, concurrency, seconds));
        }
        return answer;
    }

    private static Measured measure(ConformanceConnection.Prepared call, boolean raw) {
        long started = System.nanoTime();
        boolean failed = false;
        try {
            call.make();
        } catch (Exception failure) {
            failed = true;
        }
        return new Measured(raw, (System.nanoTime() - started) / 1e3, failed);
    }

    private static int number(JsonObject request, String field, int fallback) {
        return request.has(field) ? request.get(field).getAsInt() : fallback;
    }

    /** turns: how many took turns with the other side, so that each had its share of the time; 0: none did. */
    private static JsonObject figures(List<Measured> all, boolean raw, int turns, double seconds) {
        List<Measured> own = all.stream().filter(each -> each.raw == raw).toList();
        double[] sorted = own.stream().mapToDouble(Measured::micros).sorted().toArray();
        double time = turns == 0 ? seconds : own.stream().mapToDouble(Measured::micros).sum() / 1e6 / turns;
        JsonObject figures = new JsonObject();
        figures.addProperty("calls", own.size());
        figures.addProperty("errors", own.stream().filter(Measured::failed).count());
        figures.addProperty("seconds", time);
        figures.addProperty("per_second", own.size() / time);
        figures.addProperty("p50_us", percentile(sorted, 0.5));
        figures.addProperty("p90_us", percentile(sorted, 0.9));
        figures.addProperty("p99_us", percentile(sorted, 0.99));
        return figures;
    }

    private static double percentile(double[] sorted, double share) {
        int place = (int) Math.ceil(share * sorted.length) - 1;
        return sorted.length == 0 ? 0 : sorted[Math.max(0, place)];
    }
}
