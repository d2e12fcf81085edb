-- Forgets answers that are older than the window.
DELETE FROM idempotency
WHERE tenant_id = %(tenant_id)s AND create_time < %(before)s
