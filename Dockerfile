# The service as an image: docker build -t muniment .
#
# The first stage installs what requirements/ pins by hash into /opt/muniment; the second one takes
# that folder and nothing else. Nothing is downloaded at run time: the embedding model and the embedded
# PostgreSQL are in the packages.

ARG PYTHON_IMAGE=python:3.13-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY requirements/uv.txt requirements/server.txt requirements/build.txt requirements/
# uv makes environments without pip, and compiles now what a read-only file system could not keep later.
# What comes as source, jieba and the service, is built with what build.txt pins.
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements/uv.txt \
    && uv venv --no-project /opt/muniment \
    && uv pip install --python /opt/muniment/bin/python --no-cache --compile-bytecode --require-hashes \
        --preview-features build-dependency-hashes --require-build-hashes \
        --build-constraints requirements/build.txt -r requirements/server.txt
COPY pyproject.toml README.md LICENSE ./
COPY server/ server/
RUN uv pip install --python /opt/muniment/bin/python --no-cache --compile-bytecode --no-deps \
        --preview-features build-dependency-hashes --require-build-hashes \
        --build-constraints requirements/build.txt .

FROM ${PYTHON_IMAGE}
# keys/ and postgres/ exist beforehand, so that volumes mounted there belong to the service's user.
RUN python -m pip uninstall --yes --quiet --root-user-action=ignore pip \
    && groupadd --system --gid 10001 muniment \
    && useradd --system --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/muniment \
        --shell /usr/sbin/nologin muniment \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/muniment /var/lib/muniment/keys /var/lib/muniment/postgres
COPY --from=build /opt/muniment /opt/muniment
# Listening beyond loopback needs TLS files or MUNIMENT_INSECURE_LISTEN=true; without them the service
# refuses to start. OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT has no limit by default.
ENV PATH=/opt/muniment/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MUNIMENT_HOME=/var/lib/muniment \
    MUNIMENT_LISTEN=0.0.0.0:7443 \
    OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=4096
USER 10001:10001
WORKDIR /var/lib/muniment
VOLUME ["/var/lib/muniment"]
EXPOSE 7443
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["muniment", "health"]
ENTRYPOINT ["muniment"]
CMD ["serve"]
