"""A stored answer is kept for 72 hours, and not for longer."""

from support.service import RunningService, request_id


async def test_answers_older_than_the_window_are_forgotten(service: RunningService) -> None:
    caller = service.caller()
    old, young = request_id(), request_id()
    await caller.write("u1", "Likes tea", request_id=old)
    await caller.write("u1", "Likes jazz", request_id=young)
    for request, hours in ((old, 73), (young, 71)):
        service.database.execute(
            "UPDATE idempotency SET create_time = create_time - make_interval(hours => %s)"
            " WHERE request_id = %s",
            (hours, request),
        )
    await service.service.upkeep.forget_answers()
    left = service.database.rows("SELECT request_id::text AS id FROM idempotency")
    assert [row["id"] for row in left] == [young]
    assert service.database.row("SELECT count(*) AS n FROM memory")["n"] == 2
