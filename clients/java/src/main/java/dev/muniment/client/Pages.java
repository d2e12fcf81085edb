package dev.muniment.client;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * All items of a list, read page by page while you iterate. Every iteration begins anew with a first page. An
 * error of a page is thrown where it is read.
 */
public final class Pages<T> implements Iterable<T> {
    private static final System.Logger LOG = System.getLogger("dev.muniment.client");

    private final Function<String, Page<T>> fetch;
    private volatile List<String> sealBroken = List.of();

    Pages(Function<String, Page<T>> fetch) {
        this.fetch = fetch;
    }

    /**
     * Memories that the latest iteration left out so far, because somebody changed them in the database. They
     * are logged as a warning, too.
     */
    public List<String> sealBrokenMemoryIds() {
        return sealBroken;
    }

    /** The pages. */
    public Iterable<Page<T>> pages() {
        return PageIterator::new;
    }

    private final class PageIterator implements Iterator<Page<T>> {
        private String token = "";
        private boolean more = true;

        PageIterator() {
            sealBroken = List.of();
        }

        @Override
        public boolean hasNext() {
            return more;
        }

        @Override
        public Page<T> next() {
            if (!more) {
                throw new NoSuchElementException();
            }
            Page<T> page = fetch.apply(token);
            if (!page.sealBrokenMemoryIds().isEmpty()) {
                List<String> all = new ArrayList<>(sealBroken);
                all.addAll(page.sealBrokenMemoryIds());
                sealBroken = List.copyOf(all);
                LOG.log(
                        System.Logger.Level.WARNING,
                        "left out of a list, changed behind the service''s back: memories {0}",
                        String.join(", ", page.sealBrokenMemoryIds()));
            }
            token = page.nextPageToken();
            more = !token.isEmpty();
            return page;
        }
    }

    @Override
    public Iterator<T> iterator() {
        Iterator<Page<T>> pages = pages().iterator();
        return new Iterator<>() {
            private Iterator<T> items = List.<T>of().iterator();

            @Override
            public boolean hasNext() {
                while (!items.hasNext() && pages.hasNext()) {
                    items = pages.next().items().iterator();
                }
                return items.hasNext();
            }

            @Override
            public T next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                return items.next();
            }
        };
    }

    /** As a sequential stream. */
    public Stream<T> stream() {
        return StreamSupport.stream(spliterator(), false);
    }

    /** Everything in one list. */
    public List<T> all() {
        return stream().toList();
    }
}
