"""The alternative: what a good developer writes in an afternoon with pgvector, and nothing more.

One table with row-level security by tenant, one index, one query (exact, by the subject), behind a gRPC
server of its own process that takes the same request and gives the same answer on the wire. It has API
keys, a pool, prepared statements and a deadline. It has no words, only vectors; no receipts, no audit
trail, no encryption, no seals, no states, no expiry, no validity, no trust, no settings of tenants.

`python tests/bench/scaling/plain.py` serves; PLAIN_DATABASE, PLAIN_PORT and PLAIN_KEY say how.
"""

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import grpc
import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector_async
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

from bench.scaling.corpus import Subject
from muniment_server._gen.muniment.v1 import memory_service_pb2

ROLE = "plain_app"
METHOD = "/plain.Memory/Recall"

SCHEMA = """
CREATE SCHEMA plain;
CREATE TABLE plain.memory (
    id          uuid PRIMARY KEY,
    tenant_id   uuid NOT NULL,
    subject     text NOT NULL,
    kind        smallint NOT NULL,
    content     text NOT NULL,
    tags        text[] NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    embedding   halfvec({dimension}) NOT NULL
);
CREATE INDEX ON plain.memory (tenant_id, subject);
ALTER TABLE plain.memory ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON plain.memory USING (tenant_id = current_setting('app.tenant_id')::uuid);
GRANT USAGE ON SCHEMA plain TO plain_app;
GRANT SELECT ON plain.memory TO plain_app;
"""

QUERY = """
SELECT id, kind, content, tags, create_time, 1 - (embedding <=> %(vector)s) AS score
FROM plain.memory
WHERE subject = %(subject)s AND (%(tags)s::text[] IS NULL OR tags && %(tags)s::text[])
ORDER BY embedding <=> %(vector)s
LIMIT %(limit)s
"""


class Store:
    """The query, with a pool."""

    def __init__(self, conninfo: str) -> None:
        self.pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]] = AsyncConnectionPool(
            conninfo, min_size=2, max_size=10, open=False, configure=register_vector_async,
            kwargs={"autocommit": True},
        )  # fmt: skip

    async def recall(
        self, tenant_id: UUID, request: memory_service_pb2.RecallRequest
    ) -> memory_service_pb2.RecallResponse:
        """The nearest memories of a subject."""
        values = {
            "vector": HalfVector(np.frombuffer(request.query_embedding.vector, dtype="<f4")),
            "subject": request.scope.subject,
            "tags": list(request.filter.tags_any) or None,
            "limit": request.limit,
        }
        async with self.pool.connection() as connection, connection.pipeline():
            await connection.execute(b"BEGIN", prepare=False)
            await connection.execute(f"SET LOCAL app.tenant_id = '{tenant_id}'".encode(), prepare=False)
            cursor = await connection.execute(QUERY, values, binary=True, prepare=True)
            rows = await cursor.fetchall()
            await connection.execute(b"COMMIT", prepare=False)
        response = memory_service_pb2.RecallResponse(applied_limit=request.limit)
        for rank, (memory_id, kind, content, tags, create_time, score) in enumerate(rows, 1):
            found = response.memories.add(rank=rank, score=score)
            found.memory.memory_id = str(memory_id)
            found.memory.kind = kind
            found.memory.content = content
            found.memory.tags.extend(tags)
            found.memory.create_time.FromDatetime(create_time)
        return response


async def serve(conninfo: str, port: int, key: str) -> None:
    """Answer until ended."""
    digest, _, tenant = key.partition(":")
    tenants = {digest: UUID(tenant)}
    store = Store(conninfo)
    await store.pool.open(wait=True)

    async def recall(
        request: memory_service_pb2.RecallRequest, context: grpc.aio.ServicerContext
    ) -> memory_service_pb2.RecallResponse:
        bearer = dict(context.invocation_metadata() or ()).get("authorization", "")
        tenant_id = tenants.get(hashlib.sha256(str(bearer).encode()).hexdigest())
        if tenant_id is None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no such key")
        assert tenant_id is not None
        async with asyncio.timeout(context.time_remaining()):
            return await store.recall(tenant_id, request)

    class Handler(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
            if details.method != METHOD:
                return None
            return grpc.unary_unary_rpc_method_handler(
                recall,
                request_deserializer=memory_service_pb2.RecallRequest.FromString,
                response_serializer=memory_service_pb2.RecallResponse.SerializeToString,
            )

    server = grpc.aio.server()
    server.add_generic_rpc_handlers((Handler(),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


# What follows sets it up beside a running installation; it is no part of the alternative.


class Plain:
    """The alternative on the same database, filled with the same memories."""

    def __init__(self, superuser: psycopg.AsyncConnection[Any], conninfo: str, tenant_id: UUID) -> None:
        self._superuser = superuser
        self._conninfo = conninfo
        self._tenant_id = tenant_id
        self._key = f"Bearer {token_hex(32)}"
        self._call: Any = None

    @classmethod
    async def prepare(
        cls,
        superuser: psycopg.AsyncConnection[Any],
        superuser_conninfo: str,
        tenant_id: UUID,
        dimension: int,
    ) -> "Plain":
        """Make role and table."""
        password = token_hex(32)
        await superuser.execute(sql.SQL("CREATE ROLE plain_app LOGIN PASSWORD {}").format(password))
        database = superuser.info.dbname
        await superuser.execute(
            sql.SQL("GRANT CONNECT ON DATABASE {} TO plain_app").format(sql.Identifier(database))
        )
        await superuser.execute(sql.SQL(SCHEMA).format(dimension=sql.Literal(dimension)))
        conninfo = psycopg.conninfo.make_conninfo(superuser_conninfo, user=ROLE, password=password)
        return cls(superuser, conninfo, tenant_id)

    async def add_subject(self, subject: Subject) -> None:
        """Copy a measured subject."""
        async with self._superuser.cursor() as cursor:
            statement = (
                "COPY plain.memory (id, tenant_id, subject, kind, content, tags, embedding) FROM STDIN"
            )
            async with cursor.copy(statement) as copy:
                for memory_id, text, vector, tags in zip(
                    subject.ids, subject.texts, subject.vectors, subject.tags, strict=True
                ):
                    row = (
                        memory_id,
                        self._tenant_id,
                        subject.name,
                        2,
                        text,
                        tags,
                        HalfVector(vector).to_text(),
                    )
                    await copy.write_row(row)

    async def add_others(self, measured: list[int]) -> None:
        """Bring the memories of everybody else, who has none here yet. measured: their scopes stay out."""
        await self._superuser.execute(
            "INSERT INTO plain.memory (id, tenant_id, subject, kind, content, tags, embedding)"
            " SELECT gen_random_uuid(), e.tenant_id, 's' || e.scope_no, 2,"
            " repeat(md5(e.doc_no::text), 3), '{}', e.embedding FROM muniment.memory_embedding e"
            " WHERE NOT e.scope_no = ANY(%s) AND e.embedding IS NOT NULL AND NOT EXISTS"
            " (SELECT FROM plain.memory p WHERE p.tenant_id = e.tenant_id AND p.subject = 's' || e.scope_no)",
            (measured,),
        )
        await self._superuser.execute("VACUUM ANALYZE plain.memory")

    @asynccontextmanager
    async def serving(self, port: int) -> AsyncIterator[None]:
        """Run its server."""
        digest = hashlib.sha256(self._key.encode()).hexdigest()
        server = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__)),
            env={
                **os.environ,
                "PLAIN_DATABASE": self._conninfo,
                "PLAIN_PORT": str(port),
                "PLAIN_KEY": f"{digest}:{self._tenant_id}",
            },
            stdout=subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            assert (await server.stdout.readline()).strip() == b"ready", "the alternative did not start"
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                self._call = channel.unary_unary(
                    METHOD,
                    request_serializer=memory_service_pb2.RecallRequest.SerializeToString,
                    response_deserializer=memory_service_pb2.RecallResponse.FromString,
                )
                yield
        finally:
            server.terminate()
            await server.wait()

    async def recall(self, subject: str, vector: np.ndarray) -> memory_service_pb2.RecallResponse:
        """One call of it."""
        request = memory_service_pb2.RecallRequest(limit=10)
        request.scope.subject = subject
        request.query_embedding.vector = vector.astype("<f4").tobytes()
        metadata = (("authorization", self._key), ("muniment-tenant", "dev"), ("x-request-id", str(uuid4())))
        response: memory_service_pb2.RecallResponse = await self._call(request, metadata=metadata, timeout=30)
        return response


if __name__ == "__main__":
    asyncio.run(serve(os.environ["PLAIN_DATABASE"], int(os.environ["PLAIN_PORT"]), os.environ["PLAIN_KEY"]))
