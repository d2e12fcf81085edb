package dev.muniment.client;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The calls under way, for close to wait for. */
final class Activity {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition idle = lock.newCondition();
    private int count;
    private boolean closed;

    /** A call begins. IllegalStateException when the client is closed. */
    void enter() {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the client is closed");
            }
            count++;
        } finally {
            lock.unlock();
        }
    }

    /** A call has ended. */
    void leave() {
        lock.lock();
        try {
            count--;
            if (count == 0) {
                idle.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Refuses new calls, and waits for those under way. */
    void close(Duration timeout) {
        lock.lock();
        try {
            closed = true;
            long nanos = timeout.toNanos();
            while (count > 0 && nanos > 0) {
                nanos = idle.awaitNanos(nanos);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

}
